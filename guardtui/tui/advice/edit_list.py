"""A list of edits, with the full description of the highlighted one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets.option_list import Option

from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import Label, OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed

Taken = TypeVar("Taken")


class EditList(Modal[Taken | None], Generic[Taken]):
    """Returns the entry that the author chooses, or None."""

    TITLE_TEXT = ""
    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-high")]
    KEYS_TEXT = ""
    KEYS_WITHOUT_EDITS = "Esc closes"

    def __init__(self, edits: Sequence[tuple[Taken, Text]], notes: Sequence[str]) -> None:
        """Show `edits`, each an entry with its line, below `notes`."""
        super().__init__()
        self._edits, self._notes = edits, notes

    def described(self, index: int) -> Text:
        """Return the full description of an edit."""
        raise NotImplementedError

    def keys_for(self, index: int) -> str:
        """Return the keys for the highlighted edit."""
        return self.KEYS_TEXT

    @property
    def index(self) -> int:
        """Index of the highlighted edit."""
        return self.query_one(OptionList).highlighted or 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = self.TITLE_TEXT
            page.set_class(bool(self._edits), "-filled")
            page.border_subtitle = self.keys_for(0) if self._edits else self.KEYS_WITHOUT_EDITS
            for note in self._notes:
                yield Label(display_text(note))
            yield OptionList(
                *(
                    Option(themed(line), id=str(index))
                    for index, (_, line) in enumerate(self._edits)
                ),
                compact=True,
            )
            with VerticalScroll(classes="described"):
                yield Static("", id="difference")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        text = self.described(event.option_index)
        text.rstrip()
        self.query_one("#difference", Static).update(themed(text))
        self.query_one(".page").border_subtitle = self.keys_for(event.option_index)

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.take(event.option_index)

    def take(self, index: int) -> None:
        """Do what Enter does with the highlighted edit."""
        self.dismiss(self._edits[index][0])
