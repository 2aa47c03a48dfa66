"""The base of forms: fields, a line for what is wrong with them, and buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Button, Input

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed

Value = TypeVar("Value")


class ProblemLine(Static):
    """A problem, or a note in another colour; any text is made inert."""

    def __init__(self) -> None:
        super().__init__("", id="problem")

    def show(self, problem: str) -> None:
        """Show a problem; it may have several lines."""
        self.show_note(f"! {problem}", "")

    def show_note(self, note: str, style: str = "$text-muted") -> None:
        """Show a note that is not a problem."""
        self.update(themed(Text(display_text(note, newlines=True), style)))

    def clear(self) -> None:
        """Remove what is shown."""
        self.update("")


def row(caption: str, *widgets: Widget) -> Horizontal:
    """Return a row of a form: a caption and its widgets."""
    return Horizontal(Label(caption, classes="row-caption"), *widgets, classes="row")


class FormDialog(Modal[ScreenResultType]):
    """Enter in a field and the first button accept the form, Escape and the last one close it.

    Subclasses yield their widgets in `fields` and check them in `accept`.
    """

    def __init__(self, title: str, keys: str = "", *, yes: str, no: str = "Cancel (Esc)") -> None:
        """`keys` stand in the frame; `no` is the last button, "" for none where room is short."""
        super().__init__()
        self._title, self._keys, self._yes, self._no = title, keys, yes, no
        self.problem = ProblemLine()

    def fields(self) -> ComposeResult:
        """Yield the widgets above the line for the problem."""
        raise NotImplementedError

    def more_buttons(self) -> Iterator[Button]:
        """Yield the buttons between the first and the last."""
        yield from ()

    def accept(self) -> None:
        """End the dialog with its result, or show what is wrong."""
        raise NotImplementedError

    def action_accept(self) -> None:
        """Accept the form by a key."""
        self.accept()

    def submitted(self, field: Input) -> None:
        """Do what Enter does in a field."""
        self.accept()

    def changed(self, field: Input) -> None:
        """Follow what is typed."""
        self.problem.clear()

    def chose(self, button: Button) -> None:
        """Do what a button of the subclass does."""

    async def value_of(self, call: Callable[[], Value]) -> Value | None:
        """Return what a function returns, which runs in a thread; None after showing its error."""
        try:
            return await asyncio.to_thread(call)
        except (GuardtuiError, OSError, RuntimeError, ValueError) as error:
            # A name may contain a null character, or the home folder of an unknown user.
            self.problem.show(str(error))
            return None

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False) as dialog:
            dialog.border_title = Content(self._title)
            dialog.border_subtitle = self._keys
            yield from self.fields()
            yield self.problem
            with Horizontal(classes="buttons"):
                yield Button(Text(self._yes), id="yes", compact=True)
                yield from self.more_buttons()
                if self._no:
                    yield Button(Text(self._no), id="no", compact=True)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.submitted(event.input)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.changed(event.input)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self.accept()
        elif event.button.id == "no":
            self.action_close()
        else:
            self.chose(event.button)
