"""The columns of the results: which are shown, their order and width; no widget."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.session.views import LINE_LENGTH, SavedColumn
from guardtui.tui.results.model import DEFAULT_COLUMNS, extra_name, known_columns
from guardtui.tui.table.columns import NARROWEST, TableColumn

LEAST, MOST = NARROWEST, 200
"""Least and most cells of a column."""

_OURS: dict[str, tuple[str, int, Literal["left", "right"], str]] = {
    "change": ("", 3, "left", "change (✗R regression, ✓F fix)"),
    "outcome": ("is", 5, "left", "outcome (TP, TN, FP, FN)"),
    "prompt": ("prompt", 0, "left", "prompt"),
    "score": ("score", 6, "right", "score"),
    "matched": ("match", 6, "left", "matched part of the definition"),
    "was": ("was", 7, "left", "outcome in the baseline"),
    "category": ("category", 18, "left", "category"),
    "stopped": ("stopped by", 18, "left", "stopped by (topics of the profile)"),
    "line": ("line", 6, "right", "line of the file"),
    "expected": ("label", 6, "left", "expected label"),
    "length": ("length", 6, "right", "length in characters"),
}
"""Title in the header, default width (0: the remaining cells), alignment, and full name."""

_EXTRA_WIDTH = 14


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The author's choice for a column; `width` None is its default."""

    key: str
    shown: bool = True
    width: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The author's choices, from left to right.

    Columns that the current prompt set does not have are kept for other prompt sets.
    """

    columns: tuple[ColumnChoice, ...] = tuple(map(ColumnChoice, DEFAULT_COLUMNS))

    def choices(self, prompts: PromptSet) -> tuple[ColumnChoice, ...]:
        """Return a choice for each column of the prompt set; new ones are last and hidden."""
        known = known_columns(prompts)
        named = {column.key for column in self.columns}
        chosen = [scorer for scorer in self.columns if scorer.key in known]
        return (*chosen, *(ColumnChoice(key, False) for key in known if key not in named))

    def shown(self, prompts: PromptSet, empty: Collection[str] = ()) -> tuple[str, ...]:
        """Return the keys of the columns to show, at least one; those in `empty` are left out."""
        keys = tuple(choice.key for choice in self.choices(prompts) if choice.shown)
        return tuple(key for key in keys if key not in empty) or keys or ("prompt",)

    def table_columns(
        self, prompts: PromptSet, empty: Collection[str] = ()
    ) -> tuple[TableColumn, ...]:
        """Return the columns to show, for the table."""
        return tuple(map(_table_column, self.shown(prompts, empty)))

    @property
    def widths(self) -> dict[str, int]:
        """Cells of the resized columns, by key; without the column that fills the line."""
        return {
            column.key: column.width
            for column in self.columns
            if column.width is not None and own_width(column.key)
        }

    def toggled(self, key: str, prompts: PromptSet) -> ColumnLayout:
        """Return the layout with a column shown or hidden; the last visible one stays."""
        if self.shown(prompts) == (key,):
            return self
        return self._changed(
            prompts,
            (
                replace(choice, shown=not choice.shown) if choice.key == key else choice
                for choice in self.choices(prompts)
            ),
        )

    def moved(self, key: str, step: int, prompts: PromptSet) -> ColumnLayout:
        """Return the layout with a column moved to the right (1) or to the left (-1)."""
        choices = list(self.choices(prompts))
        index = next(number for number, choice in enumerate(choices) if choice.key == key)
        other = index + step
        if not 0 <= other < len(choices):
            return self
        choices[index], choices[other] = choices[other], choices[index]
        return self._changed(prompts, choices)

    def sized(self, key: str, width: int | None, prompts: PromptSet) -> ColumnLayout:
        """Return the layout with a column of this many cells; None restores its default.

        A column that fills the line is not changed.
        """
        own = own_width(key)
        bounded = None if width in (None, own) or not own else max(LEAST, min(MOST, width or 0))
        return self._changed(
            prompts,
            (
                replace(choice, width=bounded) if choice.key == key else choice
                for choice in self.choices(prompts)
            ),
        )

    def _changed(self, prompts: PromptSet, choices: Iterable[ColumnChoice]) -> ColumnLayout:
        known = known_columns(prompts)
        return ColumnLayout(
            (*choices, *(column for column in self.columns if column.key not in known))
        )


def _table_column(key: str) -> TableColumn:
    name = extra_name(key)
    if name is not None:
        return TableColumn(key, display_text(name), _EXTRA_WIDTH)
    title, width, side, _ = _OURS[key]
    return TableColumn(key, title, width, side)


def saved_columns(layout: ColumnLayout) -> tuple[SavedColumn, ...]:
    """Return the layout as a session stores it."""
    return tuple(
        SavedColumn(key=column.key, shown=column.shown, width=column.width)
        for column in layout.columns
        if len(column.key) <= LINE_LENGTH
    )


def layout_of(columns: Iterable[SavedColumn]) -> ColumnLayout:
    """Return the layout that a session stored, else the default."""
    choices = tuple(
        ColumnChoice(
            column.key,
            column.shown,
            None if column.width is None else max(LEAST, min(MOST, column.width)),
        )
        for column in {column.key: column for column in columns}.values()
    )
    return ColumnLayout(choices) if choices else ColumnLayout()


def own_width(key: str) -> int:
    """Return the default cells of a column; 0: the remaining cells."""
    return _OURS[key][1] if key in _OURS else _EXTRA_WIDTH


def column_title(key: str) -> str:
    """Return the full name of a column, inert."""
    name = extra_name(key)
    return display_text(_OURS[key][3] if name is None else name)
