"""What the results table shows: which prompts, in which order, and their cells. Knows no widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Change, Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.row_filter import Rows, parse_filter
from guardtui.domain.verdicts import Outcome, is_wrong

FILTERS: dict[str, str] = {
    "mistakes": "mistakes",
    "fp": "FP",
    "fn": "FN",
    "regressions": "regressions",
    "fixes": "fixes",
    "errors": "errors",
    "all": "all",
}
"""Names of the filters and how they are written on the screen."""

SORTS = ("change", "outcome", "prompt", "score", "matched", "was", "category")
"""Columns that can be sorted by; "change" puts regressions first, then the file's order."""

_Mask = Callable[[NDArray[np.int8], NDArray[np.int8] | None], NDArray[np.bool_]]


def _none(codes: NDArray[np.int8]) -> NDArray[np.bool_]:
    return np.zeros(len(codes), bool)


_MASKS: dict[str, _Mask] = {
    "mistakes": lambda codes, changes: is_wrong(codes),
    "fp": lambda codes, changes: codes == Outcome.FP,
    "fn": lambda codes, changes: codes == Outcome.FN,
    "regressions": lambda codes, changes: (
        _none(codes) if changes is None else changes == Change.REGRESSION
    ),
    "fixes": lambda codes, changes: _none(codes) if changes is None else changes == Change.FIX,
    "errors": lambda codes, changes: codes == Outcome.ERROR,
    "all": lambda codes, changes: np.ones(len(codes), bool),
}

_MARKS: dict[int, tuple[str, str]] = {
    Change.REGRESSION: ("✗R", "regression"),
    Change.FIX: ("✓F", "fix"),
    Change.ADDED: ("+", "dim"),
    Change.RELABELLED: ("~L", "dim"),
    Change.NO_VERDICT: ("?", "error"),
}

_EMPTY = ("", "")

_OUTCOME_STYLES = {Outcome.FP: "fp", Outcome.FN: "fn", Outcome.ERROR: "error"}

# Looked up for every row drawn: making an enumeration's member costs more than the rest of a cell.
_WAS = [f"was {outcome.name}" for outcome in Outcome]
_OUTCOME_CELLS = [(outcome.name, _OUTCOME_STYLES.get(outcome, "dim")) for outcome in Outcome]


@dataclass(frozen=True, slots=True)
class View:
    """What the author asked to see; `search` is a line of the filter language."""

    filter: str = "mistakes"
    category: str | None = None
    search: str = ""
    sort: str = "change"
    descending: bool = False


@dataclass(frozen=True, eq=False)
class Results:
    """One evaluation's rows under a view: an immutable snapshot that a table can draw from.

    `order` holds the rows of the prompt set to show, intp [n]; `counts` the size of each filter.
    """

    prompts: PromptSet
    evaluation: Evaluation
    comparison: Comparison | None
    view: View
    order: NDArray[np.intp]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.order)

    def row_id(self, index: int) -> int:
        return int(self.evaluation.keys[self.order[index]])

    def position_of(self, row_id: int) -> int | None:
        row = self.row_of(row_id)
        place = -1 if row is None else int(self._places[row])
        return place if place >= 0 else None

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        """Where each row of the prompt set is shown, int32 [N]; -1 for one that is not."""
        places = np.full(len(self.evaluation.keys), -1, np.int32)
        places[self.order] = np.arange(len(self.order), dtype=np.int32)
        return places

    def row_of(self, row_id: int) -> int | None:
        """The row of the prompt set, whether it is shown or not."""
        return self.prompts.row_of(row_id)

    def next_regression(self, row_id: int | None, step: int = 1) -> int | None:
        """Id of the first regression shown after this row, going round; None without any.

        With a step of -1 the first before it.
        """
        if self.comparison is None:
            return None
        places = np.flatnonzero(self.comparison.changes[self.order] == Change.REGRESSION)
        if not len(places):
            return None
        here = self.position_of(row_id) if row_id is not None else None
        if step > 0:
            later = places[places > (-1 if here is None else here)]
            return self.row_id(int(later[0] if len(later) else places[0]))
        earlier = places[places < (len(self.order) if here is None else here)]
        return self.row_id(int(earlier[-1] if len(earlier) else places[-1]))

    def cells(self, start: int, stop: int) -> list[tuple[tuple[str, str], ...]]:
        rows = self.order[start:stop]
        texts = self.prompts.prompts[rows].to_list()
        category = self.prompts.category_column
        names: list[tuple[str, str]] = [_EMPTY] * len(rows)
        if category:
            groups, known = self.prompts.groups(category)
            names = [(known[group], "dim") for group in groups[rows].tolist()]
        verdicts = self.evaluation.verdicts
        scores, matched = verdicts.score[rows].tolist(), verdicts.matched[rows].tolist()
        codes = self.evaluation.codes[rows].tolist()
        if self.comparison is None:
            changes, before = [Change.SAME] * len(rows), [ABSENT] * len(rows)
        else:
            changes = self.comparison.changes[rows].tolist()
            before = self.comparison.before[rows].tolist()
        result: list[tuple[tuple[str, str], ...]] = []
        columns = zip(texts, names, scores, matched, codes, changes, before, strict=True)
        for text, name, score, part, code, change, old in columns:
            mark = _MARKS.get(change, _EMPTY)
            result.append(
                (
                    mark,
                    _OUTCOME_CELLS[code],
                    (text, ""),
                    ("n/a" if score != score else f"{score:.2f}", ""),
                    _part_cell(part),
                    _EMPTY if old in (code, ABSENT) else (_WAS[old], mark[1]),
                    name,
                )
            )
        return result


def part_name(matched: int) -> str:
    """The matched part of the definition in a few letters."""
    if matched < 0:
        return ""
    return "desc" if matched == 0 else f"ex {matched}"


@cache
def _part_cell(matched: int) -> tuple[str, str]:
    return part_name(matched), "dim"


def build_results(
    prompts: PromptSet, evaluation: Evaluation, comparison: Comparison | None, view: View
) -> Results:
    """Filter, search and sort; numpy and polars only, so that it can run beside the screen.

    Raises `FilterError` for a search that cannot be understood.
    """
    codes = evaluation.codes
    changes = comparison.changes if comparison else None
    mask = _MASKS[view.filter](codes, changes)
    if view.category is not None and prompts.category_column:
        groups, names = prompts.groups(prompts.category_column)
        wanted = names.index(view.category) if view.category in names else -1
        mask &= groups == wanted
    if view.search:
        chosen = parse_filter(view.search, prompts.extra_columns)
        mask &= chosen.mask(Rows(prompts, evaluation, comparison))
    order = np.flatnonzero(mask)
    order = _sorted(order, view, prompts, evaluation, comparison)
    counts = _counts(evaluation, comparison)
    return Results(prompts, evaluation, comparison, view, order, counts)


def _counts(evaluation: Evaluation, comparison: Comparison | None) -> dict[str, int]:
    metrics = evaluation.metrics
    return {
        "mistakes": metrics.fp + metrics.fn,
        "fp": metrics.fp,
        "fn": metrics.fn,
        "regressions": comparison.regressions if comparison else 0,
        "fixes": comparison.fixes if comparison else 0,
        "errors": metrics.errors,
        "all": metrics.total + metrics.errors,
    }


def _sorted(
    order: NDArray[np.intp],
    view: View,
    prompts: PromptSet,
    evaluation: Evaluation,
    comparison: Comparison | None,
) -> NDArray[np.intp]:
    if view.sort == "change":
        if comparison is not None:
            changes = comparison.changes.take(order)
            broken, same = changes == int(Change.REGRESSION), changes == int(Change.SAME)
            first, last = order[broken], order[same]
            if len(first) + len(last) == len(order):
                order = np.concatenate([first, last])
            else:
                order = np.concatenate([first, order[~(broken | same)], last])
        return order[::-1] if view.descending else order
    if view.sort == "prompt":
        place = prompts.prompts.gather(order).arg_sort().to_numpy().astype(np.intp)
    else:
        column = _sort_column(view.sort, prompts, evaluation, comparison)
        place = np.argsort(column[order], kind="stable")
    return order[place[::-1]] if view.descending else order[place]


def _sort_column(
    name: str, prompts: PromptSet, evaluation: Evaluation, comparison: Comparison | None
) -> NDArray[np.generic]:
    if name == "score":
        return evaluation.verdicts.score
    if name == "matched":
        return evaluation.verdicts.matched
    if name == "was" and comparison is not None:
        return comparison.before
    if name == "category" and prompts.category_column:
        return prompts.groups(prompts.category_column)[0]
    return evaluation.codes
