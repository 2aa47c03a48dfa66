"""Columns of the results: those of the evaluation, and verdicts of other guardrails; no widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Outcome
from guardtui.tui.table.columns import NARROWEST, TableColumn
from guardtui.tui.table.rows import Cell

if TYPE_CHECKING:
    from guardtui.session.other_verdicts import OtherVerdicts

LEAST, MOST = NARROWEST, 200
"""Least and most cells of a column."""

_COLUMNS = {
    column.key: column
    for column in (
        TableColumn("change", "", 7),
        TableColumn("outcome", "outcome", 7),
        TableColumn("prompt", "prompt", 0),
        TableColumn("score", "score", 6, "right", gives_way=2),
        TableColumn("matched", "nearest", 11, gives_way=3),
        TableColumn("was", "was", 7, gives_way=4),
        TableColumn("category", "category", 18, gives_way=5),
    )
}
"""All columns by key. A width of 0 fills the line.

The detail repeats what stands in the columns that give way first; what another guardrail says of a
prompt stays longer than the score of the shown one.
"""
_OTHERS_GIVE_WAY = 1

WIDE = 110
"""Least cells of a pane with a column for each guardrail."""

_MOST = 4
"""Most guardrails with a column of their own."""

_ALL = "others"
_ONE = "guardrail:"
_SHORTEST, _LONGEST = 6, 8
_STYLES = {Outcome.FP: "fp", Outcome.FN: "fn"}


def table_columns(keys: Iterable[str], *, forecast: bool = False) -> tuple[TableColumn, ...]:
    """Return columns for the table, by their keys; the score of a forecast is a probability."""
    columns = tuple(_COLUMNS[key] for key in keys)
    if not forecast:
        return columns
    return tuple(
        replace(column, title="chance") if column.key == "score" else column for column in columns
    )


def allowed_widths(widths: Mapping[str, int]) -> dict[str, int]:
    """Return the widths that differ from the columns' own ones, within the limits.

    A column that fills the line has no width.
    """
    return {
        key: max(LEAST, min(MOST, width))
        for key, width in widths.items()
        if key in _COLUMNS and _COLUMNS[key].width not in (0, width)
    }


def other_columns(others: OtherVerdicts | None, width: int) -> tuple[TableColumn, ...]:
    """Return the columns of other guardrails for a pane of so many cells."""
    guardrails = () if others is None else others.guardrails
    if not guardrails:
        return ()
    if len(guardrails) > 1 and (width < WIDE or len(guardrails) > _MOST):
        return (TableColumn(_ALL, _ALL, len(_ALL), gives_way=_OTHERS_GIVE_WAY),)
    return tuple(
        TableColumn(
            f"{_ONE}{index}",
            guardrail.title,
            max(_SHORTEST, min(len(guardrail.title), _LONGEST)),
            gives_way=_OTHERS_GIVE_WAY,
        )
        for index, guardrail in enumerate(guardrails)
    )


def is_of_others(key: str) -> bool:
    """Return whether a column has verdicts of other guardrails."""
    return key == _ALL or key.startswith(_ONE)


def other_cells(others: OtherVerdicts, key: str, rows: NDArray[np.intp]) -> list[Cell]:
    """Return the cells of a column for these rows of the prompt set.

    An outcome, "old" if the verdict is on another definition; for all guardrails how many of those
    with a verdict contradict the label.
    """
    if key == _ALL:
        against, judged = (numbers.tolist() for numbers in others.counts(rows))
        return [
            (f"{'✗' if wrong else ''}{wrong}/{count}" if count else "", "fn" if wrong else "dim")
            for wrong, count in zip(against, judged, strict=True)
        ]
    guardrail = others.guardrails[int(key.removeprefix(_ONE))]
    codes, current = guardrail.codes[rows].tolist(), guardrail.current[rows].tolist()
    return [
        ("", "")
        if code == Outcome.OPEN
        else (f"{Outcome(code).name}{'' if now else ' old'}", _STYLES.get(Outcome(code), "dim"))
        for code, now in zip(codes, current, strict=True)
    ]


def sort_values(
    others: OtherVerdicts, key: str, rows: NDArray[np.intp]
) -> NDArray[np.signedinteger]:
    """Return the sort keys of rows for a column, [n]: the most contradicted labels come first."""
    index = int(key.removeprefix(_ONE)) if key.startswith(_ONE) else -1
    if index < 0:
        return -others.counts(rows)[0]
    if index >= len(others.guardrails):
        return np.zeros(len(rows), np.int8)
    return others.guardrails[index].codes[rows]
