"""Rows and cells of the tables of scanners and of labels in doubt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered
from guardtui.session.scanner_comparison import ScannerVerdicts
from guardtui.tui.kit.table_dialog import PromptTableView, has_words
from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.rows import Cell, OrderedRows

GROUPS = {"differ": "differ", "against": "majority against label", "all": "all"}
"""Titles of the groups of rows."""

SIGNS = {
    Triggered.YES: "✓",
    Triggered.NO: "·",
    Triggered.NO_VERDICT: "?",
    Triggered.NOT_ASKED: "…",
}
"""Signs of the answers; "–" stands for no majority."""

_NAME_CELLS = 8
_LEAST_CELLS = 3


@dataclass(frozen=True, eq=False)
class PromptRows(OrderedRows):
    """Rows of a prompt set in an order, intp [n]; an immutable snapshot."""

    sight: ScannerVerdicts
    order: NDArray[np.intp]

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self.sight.prompts.keys

    def row_of(self, row_id: int) -> int | None:
        return self.sight.prompts.row_of(row_id)

    def _prompts(self, rows: NDArray[np.intp]) -> list[Cell]:
        return [(text, "") for text in self.sight.prompts.prompts[rows].to_list()]


class ScannerRows(PromptRows):
    """A column for each scanner, then the label, the majority and the prompt."""

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        panel = self.sight.panel
        should = panel.should_trigger[rows].tolist()
        columns = [
            [_answer(answer, duty) for answer, duty in zip(answers.tolist(), should, strict=True)]
            for answers in panel.answers[:, rows]
        ]
        labels = self.sight.prompts.expected[rows].tolist()
        columns.append([("true" if label else "false", "dim") for label in labels])
        majorities, contradicts = panel.majority[rows].tolist(), panel.against[rows].tolist()
        columns.append(list(map(_majority, majorities, contradicts)))
        columns.append(self._prompts(rows))
        return list(zip(*columns, strict=True))


def _answer(answers: int, should_trigger: bool) -> Cell:
    """Return the cell of a scanner's answer, in the colour of its mistake if it is wrong."""
    sign = SIGNS[Triggered(answers)]
    if answers < Triggered.NO:
        return sign, "dim"
    if (answers == Triggered.YES) == should_trigger:
        return sign, ""
    return sign, "fp" if answers == Triggered.YES else "fn"


def _majority(answer: int, wrong: bool) -> Cell:
    if answer == Triggered.NO_VERDICT:
        return "–", "dim"
    return (
        (f"{SIGNS[Triggered(answer)]} !", "regression") if wrong else (SIGNS[Triggered(answer)], "")
    )


def scanner_columns(sight: ScannerVerdicts) -> tuple[TableColumn, ...]:
    """Return the columns of `ScannerRows`."""
    scanners = [
        TableColumn(f"scanner:{index}", name, max(_LEAST_CELLS, min(len(name), _NAME_CELLS)))
        for index, name in enumerate(sight.panel.names)
    ]
    return (
        *scanners,
        TableColumn("label", "label", 5),
        TableColumn("majority", "most", 4),
        TableColumn("prompt", "prompt", 0),
    )


def group_sizes(sight: ScannerVerdicts) -> dict[str, int]:
    """Return the number of rows of each group."""
    panel = sight.panel
    return {
        "differ": int(np.count_nonzero(panel.differ)),
        "against": int(np.count_nonzero(panel.against)),
        "all": len(panel),
    }


def build_scanner_rows(sight: ScannerVerdicts, view: PromptTableView) -> ScannerRows:
    """Filter and sort; only numpy and polars, so it can run in a thread."""
    panel, prompts = sight.panel, sight.prompts
    masks = {"differ": panel.differ, "against": panel.against}
    mask = masks[view.group] if view.group in masks else np.ones(len(panel), bool)
    order = np.flatnonzero(mask & has_words(prompts.lower_prompts, view.words))
    if view.sort == "prompt":
        index = prompts.prompts.gather(order).arg_sort().to_numpy()
        order = order[index.astype(np.intp)]
    elif view.sort != "line":
        order = order[np.argsort(_sort_values(sight, view.sort)[order], kind="stable")]
    return ScannerRows(sight, order[::-1] if view.descending else order)


def _sort_values(sight: ScannerVerdicts, key: str) -> NDArray[np.generic]:
    panel = sight.panel
    if key == "label":
        return sight.prompts.expected
    if key == "majority":
        return panel.majority
    index = int(key.partition(":")[2])
    return panel.answers[index] if index < len(panel.names) else np.zeros(len(panel), np.int8)


SUSPECT_COLUMNS = (
    TableColumn("status", "", 1, sortable=False),
    TableColumn("against", "contradicted by", 28, sortable=False),
    TableColumn("score", "score", 5, "right", sortable=False),
    TableColumn("label", "label", 12, sortable=False),
    TableColumn("prompt", "prompt", 0, sortable=False),
)
"""The columns of `SuspectRows`."""

BLIND_SPOT_COLUMNS = (
    TableColumn("agreeing", "label confirmed by", 28, sortable=False),
    TableColumn("score", "score", 5, "right", sortable=False),
    TableColumn("label", "label", 5, sortable=False),
    TableColumn("prompt", "prompt", 0, sortable=False),
)
"""The columns of `BlindSpotRows`."""

_NO_SCANNER = "none: another language"


@dataclass(frozen=True, eq=False)
class SuspectRows(PromptRows):
    """Labels in doubt, the most doubtful first; `rejected` are prompts whose label is right."""

    rejected: frozenset[int] = frozenset()

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        sight = self.sight
        keys = sight.prompts.keys[rows].tolist()
        labels = sight.prompts.expected[rows].tolist()
        return list(
            zip(
                [("x", "dim") if key in self.rejected else ("", "") for key in keys],
                [(", ".join(sight.sides(row)[0]), "") for row in rows.tolist()],
                _scores(sight, rows),
                [("true → false" if label else "false → true", "") for label in labels],
                self._prompts(rows),
                strict=True,
            )
        )


class BlindSpotRows(PromptRows):
    """Rows that only the embedded engine gets wrong; their labels are not in doubt."""

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        labels = self.sight.prompts.expected[rows].tolist()
        agreeing = [self.sight.sides(row)[1] for row in rows.tolist()]
        return list(
            zip(
                [(", ".join(names) or _NO_SCANNER, "" if names else "dim") for names in agreeing],
                _scores(self.sight, rows),
                [("true" if label else "false", "dim") for label in labels],
                self._prompts(rows),
                strict=True,
            )
        )


def _scores(sight: ScannerVerdicts, rows: NDArray[np.intp]) -> list[Cell]:
    """Return the current scores of the engine, n/a without scores."""
    engine = sight.engine
    if engine is None:
        return [("n/a", "dim")] * len(rows)
    scores = engine.verdicts.score[rows].tolist()
    return [("n/a" if score != score else f"{score:.2f}", "dim") for score in scores]


def suspect_rows(
    sight: ScannerVerdicts, rejected: frozenset[int], taken: frozenset[int], *, all_of_them: bool
) -> SuspectRows:
    """Return the labels in doubt without those being edited (`taken`) and the rejected ones.

    `all_of_them` includes the rejected ones.
    """
    rows = sight.suspects.rows
    hidden = taken if all_of_them else taken | rejected
    return SuspectRows(sight, rows[~among(sight, rows, hidden)], rejected)


def among(
    sight: ScannerVerdicts, rows: NDArray[np.intp], keys: frozenset[int]
) -> NDArray[np.bool_]:
    """Return which of these rows (intp [n]) have one of the keys, bool [n]."""
    members: NDArray[np.bool_] = np.isin(
        sight.prompts.keys[rows], np.array(sorted(keys), np.uint64)
    )
    return members
