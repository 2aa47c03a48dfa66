"""A list of edits to choose from, with what each would change below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Label, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.domain.text import display_text
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal

Taken = TypeVar("Taken")


class EditList(Modal[Taken | None], Generic[Taken]):
    """Gives what the author takes (a definition, a step), or None."""

    BINDINGS = [("escape,q", "close", "Close")]

    TITLE_TEXT = ""
    KEYS_TEXT = ""

    def __init__(self, edits: Sequence[tuple[Taken, Text]], notes: Sequence[str]) -> None:
        """`edits` are what can be taken, each with its line; `notes` stand above them."""
        super().__init__()
        self._edits, self._notes = edits, notes

    def described(self, place: int) -> Text:
        """All that is told of the edit at this place."""
        raise NotImplementedError

    @property
    def place(self) -> int:
        """Which edit is highlighted."""
        return self.query_one(OptionList).highlighted or 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = self.TITLE_TEXT
            page.border_subtitle = self.KEYS_TEXT
            for note in self._notes:
                yield Label(display_text(note), markup=False)
            yield OptionList(
                *(Option(themed(line), id=str(at)) for at, (_, line) in enumerate(self._edits)),
                markup=False,
                compact=True,
            )
            with VerticalScroll(classes="described"):
                yield Static("", markup=False, id="difference")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one("#difference", Static).update(themed(self.described(event.option_index)))

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._edits[event.option_index][0])

    def action_close(self) -> None:
        self.dismiss(None)
