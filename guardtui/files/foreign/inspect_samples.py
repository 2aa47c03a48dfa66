"""Prompts from a log of inspect_ai: inputs of its samples, with outputs and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardtui.domain.topic import Intent
from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
    left_out_note,
)
from guardtui.files.inspect_logs import LogSample, is_inspect_log, read_inspect_log
from guardtui.files.source_positions import text_of

TITLE = "a log of inspect_ai (.eval, .json)"
OPTIONS = ("expected_column", "true", "unlabelled")


def recognises(source: ForeignInput) -> bool:
    """Return whether the content is a zip with a log header, or JSON that starts like a log."""
    return not source.is_folder and is_inspect_log(source.path, source.content)


def read(source: ForeignInput, mapped: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each sample, from the first epoch that contains it.

    The label is the metadata value named by `expected_column`, else the metadata `expected`, else
    the target. Columns: `id`, `target`, `output`, `score:NAME` for each score, the metadata.
    """
    log = read_inspect_log(source.path, source.content)
    rows: list[ForeignRow] = []
    seen: set[object] = set()
    intents: set[object] = set()
    repeated = left_out = 0
    for sample in log.samples:
        name = sample.value["id"]
        if name in seen:
            repeated += 1
            continue
        seen.add(name)
        prompt, problem = sample.input()
        metadata = sample.value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        value, location, lacking = _label(sample, metadata, mapped)
        if problem:
            problems.add(source.path, f"{sample.location} {problem}", sample.line)
            continue
        if mapped.leaves_out(value):
            left_out += 1
            continue
        label = mapped.label_of(value)
        if label is None or (lacking and mapped.unlabelled is None):
            reason = lacking or f"{location}: {mapped.not_a_label(value)}"
            problems.add(source.path, f"{sample.location}: {reason}", sample.line)
            continue
        if metadata.get("should_trigger") is not None:
            intents.add(metadata.get("intent"))
        line = sample.line or sample.number
        rows.append(
            ForeignRow(source.path, line, prompt, label, _columns(sample, metadata, location))
        )
    notes = left_out_note(left_out)
    if repeated:
        samples = "1 sample is a" if repeated == 1 else f"{repeated} samples are"
        epochs = "further epoch" if repeated == 1 else "further epochs"
        notes.append(f"{samples} {epochs}: each prompt is taken once")
    if log.status != "success":
        notes.append(f"the status of the log is {log.status!r:.40}: it may lack samples")
    intent = intents.pop() if len(intents) == 1 else None
    return ForeignPrompts(rows, Intent(intent) if intent in ("block", "allow") else None, notes)


def _label(
    sample: LogSample, metadata: Mapping[str, Any], mapped: ImportOptions
) -> tuple[object, str, str]:
    """Return the value of the label, its name, and why it is missing or ""."""
    wanted = mapped.expected_column
    if wanted and wanted != "target":
        if wanted in metadata:
            return metadata[wanted], wanted, ""
        names = ", ".join(metadata) or "none"
        return None, wanted, f"the metadata has no {wanted!r:.60} (existing: {names:.200})"
    if not wanted and "expected" in metadata and not mapped.true:
        return metadata["expected"], "expected", ""
    target = sample.value.get("target")
    if isinstance(target, list):
        if len(target) != 1:
            return None, "target", "the target is several texts: name one with --expected-column"
        target = target[0]
    if isinstance(target, str):
        return sample.text(target), "target", ""
    return None, "target", "the target is missing or not a text"


def _columns(sample: LogSample, metadata: Mapping[str, Any], label: str) -> dict[str, str]:
    columns = {"id": text_of(sample.value["id"])}
    target = sample.value.get("target")
    if label != "target" and target is not None:
        columns["target"] = sample.text(target) if isinstance(target, str) else text_of(target)
    columns["output"] = sample.output() or ""
    if error := sample.error():
        columns["error"] = error
    scores = sample.value.get("scores")
    for name, score in (scores if isinstance(scores, dict) else {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        columns[f"score:{name}"] = text_of(value)
    for name, value in metadata.items():
        # Logs of guardtui contain these for each prompt, and so will the new set.
        if name not in (label, "intent", "line", "should_trigger"):
            text = sample.text(value) if isinstance(value, str) else text_of(value)
            columns[name if name not in columns else f"metadata.{name}"] = text
    return columns
