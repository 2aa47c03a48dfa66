"""Halves of a prompt set: edits are chosen on one and reported on the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet, split_column

SEARCH_WORDS = ("search", "train", "training", "dev")
"""Values of a column `split` whose rows edits are chosen on."""

REPORT_WORDS = ("report", "test", "testing", "held-out", "heldout", "validation", "val", "eval")
"""Values of a column `split` whose rows are only reported on."""

_FEW = 10


@dataclass(frozen=True, eq=False)
class Split:
    """The prompts that edits are chosen on, and those that they are reported on.

    `search` and `report` are bool [N]; rows in neither are left out. `source` names the origin of
    the halves in words. Each of `notes` is a sentence about a limitation.
    """

    search: NDArray[np.bool_]
    report: NDArray[np.bool_]
    source: str
    notes: tuple[str, ...] = ()

    @cached_property
    def search_rows(self) -> NDArray[np.intp]:
        """Rows that edits are chosen on, in their order."""
        return np.flatnonzero(self.search)

    @cached_property
    def report_rows(self) -> NDArray[np.intp]:
        """Rows that edits are reported on, in their order."""
        return np.flatnonzero(self.report)


class SplitError(GuardtuiError, ValueError):
    """The prompts cannot be split so that both halves have both classes; the text says why."""


def split_by_column(prompts: PromptSet) -> Split | None:
    """Split by the column `split`; return None if the prompts have none with values.

    In the column, `train` and `search` select rows to choose on, `test` and `report` rows to report
    on (more words: `SEARCH_WORDS`, `REPORT_WORDS`; any case). Other rows are left out, with a note.
    Raises `SplitError`.
    """
    column = split_column(prompts.extra_columns)
    if column is None:
        return None
    values = prompts.frame[column].str.strip_chars().str.to_lowercase()
    if not (values != "").any():
        return None
    search = values.is_in(SEARCH_WORDS).to_numpy()
    report = values.is_in(REPORT_WORDS).to_numpy()
    notes = []
    if left := int(np.count_nonzero(~search & ~report)):
        line = int(prompts.frame["line"][int(np.flatnonzero(~search & ~report)[0])])
        rows = "1 row has" if left == 1 else f"{left} rows have"
        notes.append(
            f"{rows} another value in the column {column} (line {line} the first), left out: "
            "write train or test"
        )
    return _checked(search, report, prompts.expected, f"by the column {column}", notes)


def _checked(
    search: NDArray[np.bool_],
    report: NDArray[np.bool_],
    expected: NDArray[np.bool_],
    source: str,
    notes: list[str],
) -> Split:
    for half, name in ((search, "to choose on"), (report, "to report on")):
        for label, what in ((True, "belong"), (False, "do not belong")):
            count = int(np.count_nonzero(half & (expected == label)))
            if count == 0:
                raise SplitError(
                    f"the part {name} ({source}) has no prompts that {what} to the topic: "
                    "add some, or deal the rows out with a column split (train, test)"
                )
            if count < _FEW:
                notes.append(f"the part {name} has only {count} prompts that {what} to the topic")
    return Split(search, report, source, tuple(notes))
