"""A table of prompts for dialogs: groups, a field of words, sorting, by keys and mouse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from guardtui.domain.text import display_start
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.table.rows import RowSource

_LONGEST = 60

NO_WORDS = "No prompt here has these words: Esc removes them, f searches the next group."

TABLE_BINDINGS: list[BindingType] = [
    ("f", "table('next_group')", "Next filter"),
    ("slash", "table('find')", "Find words"),
    ("s", "table('next_sort')", "Sort"),
    ("S", "table('reverse_sort')", "Reverse the order"),
]
"""Keys of a dialog with a `PromptTable`; its `action_table` passes them to `PromptTable.press`."""


@dataclass(frozen=True, slots=True)
class PromptTableView:
    """Rows that the author wants to see; all words of `text` must be in the prompt."""

    group: str = "all"
    text: str = ""
    sort: str = "line"
    descending: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return tuple(self.text.split())


class PromptTable(Vertical):
    """A line of groups, a field of words that is hidden at first, and the table."""

    class ViewChanged(Message):
        """The author wants to see other rows."""

        def __init__(self, view: PromptTableView) -> None:
            self.view = view
            super().__init__()

    def __init__(
        self,
        groups: Sequence[str],
        view: PromptTableView,
        id: str,  # noqa: A002 - Textual's name for it
    ) -> None:
        """`groups` are their names in the order of the key that shows the next one."""
        super().__init__(id=id, classes="prompt-table")
        self.table = FrameTable(search_column="prompt", id=f"{id}-rows")
        self.view = view
        self._groups = groups
        self._line = Static("", classes="prompt-table-groups", markup=False)
        self._words = LineInput(
            placeholder="words of the prompt", classes="prompt-table-words", compact=True
        )
        self._words.display = False
        self._keys: Mapping[str, Callable[[], None]] = {
            "next_group": self._next_group,
            "find": self._find,
            "next_sort": self._next_sort,
            "reverse_sort": lambda: self._change(descending=not self.view.descending),
        }

    def compose(self) -> ComposeResult:
        yield self._line
        yield self._words
        yield self.table

    def show_groups(self, line: Text) -> None:
        """Show the groups with their sizes."""
        self._line.update(themed(line))

    def show_rows(self, rows: RowSource, empty_text: str) -> None:
        """Show the rows of the view."""
        self.table.empty_text = empty_text
        self.table.search = self.view.words
        sort = (self.view.sort, self.view.descending)
        self.table.sort = None if self.view.sort == "line" else sort
        self.table.set_source(rows)

    def press(self, key: str) -> None:
        """Handle a key of `TABLE_BINDINGS`, by the name in its action."""
        self._keys[key]()

    def clear_words(self) -> bool:
        """Remove the words; return False if there are none and the field has no focus."""
        if not (self._words.has_focus or self.view.text):
            return False
        with self._words.prevent(Input.Changed):
            self._words.value = ""
        self._words.display = False
        self.table.focus()
        self._change(text="")
        return True

    def _next_group(self) -> None:
        index = self._groups.index(self.view.group) + 1
        self._change(group=self._groups[index % len(self._groups)])

    def _find(self) -> None:
        self._words.display = True
        self._words.focus()

    def _next_sort(self) -> None:
        """Sort by the next column; after the last one in the order of the file."""
        keys = ["line", *(column.key for column in self.table.columns)]
        index = keys.index(self.view.sort) if self.view.sort in keys else 0
        self._change(sort=keys[(index + 1) % len(keys)], descending=False)

    def _change(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.post_message(self.ViewChanged(self.view))

    @on(Input.Changed)
    def _words_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self.view.text:
            self._change(text=event.value)

    @on(Input.Submitted)
    def _words_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._words.display = bool(event.value.strip())
        self.table.focus()

    @on(FrameTable.HeaderClicked)
    def _header_clicked(self, event: FrameTable.HeaderClicked) -> None:
        reverse = event.column_key == self.view.sort and not self.view.descending
        self._change(sort=event.column_key, descending=reverse)


def groups_text(sizes: Mapping[str, int], titles: Mapping[str, str], view: PromptTableView) -> Text:
    """Return the groups with their sizes, the one shown in brackets, and the words searched."""
    text = Text()
    for name, size in sizes.items():
        is_shown = name == view.group
        group = f"{titles[name]} {size}"
        text.append(f"[{group}]" if is_shown else f" {group} ", "bold reverse" if is_shown else "")
        text.append(" ")
    if words := view.text.strip():
        text.append(f" with “{display_start(words, _LONGEST)}”", "bold")
    return text


def has_words(lower_prompts: pl.Series, words: Sequence[str]) -> NDArray[np.bool_]:
    """Return the prompts that contain all words, in any case, bool [N]."""
    mask = np.ones(len(lower_prompts), np.bool_)
    for word in words:
        mask &= lower_prompts.str.contains(word.lower(), literal=True).to_numpy()
    return mask
