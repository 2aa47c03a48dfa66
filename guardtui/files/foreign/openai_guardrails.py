"""Datasets of the evaluation tool of openai-guardrails: JSON Lines with expected triggers."""

from __future__ import annotations

from dataclasses import replace

from guardtui.files.foreign.base import ForeignInput, ForeignPrompts, ImportOptions, Problems
from guardtui.files.foreign.mapping import Entry, mapped
from guardtui.files.foreign.table import entries_of

TITLE = "a dataset of openai-guardrails' evaluation tool (JSONL)"
OPTIONS = ("guardrail", "unlabelled")

_TRIGGERS = "expected_triggers"


def recognises(source: ForeignInput) -> bool:
    """Return whether the first line is an object with `expected_triggers`."""
    return _TRIGGERS in source.first_object


def read(source: ForeignInput, options: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each line: `data` is the prompt, `expected_triggers` the labels.

    `guardrail` selects one of several guardrails. `unlabelled` says what a prompt without a label
    for it is; the tool itself treats that as false. Columns: `id`, the triggers of the other
    guardrails as `expected_triggers.NAME`, and further keys.

    Source: openai-guardrails-python, src/guardrails/evals/core/types.py (`Sample`), and README.md
    in the same folder.
    """
    named = replace(options, prompt_column="data", expected_column=_TRIGGERS)
    samples = []
    for entry in entries_of(source, named, problems)[0]:
        if problem := _problem(entry):
            problems.add(source.path, problem, entry.line)
        else:
            samples.append(entry)
    names = dict.fromkeys(name for sample in samples for name in sample.label)
    wanted = options.guardrail
    if not wanted and len(names) == 1:
        wanted = next(iter(names))
    if samples and wanted not in names:
        which = f"no guardrail is named {wanted!r:.60}" if wanted else "which guardrail?"
        shown = ", ".join(names) or "none"
        problems.add(source.path, f"{which} (existing: {shown:.300}): name it with --guardrail")
        return ForeignPrompts([])
    return mapped((_entry(sample, wanted, options) for sample in samples), options, problems)


def _entry(sample: Entry, wanted: str, options: ImportOptions) -> Entry:
    fires = sample.label.get(wanted)
    others = {
        f"{_TRIGGERS}.{name}": other for name, other in sample.label.items() if name != wanted
    }
    return replace(
        sample,
        label=fires,
        expected=None if fires is None else options.expected(fires),
        label_name=f"{_TRIGGERS}.{wanted:.60}",
        columns={**sample.columns, **others},
    )


def _problem(sample: Entry) -> str:
    """Return why a line is not a sample, or ""."""
    if not isinstance(sample.prompt, str):
        return "'data', the prompt, is missing or not text"
    if not isinstance(sample.label, dict):
        return f"{_TRIGGERS!r} is missing or not an object of names and true or false"
    invalid = [name for name, fires in sample.label.items() if type(fires) is not bool]
    return f"the trigger of {invalid[0]!r:.60} is neither true nor false" if invalid else ""
