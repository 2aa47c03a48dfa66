"""What the tables of scanners and of labels in doubt draw: rows of a sight, and their cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered
from guardtui.session.panel import Sight
from guardtui.tui.listing import RowsView
from guardtui.tui.widgets.table_columns import Column
from guardtui.tui.widgets.table_rows import Cell, OrderedRows

GROUPS = {"differ": "differ", "against": "majority against label", "all": "all"}
"""Groups of rows, as they are called on the screen."""

SIGNS = {
    Triggered.YES: "✓",
    Triggered.NO: "·",
    Triggered.NO_VERDICT: "?",
    Triggered.NOT_ASKED: "…",
}
"""What an answer is drawn as; a majority that is none is "–"."""

_NAME_CELLS = 8
_LEAST_CELLS = 3


@dataclass(frozen=True, eq=False)
class PromptRows(OrderedRows):
    """Rows of a prompt set in an order, intp [n]: an immutable snapshot for a table."""

    sight: Sight
    order: NDArray[np.intp]

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self.sight.prompts.keys

    def row_of(self, row_id: int) -> int | None:
        return self.sight.prompts.row_of(row_id)

    def _prompts(self, rows: NDArray[np.intp]) -> list[Cell]:
        return [(text, "") for text in self.sight.prompts.prompts[rows].to_list()]


class PanelRows(PromptRows):
    """A column for each scanner, then the label, the majority and the prompt."""

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        rows = self.order[start:stop]
        panel = self.sight.panel
        should = panel.should_trigger[rows].tolist()
        columns = [
            [_answer(said, duty) for said, duty in zip(answers.tolist(), should, strict=True)]
            for answers in panel.answers[:, rows]
        ]
        labels = self.sight.prompts.expected[rows].tolist()
        columns.append([("true" if label else "false", "dim") for label in labels])
        said, against = panel.majority[rows].tolist(), panel.against[rows].tolist()
        columns.append([_majority(one, wrong) for one, wrong in zip(said, against, strict=True)])
        columns.append(self._prompts(rows))
        return list(zip(*columns, strict=True))


def _answer(said: int, should_trigger: bool) -> Cell:
    """A scanner's answer; one that contradicts the label has the colour of such a mistake."""
    sign = SIGNS[Triggered(said)]
    if said < Triggered.NO:
        return sign, "dim"
    if (said == Triggered.YES) == should_trigger:
        return sign, ""
    return sign, "fp" if said == Triggered.YES else "fn"


def _majority(said: int, against: bool) -> Cell:
    if said == Triggered.NO_VERDICT:
        return "–", "dim"
    return (
        (f"{SIGNS[Triggered(said)]} !", "regression") if against else (SIGNS[Triggered(said)], "")
    )


def panel_columns(sight: Sight) -> tuple[Column, ...]:
    """The columns of `PanelRows`."""
    scanners = [
        Column(f"scanner:{place}", name, max(_LEAST_CELLS, min(len(name), _NAME_CELLS)))
        for place, name in enumerate(sight.panel.names)
    ]
    return (
        *scanners,
        Column("label", "label", 5),
        Column("majority", "most", 4),
        Column("prompt", "prompt", 0),
    )


def group_sizes(sight: Sight) -> dict[str, int]:
    """How many rows each group has."""
    panel = sight.panel
    return {
        "differ": int(np.count_nonzero(panel.differ)),
        "against": int(np.count_nonzero(panel.against)),
        "all": len(panel),
    }


def build_panel_rows(sight: Sight, view: RowsView) -> PanelRows:
    """Filter and sort; numpy and polars only, so that it can run beside the screen."""
    panel, prompts = sight.panel, sight.prompts
    masks = {"differ": panel.differ, "against": panel.against}
    mask = masks[view.group] if view.group in masks else np.ones(len(panel), bool)
    for word in view.words:
        mask = mask & prompts.lower_prompts.str.contains(word.lower(), literal=True).to_numpy()
    order = np.flatnonzero(mask)
    if view.sort == "prompt":
        place = prompts.prompts.gather(order).arg_sort().to_numpy()
        order = order[place.astype(np.intp)]
    elif view.sort != "line":
        order = order[np.argsort(_sort_values(sight, view.sort)[order], kind="stable")]
    return PanelRows(sight, order[::-1] if view.descending else order)


def _sort_values(sight: Sight, key: str) -> NDArray[np.generic]:
    panel = sight.panel
    if key == "label":
        return sight.prompts.expected
    if key == "majority":
        return panel.majority
    place = int(key.partition(":")[2])
    return panel.answers[place] if place < len(panel.names) else np.zeros(len(panel), np.int8)


SUSPECT_COLUMNS = (
    Column("status", "", 1, sortable=False),
    Column("against", "contradicted by", 28, sortable=False),
    Column("score", "score", 5, "right", sortable=False),
    Column("label", "label", 12, sortable=False),
    Column("prompt", "prompt", 0, sortable=False),
)
"""The columns of `SuspectRows`."""

BLIND_SPOT_COLUMNS = (
    Column("agreeing", "label confirmed by", 28, sortable=False),
    Column("score", "score", 5, "right", sortable=False),
    Column("label", "label", 5, sortable=False),
    Column("prompt", "prompt", 0, sortable=False),
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
    """Rows that only the embedded engine gets wrong; no other label is proposed for them."""

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


def _scores(sight: Sight, rows: NDArray[np.intp]) -> list[Cell]:
    """The engine's scores of now, n/a where there are none."""
    engine = sight.engine
    if engine is None:
        return [("n/a", "dim")] * len(rows)
    scores = engine.verdicts.score[rows].tolist()
    return [("n/a" if score != score else f"{score:.2f}", "dim") for score in scores]


def suspect_rows(
    sight: Sight, rejected: frozenset[int], taken: frozenset[int], *, all_of_them: bool
) -> SuspectRows:
    """The labels in doubt to list: without those `taken` in hand just now, and the rejected ones.

    With `all_of_them` the rejected ones too.
    """
    rows = sight.suspects.rows
    hidden = taken if all_of_them else taken | rejected
    return SuspectRows(sight, rows[~among(sight, rows, hidden)], rejected)


def among(sight: Sight, rows: NDArray[np.intp], keys: frozenset[int]) -> NDArray[np.bool_]:
    """Which of these rows (intp [n]) have one of the keys, bool [n]."""
    found: NDArray[np.bool_] = np.isin(sight.prompts.keys[rows], np.array(sorted(keys), np.uint64))
    return found
