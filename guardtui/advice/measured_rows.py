"""The prompts that edits are chosen on, and those held out for a final measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardtui.advice.objective import Rows
from guardtui.advice.splits import split_by_column
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet
from guardtui.domain.sweep import LABELS_AT_LEAST

MOST_OF_A_CLASS = 1000
"""Maximum number of prompts of a class; more would hardly change the choice."""

FEW = 10
"""Number of prompts of a class below which a note warns of imprecise figures."""


class TooFewPromptsError(GuardtuiError, ValueError):
    """Edits cannot be measured on these prompts; the message says what to add."""


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Rows of the prompt set that edits are chosen on, intp [n], in their order.

    `held_out` are rows for the final measurement, by a column of the file, or empty. `source` names
    these prompts in words. Each of `notes` is a sentence about a limitation.
    """

    chosen_on: Rows
    held_out: Rows
    source: str
    notes: tuple[str, ...] = ()


def measured_rows(prompts: PromptSet) -> MeasuredRows:
    """Return all prompts, or those that a column `split` gives for choosing.

    A class of more than `MOST_OF_A_CLASS` is sampled by hash. Raises `SplitError`, and
    `TooFewPromptsError` if a class has fewer than three prompts.
    """
    split = split_by_column(prompts)
    rows = np.arange(len(prompts)) if split is None else split.search_rows
    belongs = prompts.expected[rows]
    notes = [] if split is None else list(split.notes)
    source = "all prompts" if split is None else f"the prompts to choose on ({split.source})"
    for label, what in ((True, "belong"), (False, "do not belong")):
        count = int(np.count_nonzero(belongs == label))
        if count < LABELS_AT_LEAST:
            which = "prompt" if count == 1 else "prompts"
            verb = {"belong": "belongs", "do not belong": "does not belong"}[what]
            raise TooFewPromptsError(
                f"{count} {which if split is None else f'of {source}'} "
                f"{verb if count == 1 else what} to the topic: add some, an edit is measured on "
                f"{LABELS_AT_LEAST} of each kind at least"
            )
        if count < FEW and split is None:
            notes.append(f"only {count} prompts {what} to the topic: too few to tell much")
    sample = _sampled(prompts, rows)
    if len(sample) < len(rows):
        notes.append(f"measured on {len(sample):,} of {len(rows):,} prompts, drawn by their hashes")
    held_out = np.zeros(0, np.intp) if split is None else split.report_rows
    return MeasuredRows(sample, held_out, source, tuple(notes))


def _sampled(prompts: PromptSet, rows: Rows) -> Rows:
    belongs = prompts.expected[rows]
    kept = []
    for label in (True, False):
        members = rows[belongs == label]
        if len(members) > MOST_OF_A_CLASS:
            order = np.argpartition(prompts.keys[members], MOST_OF_A_CLASS)
            members = members[order[:MOST_OF_A_CLASS]]
        kept.append(members)
    return np.sort(np.concatenate(kept))
