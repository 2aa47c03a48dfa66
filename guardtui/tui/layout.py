"""Which columns the results table shows, in which order and how wide: a value, no widget."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.session.views import LINE_LENGTH, SavedColumn
from guardtui.tui.results import DEFAULT_COLUMNS, extra_name, known_columns
from guardtui.tui.widgets.table_columns import NARROWEST, Column

LEAST, MOST = NARROWEST, 200
"""Cells that a column may be set to."""

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
"""Title in the header, width of its own (0 takes what is left), side, and a name in full."""

_EXTRA_WIDTH = 14


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """What the author wants of one column; `width` None is the column's own."""

    key: str
    shown: bool = True
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The author's choices, from left to right.

    Columns that the prompt set at hand does not have are kept, for the one that does.
    """

    columns: tuple[ColumnChoice, ...] = tuple(map(ColumnChoice, DEFAULT_COLUMNS))

    def choices(self, prompts: PromptSet) -> tuple[ColumnChoice, ...]:
        """One choice for each column that the prompt set has; new ones stand last, not shown."""
        known = known_columns(prompts)
        named = {one.key for one in self.columns}
        chosen = [one for one in self.columns if one.key in known]
        return (*chosen, *(ColumnChoice(key, False) for key in known if key not in named))

    def shown(self, prompts: PromptSet, empty: Collection[str] = ()) -> tuple[str, ...]:
        """Keys of the columns to show; never none. Those that are `empty` now take no room."""
        keys = tuple(one.key for one in self.choices(prompts) if one.shown)
        return tuple(key for key in keys if key not in empty) or keys or ("prompt",)

    def table_columns(self, prompts: PromptSet, empty: Collection[str] = ()) -> tuple[Column, ...]:
        """The columns to show, as the table takes them."""
        return tuple(map(_table_column, self.shown(prompts, empty)))

    @property
    def widths(self) -> dict[str, int]:
        """Cells of the columns that were resized, by key; one that takes the rest is not."""
        return {
            one.key: one.width
            for one in self.columns
            if one.width is not None and own_width(one.key)
        }

    def toggled(self, key: str, prompts: PromptSet) -> Layout:
        """With the column shown or not; the last one that is shown stays."""
        if self.shown(prompts) == (key,):
            return self
        return self._changed(
            prompts,
            (
                replace(one, shown=not one.shown) if one.key == key else one
                for one in self.choices(prompts)
            ),
        )

    def moved(self, key: str, step: int, prompts: PromptSet) -> Layout:
        """With the column one place further to the right (step 1) or to the left (-1)."""
        choices = list(self.choices(prompts))
        place = next(number for number, one in enumerate(choices) if one.key == key)
        other = place + step
        if not 0 <= other < len(choices):
            return self
        choices[place], choices[other] = choices[other], choices[place]
        return self._changed(prompts, choices)

    def sized(self, key: str, width: int | None, prompts: PromptSet) -> Layout:
        """With the column of this many cells; None gives it its own width back.

        One that takes what is left keeps to that.
        """
        own = own_width(key)
        bounded = None if width in (None, own) or not own else max(LEAST, min(MOST, width or 0))
        return self._changed(
            prompts,
            (
                replace(one, width=bounded) if one.key == key else one
                for one in self.choices(prompts)
            ),
        )

    def _changed(self, prompts: PromptSet, choices: Iterable[ColumnChoice]) -> Layout:
        known = known_columns(prompts)
        return Layout((*choices, *(one for one in self.columns if one.key not in known)))


def _table_column(key: str) -> Column:
    name = extra_name(key)
    if name is not None:
        return Column(key, display_text(name), _EXTRA_WIDTH)
    title, width, side, _ = _OURS[key]
    return Column(key, title, width, side)


def saved_columns(layout: Layout) -> tuple[SavedColumn, ...]:
    """The layout as a session keeps it."""
    return tuple(
        SavedColumn(key=one.key, shown=one.shown, width=one.width)
        for one in layout.columns
        if len(one.key) <= LINE_LENGTH
    )


def layout_of(columns: Iterable[SavedColumn]) -> Layout:
    """The layout that a session kept; the usual one when it kept none."""
    choices = tuple(
        ColumnChoice(
            one.key, one.shown, None if one.width is None else max(LEAST, min(MOST, one.width))
        )
        for one in {one.key: one for one in columns}.values()
    )
    return Layout(choices) if choices else Layout()


def own_width(key: str) -> int:
    """Cells of a column that nobody resized; 0 takes what is left."""
    return _OURS[key][1] if key in _OURS else _EXTRA_WIDTH


def column_title(key: str) -> str:
    """What a column is called in a list, inert."""
    name = extra_name(key)
    return display_text(_OURS[key][3] if name is None else name)
