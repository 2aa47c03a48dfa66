"""Datasets of the evaluation tool of openai-guardrails: JSON Lines with expected triggers."""

from __future__ import annotations

from dataclasses import replace

from guardtui.files.foreign.base import (
    Entry,
    ForeignInput,
    ForeignPrompts,
    Format,
    ImportOptions,
    mapped,
)
from guardtui.files.foreign.table import entries_of

_TRIGGERS = "expected_triggers"


def _read(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
    """Read a row for each line: `data` is the prompt, `expected_triggers` the labels.

    `guardrail` selects one of several guardrails. `unlabelled` says what a prompt without a label
    for it is; the tool itself treats that as false. Columns: `id`, the triggers of the other
    guardrails as `expected_triggers.NAME`, and further keys.

    Source: openai-guardrails-python, src/guardrails/evals/core/types.py (`Sample`), and README.md
    in the same folder.
    """
    named = replace(options, prompt_column="data", expected_column=_TRIGGERS)
    samples = []
    for entry in entries_of(source, named)[0]:
        if problem := _problem(entry):
            source.report(problem, entry.line)
        else:
            samples.append(entry)
    names = dict.fromkeys(name for sample in samples for name in sample.label)
    wanted = options.guardrail or (next(iter(names)) if len(names) == 1 else "")
    if samples and wanted not in names:
        which = f"no guardrail is named {wanted!r:.60}" if wanted else "which guardrail?"
        shown = ", ".join(names) or "none"
        source.report(f"{which} (existing: {shown:.300}): name it with --guardrail")
        return ForeignPrompts([])
    entries = []
    for sample in samples:
        triggers = {f"{_TRIGGERS}.{name}": fires for name, fires in sample.label.items()}
        fires = triggers.pop(f"{_TRIGGERS}.{wanted}", None)
        entries.append(
            replace(
                sample,
                label=fires,
                expected=None if fires is None else options.expected(fires),
                label_name=f"{_TRIGGERS}.{wanted:.60}",
                columns={**sample.columns, **triggers},
            )
        )
    return mapped(source, entries, options)


def _problem(sample: Entry) -> str:
    """Return why a line is not a sample, or ""."""
    if not isinstance(sample.prompt, str):
        return "'data', the prompt, is missing or not text"
    if not isinstance(sample.label, dict):
        return f"{_TRIGGERS!r} is missing or not an object of names and true or false"
    invalid = [name for name, fires in sample.label.items() if type(fires) is not bool]
    return f"the trigger of {invalid[0]!r:.60} is neither true nor false" if invalid else ""


FORMAT = Format(
    "a dataset of openai-guardrails' evaluation tool (JSONL)",
    ("guardrail", "unlabelled"),
    lambda source: _TRIGGERS in source.first_object,
    _read,
)
