"""The results: which prompts, in which order, and their cells; no widget."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Change, Comparison
from guardtui.domain.guardrail import FORECAST
from guardtui.domain.profile import only_others
from guardtui.domain.row_filter import FilterError, FilterRows, KnowsLabels, parse_filter
from guardtui.domain.verdicts import Outcome, is_wrong
from guardtui.tui.results.columns import is_of_others, other_cells, sort_values
from guardtui.tui.table.rows import Cell

if TYPE_CHECKING:
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.prompts import PromptSet
    from guardtui.session.other_verdicts import OtherVerdicts

FILTERS: dict[str, str] = {  # text on the screen, by name
    "mistakes": "mistakes",
    "fp": "FP",
    "fn": "FN",
    "regressions": "regressions",
    "fixes": "fixes",
    "errors": "errors",
    "all": "all",
    "flaky": "flaky",
    "open": "open",
}

RARE = ("flaky", "open")
"""Filters that are offered only if they match any prompt."""

COLUMNS = ("change", "outcome", "prompt", "score", "matched", "was", "category")
"""Columns of the table; sorting by "change" puts regressions first."""

_Mask: TypeAlias = "Callable[[NDArray[np.int8], NDArray[np.int8] | None], NDArray[np.bool_]]"


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
    "open": lambda codes, changes: codes == Outcome.OPEN,
    "all": lambda codes, changes: np.ones(len(codes), bool),
}
"""Filters that need only outcomes and changes."""

_MARKS: dict[int, tuple[str, str]] = {
    Change.REGRESSION: ("✗ broke", "regression"),
    Change.FIX: ("✓ fixed", "fix"),
    Change.ADDED: ("+ new", "dim"),
    Change.RELABELLED: ("~ label", "dim"),
    Change.NO_VERDICT: ("? error", "error"),
    Change.OPEN: ("… open", "dim"),
}

_EMPTY: Cell = ("", "")

_OUTCOME_STYLES = {Outcome.FP: "fp", Outcome.FN: "fn", Outcome.ERROR: "error"}

# Looked up for every drawn row: making an enum member costs more than the rest of a cell.
_WAS = [f"was {outcome.name}" for outcome in Outcome]
_OUTCOME_CELLS = [(outcome.name, _OUTCOME_STYLES.get(outcome, "dim")) for outcome in Outcome]


@dataclass(frozen=True, eq=False)
class PromptSelection:
    """Prompts selected by something other than the filter line, such as a finding.

    `name` describes them, and may contain text of others; `keys` are their ids, uint64 [n].
    """

    name: str
    keys: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ResultsView:
    """The view that the author chose; `search` is a line of the filter language.

    `picked` restricts it to those prompts; it is never saved.
    """

    filter: str = "mistakes"
    category: str | None = None
    search: str = ""
    sort: str = "change"
    descending: bool = False
    picked: PromptSelection | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """One evaluation's rows under a view: an immutable snapshot that a table can draw from.

    `order` holds the rows of the prompt set to show, intp [n]; `counts` the size of each filter;
    `columns` the keys of the columns whose cells are given, in their order; `others` the verdicts
    of guardrails that are not shown.
    """

    prompts: PromptSet
    evaluation: Evaluation
    comparison: Comparison | None
    view: ResultsView
    order: NDArray[np.intp]
    counts: dict[str, int]
    columns: tuple[str, ...] = COLUMNS
    others: OtherVerdicts | None = None

    def with_columns(self, columns: tuple[str, ...]) -> Results:
        """Return the same rows with other columns."""
        return self if columns == self.columns else replace(self, columns=columns)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def row_ids(self) -> NDArray[np.uint64]:
        """The ids of all rows shown, uint64 [n], in their order."""
        return self.evaluation.keys[self.order]

    @cached_property
    def positions(self) -> NDArray[np.int32]:
        """Position at which each row of the prompt set is shown, int32 [N]; -1 for hidden rows."""
        positions = np.full(len(self.evaluation.keys), -1, np.int32)
        positions[self.order] = np.arange(len(self.order), dtype=np.int32)
        return positions

    def position_of(self, row_id: int) -> int | None:
        """Return the position of a row; None if it is not shown."""
        row = self.row_of(row_id)
        position = -1 if row is None else int(self.positions[row])
        return position if position >= 0 else None

    @property
    def filled_columns(self) -> tuple[str, ...]:
        """Keys of the columns that are not blank in every row of the prompt set."""
        before = None if self.comparison is None else self.comparison.before
        same = before is None or np.all((before == self.evaluation.codes) | (before == ABSENT))
        empty = {"was"} if same else set()
        if self.comparison is None or not self.comparison.changes.any():
            empty.add("change")
        verdicts = self.evaluation.verdicts
        if np.isnan(verdicts.score).all():
            empty.add("score")
        topic, stopped_by = self.evaluation.topic, verdicts.stopped_by.values()
        if (verdicts.matched < 0).all() and not any(only_others(topic, by) for by in stopped_by):
            empty.add("matched")
        if self.prompts.category_column is None:
            empty.add("category")
        return tuple(key for key in COLUMNS if key not in empty)

    def rows_of(self, row_ids: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the rows of the prompt set, intp [m], those shown first; unknown ids have none."""
        rows = np.flatnonzero(np.isin(self.evaluation.keys, row_ids, assume_unique=True))
        positions = self.positions[rows]
        return rows[
            np.argsort(np.where(positions < 0, len(self.positions), positions), kind="stable")
        ]

    def row_of(self, row_id: int) -> int | None:
        """Return the row of the prompt set, shown or not."""
        return self.prompts.row_of(row_id)

    def next_regression(self, row_id: int | None, step: int = 1) -> int | None:
        """Return the id of the next regression shown after this row, cyclically; None without any.

        With a step of -1 the previous one.
        """
        if self.comparison is None:
            return None
        positions = np.flatnonzero(self.comparison.changes[self.order] == Change.REGRESSION)
        if not len(positions):
            return None
        current = self.position_of(row_id) if row_id is not None else None
        if step > 0:
            later = positions[positions > (-1 if current is None else current)]
            return int(self.row_ids[later[0] if len(later) else positions[0]])
        earlier = positions[positions < (len(self.order) if current is None else current)]
        return int(self.row_ids[earlier[-1] if len(earlier) else positions[-1]])

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        columns = (
            other_cells(self.others, key, rows)
            if self.others is not None and is_of_others(key)
            else _CELLS[key](self, rows)
            for key in self.columns
        )
        return list(zip(*columns, strict=True))


_Rows: TypeAlias = "NDArray[np.intp]"


def _changes(results: Results, rows: _Rows) -> list[int]:
    comparison = results.comparison
    return [0] * len(rows) if comparison is None else comparison.changes[rows].tolist()


def _score_cells(results: Results, rows: _Rows) -> list[Cell]:
    scores = results.evaluation.verdicts.score[rows].tolist()
    return [("n/a" if score != score else f"{score:.2f}", "") for score in scores]


def _matched_cells(results: Results, rows: _Rows) -> list[Cell]:
    verdicts = results.evaluation.verdicts
    cells = [(part_name(part), "dim") for part in verdicts.matched[rows].tolist()]
    if verdicts.stopped_by:
        for index, row in enumerate(rows.tolist()):
            # The matched part is irrelevant if another topic stopped the prompt.
            names = only_others(results.evaluation.topic, verdicts.stopped_by.get(row, ()))
            if names:
                cells[index] = (f"→ {', '.join(names)}", "dim")
    return cells


def _was_cells(results: Results, rows: _Rows) -> list[Cell]:
    if results.comparison is None:
        return [_EMPTY] * len(rows)
    before = results.comparison.before[rows].tolist()
    codes = results.evaluation.codes[rows].tolist()
    return [
        _EMPTY if old in (code, ABSENT) else (_WAS[old], _MARKS.get(change, _EMPTY)[1])
        for old, code, change in zip(before, codes, _changes(results, rows), strict=True)
    ]


def _category_cells(results: Results, rows: _Rows) -> list[Cell]:
    column = results.prompts.category_column
    if column is None:
        return [_EMPTY] * len(rows)
    # Not the groups: all rows take longer than a row may take to be painted.
    texts = results.prompts.frame[column][rows].to_list()
    return [(text or "(none)", "dim") for text in texts]


_CELLS: dict[str, Callable[[Results, _Rows], list[Cell]]] = {
    "change": lambda results, rows: [
        _MARKS.get(change, _EMPTY) for change in _changes(results, rows)
    ],
    "outcome": lambda results, rows: [
        _OUTCOME_CELLS[code] for code in results.evaluation.codes[rows].tolist()
    ],
    "prompt": lambda results, rows: [
        (text, "") for text in results.prompts.prompts[rows].to_list()
    ],
    "score": _score_cells,
    "matched": _matched_cells,
    "was": _was_cells,
    "category": _category_cells,
}


def part_name(matched: int) -> str:
    """Return the name of the matched part of the definition."""
    if matched < 0:
        return ""
    return "description" if matched == 0 else f"example {matched}"


def build_results(
    prompts: PromptSet,
    evaluation: Evaluation,
    comparison: Comparison | None,
    view: ResultsView,
    others: OtherVerdicts | None = None,
    labels: KnowsLabels | None = None,
) -> Results:
    """Filter, search and sort; only numpy and polars, so it can run in a thread.

    An invalid line, such as one with a column of other prompts, matches every row.
    """
    codes = evaluation.codes
    changes = comparison.changes if comparison else None
    if view.filter == "flaky":
        mask = evaluation.verdicts.flaky.copy()
    else:
        mask = _MASKS[view.filter](codes, changes)
    if view.category is not None and prompts.category_column:
        groups, names = prompts.groups(prompts.category_column)
        wanted = names.index(view.category) if view.category in names else -1
        mask &= groups == wanted
    if view.picked is not None:
        mask &= np.isin(evaluation.keys, view.picked.keys)
    if view.search:
        with contextlib.suppress(FilterError):
            chosen = parse_filter(view.search, prompts.extra_columns)
            mask &= chosen.mask(FilterRows(prompts, evaluation, comparison, labels))
    order = np.flatnonzero(mask)
    if others is not None and is_of_others(view.sort):
        index = np.argsort(sort_values(others, view.sort, order), kind="stable")
        order = order[index[::-1] if view.descending else index]
    else:
        order = _sorted(order, view, prompts, evaluation, comparison)
    counts = _counts(evaluation, comparison)
    return Results(prompts, evaluation, comparison, view, order, counts, others=others)


def _counts(evaluation: Evaluation, comparison: Comparison | None) -> dict[str, int]:
    metrics = evaluation.metrics
    return {
        "mistakes": metrics.fp + metrics.fn,
        "fp": metrics.fp,
        "fn": metrics.fn,
        "regressions": comparison.regressions if comparison else 0,
        "fixes": comparison.fixes if comparison else 0,
        "errors": metrics.errors,
        "open": metrics.open,
        "all": metrics.prompts,
        "flaky": int(np.count_nonzero(evaluation.verdicts.flaky)),
    }


def _sorted(
    order: NDArray[np.intp],
    view: ResultsView,
    prompts: PromptSet,
    evaluation: Evaluation,
    comparison: Comparison | None,
) -> NDArray[np.intp]:
    if view.sort == "change":
        if comparison is not None and evaluation.settings.kind == FORECAST:
            order = _by_probability(order, evaluation, comparison)
        elif comparison is not None:
            changes = comparison.changes.take(order)
            broken, same = changes == int(Change.REGRESSION), changes == int(Change.SAME)
            first, last = order[broken], order[same]
            if len(first) + len(last) == len(order):
                order = np.concatenate([first, last])
            else:
                order = np.concatenate([first, order[~(broken | same)], last])
        return order[::-1] if view.descending else order
    if view.sort == "prompt":
        index = prompts.prompts.gather(order).arg_sort().to_numpy().astype(np.intp)
    else:
        column = _sort_column(view.sort, prompts, evaluation, comparison)
        index = np.argsort(column[order], kind="stable")
    return order[index[::-1]] if view.descending else order[index]


def _by_probability(
    order: NDArray[np.intp], evaluation: Evaluation, comparison: Comparison
) -> NDArray[np.intp]:
    """Return rows of a forecast: likely regressions, likely fixes, others; the likeliest first.

    A flip is another verdict than the baseline's; the scores are probabilities to trigger.
    """
    changes = comparison.changes[order]
    surest = np.abs(evaluation.verdicts.score[order] - 0.5) + 0.5
    flipped = (changes == int(Change.REGRESSION)) | (changes == int(Change.FIX))
    probability = np.where(flipped, surest, 1 - surest)
    rank = np.full(len(order), 2, np.int8)
    for index, change in ((0, Change.REGRESSION), (1, Change.FIX), (3, Change.SAME)):
        rank[changes == int(change)] = index
    return order[np.lexsort((-probability, rank))]


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
