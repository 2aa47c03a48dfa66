"""The dialog that writes one more prompt of the prompt set: text, label, category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Label, TextArea

from guardtui.domain.prompt_edit import Add
from guardtui.domain.text import display_text, hidden_characters
from guardtui.tui.modal import Modal
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.widgets.line_input import LineInput


class _LabelButton(Button):
    """The label; Enter, Space or a click turn it."""

    BINDINGS = [Binding("space", "press", "Turn the label", show=False)]


class AddPrompt(Modal[Add | None]):
    """Begins with the values of `start`, and gives the prompt to add, or None."""

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "add", "Add", priority=True),
    ]

    def __init__(
        self, start: Add, category: str | None = None, categories: Sequence[str] = ()
    ) -> None:
        """`category` is the name of the column, None without one; `categories` its values."""
        super().__init__()
        self._start, self._category, self._categories = start, category, categories
        self._expected = start.expected
        self._given = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Add a prompt"
            yield Label("Prompt", classes="caption", markup=False)
            yield TextArea(
                self._start.prompt,
                soft_wrap=True,
                tab_behavior="focus",
                compact=True,
                highlight_cursor_line=False,
            )
            yield Label("Label", classes="caption", markup=False)
            yield _LabelButton(self._label_text(), id="label", compact=True)
            if self._category is not None:
                yield Label(display_text(self._category), classes="caption", markup=False)
                inert = [name for name in self._categories if display_text(name) == name]
                yield LineInput(
                    value=self._start.others.get(self._category, ""),
                    placeholder="may stay empty; → completes",
                    suggester=SuggestFromList(inert, case_sensitive=False),
                    compact=True,
                )
            yield Label("", id="problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(Text("Add (^s)"), id="yes", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        # What it gives back for the text it was given: line breaks of other kinds are changed.
        self._given = area.text
        area.focus()

    def _label_text(self) -> Content:
        if self._expected:
            return Content("[x] belongs to the topic: expected true")
        return Content("[ ] does not belong to the topic: expected false")

    @on(TextArea.Changed)
    def typed(self) -> None:
        hidden = hidden_characters(self.query_one(TextArea).text)
        note = f"! {hidden} invisible or control characters in the prompt" if hidden else ""
        self.query_one("#problem", Label).update(note)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "label":
            self._expected = not self._expected
            event.button.label = self._label_text()
        elif event.button.id == "yes":
            self.action_add()
        else:
            self.action_close()

    @on(Input.Submitted)
    def action_add(self) -> None:
        text = self.query_one(TextArea).text
        prompt = self._start.prompt if text == self._given else text
        if not prompt.strip():
            self.query_one("#problem", Label).update("! the prompt is empty")
            self.query_one(TextArea).focus()
            return
        others: Mapping[str, str] = self._start.others
        if self._category is not None:
            others = {**others, self._category: self.query_one(Input).value.strip()}
        self.dismiss(
            replace(self._start, prompt=prompt, expected=self._expected, others=dict(others))
        )

    def action_close(self) -> None:
        """Leave; what was written is not thrown away by one key."""
        text = self.query_one(TextArea).text
        if text in (self._given, "") or text.isspace():
            self.dismiss(None)
            return
        question = Confirm("Throw away the prompt you wrote?", "Throw away", "Go on writing")
        self.app.push_screen(question, self._thrown_away)

    def _thrown_away(self, sure: bool | None) -> None:
        if sure:
            self.call_later(self._leave)  # once the question is gone

    def _leave(self) -> None:
        self.dismiss(None)
