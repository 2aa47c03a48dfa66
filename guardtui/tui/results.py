"""What the results table shows: which prompts, in which order, and their cells. Knows no widget."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Change, Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.filter_language import FilterError
from guardtui.domain.guardrail import FORECAST
from guardtui.domain.profile import only_others
from guardtui.domain.prompts import PromptSet
from guardtui.domain.row_filter import Rows, parse_filter
from guardtui.domain.verdicts import Outcome, is_wrong
from guardtui.tui.widgets.table_rows import Cell, OrderedRows

FILTERS: dict[str, str] = {  # how they are written on the screen, by name
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
"""Filters that are offered only where they hold anything."""

DEFAULT_COLUMNS = ("change", "outcome", "prompt", "score", "matched", "was", "category")
"""Columns that are shown at first; sorting by "change" puts regressions first."""

COLUMNS = (*DEFAULT_COLUMNS, "stopped", "line", "expected", "length")
"""Every column that does not come from the prompt set's own file."""

_EXTRA = "column:"

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
"""The others than those that ask for more than codes."""

_MARKS: dict[int, tuple[str, str]] = {
    Change.REGRESSION: ("✗R", "regression"),
    Change.FIX: ("✓F", "fix"),
    Change.ADDED: ("+", "dim"),
    Change.RELABELLED: ("~L", "dim"),
    Change.NO_VERDICT: ("?", "error"),
    Change.OPEN: ("…", "dim"),
}

_EMPTY: Cell = ("", "")

_OUTCOME_STYLES = {Outcome.FP: "fp", Outcome.FN: "fn", Outcome.ERROR: "error"}

# Looked up for every row drawn: making an enumeration's member costs more than the rest of a cell.
_WAS = [f"was {outcome.name}" for outcome in Outcome]
_OUTCOME_CELLS = [(outcome.name, _OUTCOME_STYLES.get(outcome, "dim")) for outcome in Outcome]


@dataclass(frozen=True, eq=False)
class Picked:
    """Prompts that were picked out by something else than the filter line, such as a cluster.

    `name` says what they are, and may hold text that is not ours; `keys` are their ids, uint64 [n].
    """

    name: str
    keys: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class View:
    """What the author asked to see; `search` is a line of the filter language.

    `picked` leaves only those prompts, whatever else is asked; it is never saved.
    """

    filter: str = "mistakes"
    category: str | None = None
    search: str = ""
    sort: str = "change"
    descending: bool = False
    picked: Picked | None = None


@dataclass(frozen=True, eq=False)
class Results(OrderedRows):
    """One evaluation's rows under a view: an immutable snapshot that a table can draw from.

    `order` holds the rows of the prompt set to show, intp [n]; `counts` the size of each filter;
    `columns` the keys of the columns whose cells are given, in their order.
    """

    prompts: PromptSet
    evaluation: Evaluation
    comparison: Comparison | None
    view: View
    order: NDArray[np.intp]
    counts: dict[str, int]
    columns: tuple[str, ...] = DEFAULT_COLUMNS

    def with_columns(self, columns: tuple[str, ...]) -> Results:
        """The same rows with cells of other columns."""
        return self if columns == self.columns else replace(self, columns=columns)

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self.evaluation.keys

    @property
    def empty_columns(self) -> frozenset[str]:
        """Keys of columns that would be blank in every row of the prompt set."""
        before = None if self.comparison is None else self.comparison.before
        same = before is None or np.all((before == self.evaluation.codes) | (before == ABSENT))
        return frozenset({"was"} if same else ())

    def rows_of(self, row_ids: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Rows of the prompt set, intp [m], those shown first; an unknown id has none."""
        rows = np.flatnonzero(np.isin(self.evaluation.keys, row_ids, assume_unique=True))
        places = self.positions[rows]
        return rows[np.argsort(np.where(places < 0, len(self.positions), places), kind="stable")]

    def shown_count(self, rows: NDArray[np.intp]) -> int:
        """How many of these rows of the prompt set are shown."""
        return int(np.count_nonzero(self.positions[rows] >= 0))

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

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        return list(zip(*(self._column(key, rows) for key in self.columns), strict=True))

    def _column(self, key: str, rows: NDArray[np.intp]) -> list[Cell]:
        """The cells of one column, in the order of these rows of the prompt set."""
        make = _CELLS.get(key)
        return _extra_cells(self, rows, extra_name(key)) if make is None else make(self, rows)


def extra_key(name: str) -> str:
    """The key of a column of the prompt set's own."""
    return f"{_EXTRA}{name}"


def extra_name(key: str) -> str | None:
    """The name of a column of the prompt set's own; None for a key of ours."""
    return key.removeprefix(_EXTRA) if key.startswith(_EXTRA) else None


def known_columns(prompts: PromptSet) -> tuple[str, ...]:
    """Keys of all columns that can be shown of a prompt set."""
    category = prompts.category_column
    ours = (key for key in COLUMNS if key != "category" or category is not None)
    extra = (extra_key(name) for name in prompts.extra_columns if name != category)
    return (*ours, *extra)


_Rows: TypeAlias = "NDArray[np.intp]"


def _changes(results: Results, rows: _Rows) -> list[int]:
    comparison = results.comparison
    return [0] * len(rows) if comparison is None else comparison.changes[rows].tolist()


def _change_cells(results: Results, rows: _Rows) -> list[Cell]:
    return [_MARKS.get(change, _EMPTY) for change in _changes(results, rows)]


def _outcome_cells(results: Results, rows: _Rows) -> list[Cell]:
    return [_OUTCOME_CELLS[code] for code in results.evaluation.codes[rows].tolist()]


def _prompt_cells(results: Results, rows: _Rows) -> list[Cell]:
    return [(text, "") for text in results.prompts.prompts[rows].to_list()]


def _score_cells(results: Results, rows: _Rows) -> list[Cell]:
    scores = results.evaluation.verdicts.score[rows].tolist()
    return [("n/a" if score != score else f"{score:.2f}", "") for score in scores]


def _matched_cells(results: Results, rows: _Rows) -> list[Cell]:
    verdicts = results.evaluation.verdicts
    cells = [_part_cell(part) for part in verdicts.matched[rows].tolist()]
    if verdicts.stopped_by:
        for place, row in enumerate(rows.tolist()):
            # What the definition matched says nothing where another topic stopped the prompt.
            names = only_others(results.evaluation.topic, verdicts.stopped_by.get(row, ()))
            if names:
                cells[place] = (f"→ {', '.join(names)}", "dim")
    return cells


def _stopped_cells(results: Results, rows: _Rows) -> list[Cell]:
    stopped_by = results.evaluation.verdicts.stopped_by
    return [(", ".join(stopped_by.get(row, ())), "dim") for row in rows.tolist()]


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
    groups, names = results.prompts.groups(column)
    return [(names[group], "dim") for group in groups[rows].tolist()]


def _line_cells(results: Results, rows: _Rows) -> list[Cell]:
    return [(str(line), "dim") for line in results.prompts.frame["line"][rows].to_list()]


def _expected_cells(results: Results, rows: _Rows) -> list[Cell]:
    labels = results.evaluation.expected[rows].tolist()
    return [("true" if label else "false", "dim") for label in labels]


def _length_cells(results: Results, rows: _Rows) -> list[Cell]:
    lengths = results.prompts.prompts[rows].str.len_chars().to_list()
    return [(str(length), "dim") for length in lengths]


def _extra_cells(results: Results, rows: _Rows, name: str | None) -> list[Cell]:
    if name not in results.prompts.extra_columns:
        return [_EMPTY] * len(rows)
    return [(value or "", "dim") for value in results.prompts.frame[name][rows].to_list()]


_CELLS: dict[str, Callable[[Results, _Rows], list[Cell]]] = {
    "change": _change_cells,
    "outcome": _outcome_cells,
    "prompt": _prompt_cells,
    "score": _score_cells,
    "matched": _matched_cells,
    "was": _was_cells,
    "category": _category_cells,
    "stopped": _stopped_cells,
    "line": _line_cells,
    "expected": _expected_cells,
    "length": _length_cells,
}


def part_name(matched: int) -> str:
    """The matched part of the definition in a few letters."""
    if matched < 0:
        return ""
    return "desc" if matched == 0 else f"ex {matched}"


@cache
def _part_cell(matched: int) -> Cell:
    return part_name(matched), "dim"


def build_results(
    prompts: PromptSet, evaluation: Evaluation, comparison: Comparison | None, view: View
) -> Results:
    """Filter, search and sort; numpy and polars only, so that it can run beside the screen.

    A line that is not understood (its column went with the prompts) lets every row through.
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
        "open": metrics.open,
        "all": metrics.prompts,
        "flaky": int(np.count_nonzero(evaluation.verdicts.flaky)),
    }


def _sorted(
    order: NDArray[np.intp],
    view: View,
    prompts: PromptSet,
    evaluation: Evaluation,
    comparison: Comparison | None,
) -> NDArray[np.intp]:
    if view.sort == "change":
        if comparison is not None and evaluation.settings.name == FORECAST:
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
        place = prompts.prompts.gather(order).arg_sort().to_numpy().astype(np.intp)
    else:
        column = _sort_column(view.sort, prompts, evaluation, comparison)
        place = np.argsort(column[order], kind="stable")
    return order[place[::-1]] if view.descending else order[place]


def _by_probability(
    order: NDArray[np.intp], evaluation: Evaluation, comparison: Comparison
) -> NDArray[np.intp]:
    """Rows of a forecast: likely regressions, likely fixes, others, each the likeliest flip first.

    A flip is another verdict than the baseline's; the scores are probabilities to trigger.
    """
    changes = comparison.changes[order]
    surest = np.abs(evaluation.verdicts.score[order] - 0.5) + 0.5
    flipped = (changes == int(Change.REGRESSION)) | (changes == int(Change.FIX))
    probability = np.where(flipped, surest, 1 - surest)
    rank = np.full(len(order), 2, np.int8)
    for place, change in ((0, Change.REGRESSION), (1, Change.FIX), (3, Change.SAME)):
        rank[changes == int(change)] = place
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
    if name == "expected":
        return evaluation.expected
    if name == "stopped":
        return _stopped_ranks(evaluation)
    if name in ("line", "length") or extra_name(name) is not None:
        return _text_column(name, prompts)
    return evaluation.codes


def _stopped_ranks(evaluation: Evaluation) -> NDArray[np.generic]:
    """Places of the names of topics in their order, [N]; 0 for a prompt that none stopped."""
    texts = {row: ", ".join(names) for row, names in evaluation.verdicts.stopped_by.items()}
    ranks = {text: place for place, text in enumerate(sorted(set(texts.values())), start=1)}
    found = np.zeros(len(evaluation.keys), np.int32)
    found[list(texts)] = [ranks[text] for text in texts.values()]
    return found


_KEPT: WeakKeyDictionary[PromptSet, dict[str, NDArray[np.generic]]] = WeakKeyDictionary()
"""What to sort by, worked out once for a prompt set: it stays while the definition is edited."""


def _text_column(name: str, prompts: PromptSet) -> NDArray[np.generic]:
    """What to sort by of a column that only the prompt set decides, [N]; NaN sorts last."""
    kept = _KEPT.setdefault(prompts, {})
    if name not in kept:
        kept[name] = _worked_out(name, prompts)
    return kept[name]


def _worked_out(name: str, prompts: PromptSet) -> NDArray[np.generic]:
    if name == "line":
        return prompts.frame["line"].to_numpy()
    if name == "length":
        return prompts.prompts.str.len_chars().to_numpy()
    column = extra_name(name)
    if column not in prompts.extra_columns:
        return np.zeros(len(prompts), np.int8)
    values = prompts.frame[column].str.strip_chars().replace("", None)
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() == values.null_count() < len(values):
        return numbers.fill_null(np.nan).to_numpy()
    return values.rank("dense").cast(pl.Float64).fill_null(np.nan).to_numpy()
