"""Datasets of the evaluation tool of openai-guardrails: JSON Lines with expected triggers."""

from __future__ import annotations

from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
    left_out_note,
)
from guardtui.files.source_positions import json_lines, text_of

TITLE = "a dataset of openai-guardrails' evaluation tool (JSONL)"
OPTIONS = ("guardrail", "unlabelled")

_KNOWN = ("id", "data", "expected_triggers")


def recognises(source: ForeignInput) -> bool:
    """Return whether the first line is an object with `expected_triggers`."""
    return not source.is_folder and "expected_triggers" in source.first_object


def read(source: ForeignInput, mapped: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each line: `data` is the prompt, `expected_triggers` the labels.

    `guardrail` selects one of several guardrails. `unlabelled` says what a prompt without a label
    for it is; the tool itself treats that as false. Columns: `id`, the triggers of the other
    guardrails as `expected_triggers.NAME`, and further keys.

    Source: openai-guardrails-python, src/guardrails/evals/core/types.py (`Sample`), and README.md
    in the same folder.
    """
    samples = []
    names: dict[str, None] = {}
    for line, value in json_lines(source.text):
        problem = ""
        if isinstance(value, ValueError):
            problem = str(value)
        elif not isinstance(value, dict):
            problem = "this line is not a JSON object"
        elif not isinstance(value.get("data"), str):
            problem = "'data', the prompt, is missing or not text"
        elif not isinstance(value.get("expected_triggers"), dict):
            problem = "'expected_triggers' is missing or not an object of names and true or false"
        elif invalid := [
            name for name, fires in value["expected_triggers"].items() if type(fires) is not bool
        ]:
            problem = f"the trigger of {invalid[0]!r:.60} is neither true nor false"
        if problem:
            problems.add(source.path, problem, line)
            continue
        names.update(dict.fromkeys(value["expected_triggers"]))
        samples.append((line, value))
    wanted = mapped.guardrail
    shown = ", ".join(names) or "none"
    if not wanted and len(names) == 1:
        wanted = next(iter(names))
    if wanted not in names:
        if samples:
            which = f"no guardrail is named {wanted!r:.60}" if wanted else "which guardrail?"
            problems.add(source.path, f"{which} (existing: {shown:.300}): name it with --guardrail")
        return ForeignPrompts([])
    rows = []
    left_out = 0
    for line, value in samples:
        triggers = value["expected_triggers"]
        fires = mapped.label_of(triggers.get(wanted))
        if fires is None and mapped.leaves_out(None):
            left_out += 1
            continue
        if fires is None:
            message = f"'expected_triggers' lacks {wanted!r:.60}: {mapped.not_a_label(None)}"
            problems.add(source.path, message, line)
            continue
        extra = {name: text_of(item) for name, item in value.items() if name not in _KNOWN}
        extra = {"id": text_of(value.get("id")), **extra}
        for name, other in triggers.items():
            if name != wanted:
                extra[f"expected_triggers.{name}"] = text_of(other)
        expected = mapped.expected(fires)
        rows.append(ForeignRow(source.path, line, value["data"], expected, extra))
    return ForeignPrompts(rows, None, left_out_note(left_out))
