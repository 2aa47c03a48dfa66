"""Prompts from a log of inspect_ai: inputs of its samples, with outputs and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guardtui.domain.figures import count_text
from guardtui.domain.topic import Intent
from guardtui.files.foreign.base import (
    Entry,
    ForeignInput,
    ForeignPrompts,
    Format,
    ImportOptions,
    mapped,
)
from guardtui.files.inspect_logs import LogSample, is_inspect_log, read_inspect_log
from guardtui.files.source_positions import text_of


def _read(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
    """Read a row for each sample, from the first epoch that contains it.

    The label is the metadata value named by `expected_column`, else the metadata `expected`, else
    the target. Columns: `id`, `target`, `output`, `score:NAME` for each score, the metadata.
    """
    log = read_inspect_log(source.path, source.content)
    first = {sample.value["id"]: sample for sample in reversed(log.samples)}
    samples = [sample for sample in log.samples if first[sample.value["id"]] is sample]
    entries = []
    for sample in samples:
        label, name, lacking = _label(sample, options)
        try:
            prompt = sample.input()
        except ValueError as error:
            source.report(f"{sample.location} {error}", sample.line)
            continue
        if lacking and options.unlabelled is None:
            source.report(f"{sample.location}: {lacking}", sample.line)
            continue
        line, label_name = sample.line or sample.number, f"{sample.location}: {name}"
        columns = _columns(sample, name)
        entries.append(Entry(line, prompt, label, label_name=label_name, columns=columns))
    notes = []
    if repeated := len(log.samples) - len(samples):
        epochs = "is a further epoch" if repeated == 1 else "are further epochs"
        notes.append(f"{count_text(repeated, 'sample')} {epochs}: each prompt is taken once")
    if log.status != "success":
        notes.append(f"the status of the log is {log.status!r:.40}: it may lack samples")
    return mapped(source, entries, options, _intent(samples), notes)


def _intent(samples: Iterable[LogSample]) -> Intent | None:
    """Return the intent of samples that guardtui wrote, if all have the same one."""
    intents = {
        _metadata(sample).get("intent")
        for sample in samples
        if _metadata(sample).get("should_trigger") is not None
    }
    intent = intents.pop() if len(intents) == 1 else None
    return Intent(intent) if intent in ("block", "allow") else None


def _metadata(sample: LogSample) -> Mapping[str, Any]:
    metadata = sample.value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _label(sample: LogSample, options: ImportOptions) -> tuple[object, str, str]:
    """Return the value of the label, its name, and why it is missing or ""."""
    metadata = _metadata(sample)
    wanted = options.expected_column
    if wanted and wanted != "target":
        if wanted in metadata:
            return metadata[wanted], wanted, ""
        names = ", ".join(metadata) or "none"
        return None, wanted, f"the metadata has no {wanted!r:.60} (existing: {names:.200})"
    if not wanted and "expected" in metadata and not options.true:
        return metadata["expected"], "expected", ""
    target = sample.value.get("target")
    if isinstance(target, list):
        if len(target) != 1:
            return None, "target", "the target is several texts: name one with --expected-column"
        target = target[0]
    if isinstance(target, str):
        return sample.text(target), "target", ""
    return None, "target", "the target is missing or not a text"


def _columns(sample: LogSample, label: str) -> dict[str, str]:
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
    for name, value in _metadata(sample).items():
        # Logs of guardtui contain these for each prompt, and so will the new set.
        if name not in (label, "intent", "line", "should_trigger"):
            text = sample.text(value) if isinstance(value, str) else text_of(value)
            columns[name if name not in columns else f"metadata.{name}"] = text
    return columns


FORMAT = Format(
    "a log of inspect_ai (.eval, .json)",
    ("expected_column", "true", "unlabelled"),
    lambda source: is_inspect_log(source.path, source.content),
    _read,
)
