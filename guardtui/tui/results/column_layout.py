"""The columns of the results: titles, alignment and widths; no widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guardtui.tui.table.columns import NARROWEST, TableColumn

LEAST, MOST = NARROWEST, 200
"""Least and most cells of a column."""

_COLUMNS = {
    column.key: column
    for column in (
        TableColumn("change", "", 3),
        TableColumn("outcome", "is", 5),
        TableColumn("prompt", "prompt", 0),
        TableColumn("score", "score", 6, "right"),
        TableColumn("matched", "match", 6),
        TableColumn("was", "was", 7),
        TableColumn("category", "category", 18),
    )
}
"""All columns by key. A width of 0 fills the line."""


def table_columns(keys: Iterable[str]) -> tuple[TableColumn, ...]:
    """Return columns for the table, by their keys."""
    return tuple(_COLUMNS[key] for key in keys)


def allowed_widths(widths: Mapping[str, int]) -> dict[str, int]:
    """Return the widths that differ from the columns' own ones, within the limits.

    A column that fills the line has no width.
    """
    return {
        key: max(LEAST, min(MOST, width))
        for key, width in widths.items()
        if key in _COLUMNS and _COLUMNS[key].width not in (0, width)
    }
