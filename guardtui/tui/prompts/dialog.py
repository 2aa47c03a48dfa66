"""The dialog for a new or an existing prompt: its text, label and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, TextArea

from guardtui.domain.text import display_start, display_text, hidden_characters
from guardtui.tui.inputs.fields import EdgeTextArea, LineInput, ToggleButton
from guardtui.tui.kit.dialogs import close_after_question
from guardtui.tui.kit.form import FormDialog
from guardtui.tui.kit.inert import Label

_NAME_SHOWN = 17  # characters of a column's name


@dataclass(frozen=True, slots=True)
class PromptText:
    """The fields of a prompt; `others` are values of further columns by name."""

    prompt: str
    expected: bool
    others: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A further column that can be edited, and values to suggest."""

    name: str
    values: Sequence[str] = ()


class _LinesArea(EdgeTextArea):
    """A text of several lines; an unchanged one is returned exactly as it was."""

    def __init__(self, text: str) -> None:
        super().__init__(
            text,
            soft_wrap=True,
            tab_behavior="focus",
            compact=True,
            highlight_cursor_line=False,
        )
        self._original = text
        # TextArea converts line breaks: the text that it returns for the original.
        self._given = self.text

    @property
    def is_touched(self) -> bool:
        """Return whether the value was changed."""
        return self.text != self._given

    @property
    def written(self) -> str:
        """The text to save."""
        return self.text if self.is_touched else self._original


class _ColumnInput(LineInput):
    """The value of a column in one line; an unchanged one is returned exactly as it was."""

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
        """Return whether the value was changed."""
        return self.value != self._original

    @property
    def written(self) -> str:
        """The value to save."""
        return self.value.strip() if self.is_touched else self._original


class PromptDialog(FormDialog[PromptText | None]):
    """Starts with the values of `start`; returns the new values, or None."""

    BINDINGS = [
        Binding("escape", "close", "Close", priority=True),
        Binding("ctrl+s,f2", "accept", "Save", priority=True),
    ]

    def __init__(
        self,
        title: str,
        yes: str,
        start: PromptText,
        columns: Sequence[ColumnField],
        problem: Callable[[PromptText], str],
    ) -> None:
        """`columns` can be edited; other values of `start` are not changed.

        `problem` returns why the values cannot be saved; "" if they can.
        """
        super().__init__(title, yes=f"{yes} (^s)")
        self._start, self._problem_of = start, problem
        self._expected = start.expected
        self._prompt = _LinesArea(start.prompt)
        self._columns = {column.name: _field_of(column, start) for column in columns}

    def fields(self) -> ComposeResult:
        with VerticalScroll(classes="prompt-form", can_focus=False):
            yield Label("Prompt", classes="caption")
            yield self._prompt
            yield Label("Label", classes="caption")
            yield ToggleButton(self._label_text(), id="label", compact=True)
            for name, cell in self._columns.items():
                with Horizontal(classes="prompt-column"):
                    yield Label(_name_shown(name), classes="column-name")
                    yield cell

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
        if hidden:
            self.problem.show(f"{hidden} invisible or control characters in the prompt")
        else:
            self.problem.clear()

    def changed(self, field: Input) -> None:
        self.typed()

    def chose(self, button: Button) -> None:
        """Turn the label."""
        self._expected = not self._expected
        button.label = self._label_text()

    def accept(self) -> None:
        others = {name: cell.written for name, cell in self._columns.items()}
        written = PromptText(self._prompt.written, self._expected, {**self._start.others, **others})
        if problem := self._problem_of(written):
            self.problem.show(problem)
            self._prompt.focus()
        else:
            self.dismiss(written)

    def action_close(self) -> None:
        """Close, after a question if anything was written."""
        fields = (self._prompt, *self._columns.values())
        if not any(field.is_touched and field.written.strip() for field in fields):
            self.dismiss(None)
            return
        close_after_question(self, "Discard what you wrote?")


def _field_of(column: ColumnField, start: PromptText) -> _ColumnInput | _LinesArea:
    """Return the field of a column; a value with line breaks gets several lines."""
    value = start.others.get(column.name, "")
    return (
        _LinesArea(value) if "\n" in value or "\r" in value else _ColumnInput(value, column.values)
    )


def _name_shown(name: str) -> str:
    return display_start(name, _NAME_SHOWN)
