"""The author's own wordings and the language model that writes more; all wordings of a trial."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input

from guardtui.advice.candidates import Candidate
from guardtui.app.advice.wording_trials import TypeWordings, WordingPlan, WordingRequest
from guardtui.domain.text import display_start, display_text
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.inputs.line_input import LineInput
from guardtui.tui.inputs.secret_input import SecretInput
from guardtui.tui.inputs.text_area import EdgeTextArea
from guardtui.tui.kit.form import row
from guardtui.tui.kit.inert import Label, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.toggle_button import ToggleButton

_ORIGIN = 24  # cells of the origin of a value
_SHOWN = 300  # characters of a wording


class WordingsDialog(Modal[WordingRequest | None]):
    """Dialog for descriptions, one a line, and a writer with its key; all are optional."""

    BINDINGS = [
        Binding("ctrl+s", "accept", "Continue"),
    ]

    help_pane = "own_wordings"

    def __init__(self, question: TypeWordings) -> None:
        super().__init__()
        self._question, request = question, question.offered
        self._keep = request.keep
        self._text = EdgeTextArea(request.text, id="own-wordings", soft_wrap=True)
        self._writer = LineInput(
            request.writer,
            placeholder="none; or URL#name, as http://localhost:11434/v1#qwen3",
            id="writer",
            compact=True,
        )
        self._key = SecretInput(id="writer-key")
        self._tick = ToggleButton(id="keep", compact=True)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False) as dialog:
            dialog.border_title = "Wordings to try"
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            yield Label(
                "Your own descriptions, one a line (none are needed). " + self._more,
            )
            yield self._text
            origin = Static("", classes="origin", id="writer-origin")
            yield row("Writer", self._writer, origin)
            with Vertical(id="writer-keys"):
                yield row("Key", self._key)
                if self._question.no_keyring:
                    yield Static(
                        f"In memory until you quit; {self._question.no_keyring}",
                        classes="no-keyring",
                    )
                else:
                    yield row("", self._tick)
            problem = display_text(self._question.problem, newlines=True)
            yield Label(f"! {problem}" if problem else "", id="problem")
            with Horizontal(classes="buttons"):
                continue_ = Text("Continue (^s)")
                yield Button(continue_, id="accept", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="cancel", compact=True)

    @property
    def _more(self) -> str:
        if not self._question.others:
            return "They and those of a writer are measured like other edits."
        return (
            f"Up to {self._question.others} wordings are tried on the decision model, the others "
            "from a writer and a search."
        )

    def on_mount(self) -> None:
        self._key.value = self._question.offered.key
        self._show()
        (self._writer if self._question.problem else self._text).focus()

    def on_unmount(self) -> None:
        self._key.value = ""

    def _show(self) -> None:
        """Show the rows of the key if there is a writer, and the origins of both."""
        question, writer = self._question, self._writer.value.strip()
        is_offered = bool(writer) and writer == question.offered.writer
        origin = question.origin if is_offered else ""
        self.query_one("#writer-origin", Static).update(display_start(origin, _ORIGIN))
        self.query_one("#writer-keys").display = bool(writer)
        self.query_one("#problem").display = bool(question.problem) and is_offered
        if is_offered and question.key_origin:
            known = f"••• {display_text(question.key_origin)}; type another one to replace it"
        elif is_offered and question.origin:
            known = "none is set"
        else:
            known = "type one, unless it is set, stored or not needed"
        self._key.placeholder = known
        self._tick.label = Content(
            f"[{'x' if self._keep else ' '}] keep the key in the keyring of the system"
        )

    @on(Input.Changed, "#writer")
    def writer_changed(self) -> None:
        """Show what belongs to the typed writer."""
        self._show()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Move from the writer to its key; from there, continue."""
        event.stop()
        if event.input is self._writer and self._writer.value.strip():
            self._key.focus()
        else:
            self.action_accept()

    @on(Button.Pressed, "#keep")
    def turn_keep(self, event: Button.Pressed) -> None:
        """Toggle whether the typed key is stored."""
        event.stop()
        self._keep = not self._keep
        self._show()

    @on(Button.Pressed, "#accept")
    def action_accept(self) -> None:
        """Return the request; questions about calls and requests follow."""
        writer = self._writer.value.strip()
        key = self._key.value.strip() if writer else ""
        self.dismiss(WordingRequest(self._text.text, writer, key, self._keep and bool(key)))

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)


class WordingPlanDialog(EditList[bool]):
    """Returns True if the author agrees; Escape declines."""

    BINDINGS = [
        Binding("y", "answer(True)", "Try them"),
        Binding("n", "answer(False)", "Cancel", show=False),
    ]

    TITLE_TEXT = "Wordings to try"
    KEYS_TEXT = "Enter or y tries all · Esc cancels, nothing is sent"

    help_pane = "wording_plan"

    def __init__(self, plan: WordingPlan) -> None:
        notes = [*plan.cost.split("\n"), *(f"⚠ {note}" for note in plan.notes)]
        super().__init__([(True, wording_line(wording)) for wording in plan.wordings[1:]], notes)
        self._plan = plan

    def described(self, index: int) -> Text:
        wording = self._plan.wordings[1 + index]
        text = Text(f"From {display_start(wording.origin, _SHOWN)}.\n\n", "$text-muted")
        return text.append_text(difference_text(self._plan.topic, wording.topic))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


def wording_line(wording: Candidate) -> Text:
    """Return a wording in one line: its origin and its change."""
    line = Text(f"{display_start(wording.origin, _SHOWN)}  ", "$text-accent")
    return line.append(display_start(wording.change, _SHOWN), "$text-muted")
