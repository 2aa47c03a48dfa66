"""A dialog over a table of prompts: groups, words that are sought, sorting, by keys and mouse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from textual import on
from textual.screen import Screen
from textual.widgets import Input

from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.line_input import LineInput


@dataclass(frozen=True, slots=True)
class RowsView:
    """Which rows the author asked to see; all words of `text` must be in the prompt."""

    group: str = "all"
    text: str = ""
    sort: str = "line"
    descending: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text.split())


class Listing(Screen[Any]):
    """Mixed into a dialog that has the table, the field of words and the view, and draws them.

    Its base stands behind the dialog's, whose look and way of ending it has.
    """

    table: FrameTable
    view: RowsView
    groups: Iterable[str]
    """Names of the groups, in the order in which they follow each other."""
    _words: LineInput

    def _ask(self, view: RowsView) -> None:
        """Show these rows."""
        raise NotImplementedError

    def _to_rows(self) -> None:
        """Bring the table in sight, where it is not always."""

    def _leave(self) -> None:
        """End the dialog."""
        self.dismiss(None)

    def action_next_group(self) -> None:
        """Show the next group of prompts."""
        names = list(self.groups)
        self._to_rows()
        following = names[(names.index(self.view.group) + 1) % len(names)]
        self._ask(replace(self.view, group=following))

    def action_find(self) -> None:
        """Show only prompts with some words."""
        self._to_rows()
        self._words.display = True
        self._words.focus()

    @on(Input.Changed)
    def words_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.view.text:
            self._ask(replace(self.view, text=event.value))

    @on(Input.Submitted)
    def words_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._words.display = bool(event.value.strip())
        self.table.focus()

    def action_next_sort(self) -> None:
        """Sort by the next column, at last in the order of the file again."""
        self._to_rows()
        keys = ["line", *(column.key for column in self.table.columns)]
        place = keys.index(self.view.sort) if self.view.sort in keys else 0
        self._ask(replace(self.view, sort=keys[(place + 1) % len(keys)], descending=False))

    def action_reverse_sort(self) -> None:
        """Sort the other way round."""
        self._to_rows()
        self._ask(replace(self.view, descending=not self.view.descending))

    @on(FrameTable.HeaderClicked)
    def header_clicked(self, event: FrameTable.HeaderClicked) -> None:
        turned = event.column_key == self.view.sort and not self.view.descending
        self._ask(replace(self.view, sort=event.column_key, descending=turned))

    def action_close(self) -> None:
        """Take the words away that are sought, else leave."""
        if self._words.has_focus or self.view.text:
            self._words.value = ""
            self._words.display = False
            self.table.focus()
            self._ask(replace(self.view, text=""))
        else:
            self._leave()
