"""Dialogs without a feature: a question, several answers, a page of text, a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button
from textual.widgets.option_list import Option

from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import Label, OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed


class AnswersDialog(Modal[str | None]):
    """A text and its answers, each with a key; returns the id of one, None for Escape."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]

    help_pane = "confirm"

    def __init__(
        self,
        body: str | Text,
        answers: Sequence[tuple[str, str, str]],
        no: str = "Cancel",
        *,
        title: str = "",
        keys: str = "",
        frame: str = "dialog",
        help_pane: str = "confirm",
        calm: float = 0.0,
    ) -> None:
        """`answers` are (key, id, words); a styled `body` scrolls if it is long.

        `frame` has the classes of the frame. An unexpected question ignores answers for the first
        `calm` seconds.
        """
        super().__init__()
        self.help_pane = help_pane
        self._body, self._answers, self._no = body, answers, no
        self._title, self._keys, self._frame, self._calm = title, keys, frame, calm

    def compose(self) -> ComposeResult:
        with Vertical(classes=self._frame) as frame:
            frame.border_title = Content(self._title)
            frame.border_subtitle = self._keys
            if isinstance(self._body, str):
                yield Label(display_text(self._body, newlines=True))
            else:
                with VerticalScroll(classes="scrolled"):
                    yield Static(themed(self._body))
            with Horizontal(classes="buttons"):
                for key, name, words in self._answers:
                    yield Button(Text(f"{words} ({key})"), id=name, compact=True)
                yield Button(Text(f"{self._no} (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        if self._calm:
            self.set_timer(self._calm, self._accept_answers)
        # A page is read first, a question is answered.
        self.query("VerticalScroll, Button" if "page" in self._frame else "Button").first().focus()

    def _accept_answers(self) -> None:
        self._calm = 0.0

    def on_key(self, event: events.Key) -> None:
        keys = {key: name for key, name, _ in self._answers}
        if event.key in keys or (event.key == "n" and "y" in keys):
            event.stop()
            self._answer(keys.get(event.key))

    def action_close(self) -> None:
        self._answer(None)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        self._answer(None if event.button.id == "no" else event.button.id)

    def _answer(self, answer: str | None) -> None:
        if not self._calm:
            self.dismiss(answer)


class ConfirmDialog(AnswersDialog):
    """A question with two answers, "yes" and None."""

    def __init__(self, question: str, yes: str, no: str, *, calm: float = 0.0) -> None:
        super().__init__(question, [("y", "yes", yes)], no, calm=calm)


def close_after_question(dialog: Modal[Any], question: str) -> None:
    """Close a dialog without a result if the author agrees to lose what was typed."""

    def close() -> None:
        dialog.dismiss(None)

    def answered(agreed: str | None) -> None:
        if agreed:
            dialog.call_later(close)  # once the question is gone

    dialog.app.push_screen(ConfirmDialog(question, "Discard", "Keep editing"), answered)


class TextPage(Modal[None]):
    """A page of text; Escape, q or the key that opened it close it."""

    BINDINGS = [("escape,q,enter,f1", "close", "Close")]

    def __init__(self, title: str, body: Text, help_pane: str = "page") -> None:
        """`help_pane` names the help of the page."""
        super().__init__()
        self._title, self._body = title, body
        self.help_pane = help_pane

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="page short-page") as page:
            page.border_title = Content(self._title)
            page.border_subtitle = "Esc closes"
            yield Static(themed(self._body))


class ChoiceDialog(Modal[str | None]):
    """A list to choose from; Enter chooses, Escape closes."""

    help_pane = "choice"

    def __init__(
        self,
        title: str,
        options: Sequence[tuple[str, Text]],
        keys: str = "",
        help_pane: str = "choice",
    ) -> None:
        super().__init__()
        self.help_pane = help_pane
        self._title, self._options, self._keys = title, options, keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = Content(self._title)
            page.border_subtitle = self._keys or "Enter chooses, Esc closes"
            yield OptionList(
                *(Option(themed(text), id=name) for name, text in self._options),
                compact=True,
            )

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)
