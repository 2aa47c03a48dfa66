"""The dialog that writes a prompt, new or in the set already: its text, label and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Label, TextArea

from guardtui.domain.text import display_start, display_text, hidden_characters
from guardtui.tui.modal import Modal
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.widgets.line_input import LineInput

_NAME_SHOWN = 17  # characters of a column's name


@dataclass(frozen=True, slots=True)
class PromptText:
    """What is written of a prompt: `others` are values of further columns, by their name."""

    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A further column that can be written, and values that are suggested for it."""

    name: str
    values: Sequence[str] = ()


class _LabelButton(Button):
    """The label; Enter, Space or a click turn it."""

    BINDINGS = [Binding("space", "press", "Turn the label", show=False)]

    def on_mount(self) -> None:
        self.active_effect_duration = 0  # while it lasts, Textual takes no second press


class _LinesArea(TextArea):
    """A text of several lines; one that is not touched is given back exactly as it was."""

    def __init__(self, text: str) -> None:
        super().__init__(
            text,
            soft_wrap=True,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
        )
        self._original = text
        # Line breaks of other kinds are changed: what it gives back for the text it was given.
        self._given = self.text

    @property
    def is_touched(self) -> bool:
        """Whether something else was written."""
        return self.text != self._given

    @property
    def written(self) -> str:
        """The text as it is to be kept."""
        return self.text if self.is_touched else self._original


class _Cell(LineInput):
    """The value of a column in one line; one that is not touched stays exactly as it was."""

    def __init__(self, text: str, values: Sequence[str]) -> None:
        inert = [value for value in values if display_text(value) == value]
        super().__init__(
            value=text,
            placeholder="may stay empty; → completes" if inert else "may stay empty",
            suggester=SuggestFromList(inert, case_sensitive=False) if inert else None,
            compact=True,
        )
        self._original = text

    @property
    def is_touched(self) -> bool:
        """Whether something else was written."""
        return self.value != self._original

    @property
    def written(self) -> str:
        """The value as it is to be kept."""
        return self.value.strip() if self.is_touched else self._original


class PromptDialog(Modal[PromptText | None]):
    """Begins with the values of `start`, and gives what was written, or None."""

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "save", "Save", priority=True),
    ]

    def __init__(
        self,
        title: str,
        yes: str,
        start: PromptText,
        columns: Sequence[ColumnField],
        problem: Callable[[PromptText], str],
    ) -> None:
        """`columns` are those that can be written; other values of `start` stay as they are.

        `problem` returns why what was written cannot be kept, "" where it can.
        """
        super().__init__()
        self._title, self._yes, self._start = title, yes, start
        self._problem_of = problem
        self._expected = start.expected
        self._prompt = _LinesArea(start.prompt)
        self._columns = {one.name: _field_of(one, start) for one in columns}
        self._problem = Label("", id="problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = self._title
            with VerticalScroll(classes="prompt-form", can_focus=False):
                yield Label("Prompt", classes="caption", markup=False)
                yield self._prompt
                yield Label("Label", classes="caption", markup=False)
                yield _LabelButton(self._label_text(), id="label", compact=True)
                for name, cell in self._columns.items():
                    with Horizontal(classes="prompt-column"):
                        yield Label(_name_shown(name), classes="column-name", markup=False)
                        yield cell
            yield self._problem
            with Horizontal(classes="buttons"):
                yield Button(Text(f"{self._yes} (^s)"), id="yes", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="no", compact=True)

    def on_mount(self) -> None:
        self._prompt.move_cursor(self._prompt.document.end)
        self._prompt.focus()

    def _label_text(self) -> Content:
        if self._expected:
            return Content("[x] belongs to the topic: expected true")
        return Content("[ ] does not belong to the topic: expected false")

    @on(TextArea.Changed)
    def typed(self) -> None:
        hidden = hidden_characters(self._prompt.text)
        note = f"! {hidden} invisible or control characters in the prompt" if hidden else ""
        self._problem.update(note)

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "label":
            self._expected = not self._expected
            event.button.label = self._label_text()
        elif event.button.id == "yes":
            self.action_save()
        else:
            self.action_close()

    @on(Input.Submitted)
    def action_save(self) -> None:
        others = {name: cell.written for name, cell in self._columns.items()}
        written = PromptText(self._prompt.written, self._expected, {**self._start.others, **others})
        if problem := self._problem_of(written):
            self._problem.update(f"! {display_text(problem)}")
            self._prompt.focus()
            return
        self.dismiss(written)

    def action_close(self) -> None:
        """Leave; what was written is not thrown away by one key."""
        fields = (self._prompt, *self._columns.values())
        if not any(one.is_touched and one.written.strip() for one in fields):
            self.dismiss(None)
            return
        question = Confirm("Throw away what you wrote?", "Throw away", "Go on writing")
        self.app.push_screen(question, self._thrown_away)

    def _thrown_away(self, sure: bool | None) -> None:
        if sure:
            self.call_later(self._leave)  # once the question is gone

    def _leave(self) -> None:
        self.dismiss(None)


def _field_of(column: ColumnField, start: PromptText) -> _Cell | _LinesArea:
    """The field of a column; a value that one line cannot show whole has several."""
    value = start.others.get(column.name, "")
    return _LinesArea(value) if "\n" in value or "\r" in value else _Cell(value, column.values)


def _name_shown(name: str) -> str:
    more = "…" if len(name) > _NAME_SHOWN else ""
    return display_start(name, _NAME_SHOWN) + more
