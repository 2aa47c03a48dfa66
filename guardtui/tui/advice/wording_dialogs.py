"""The author's own wordings and the language model that writes more."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Input

from guardtui.app.advice.wording_trials import TypeWordings, WordingRequest
from guardtui.domain.text import display_start, display_text
from guardtui.tui.inputs.fields import EdgeTextArea, LineInput, SecretInput, ToggleButton
from guardtui.tui.kit.form import FormDialog, row
from guardtui.tui.kit.inert import Label, Static

_WHO = 40  # characters of a guardrail
_ORIGIN = 24  # cells of the origin of a value


class WordingsDialog(FormDialog[WordingRequest | None]):
    """Dialog for descriptions, one a line, and a writer with its key; all are optional."""

    BINDINGS = [Binding("ctrl+s", "accept", "Continue")]

    help_pane = "own_wordings"

    def __init__(self, question: TypeWordings) -> None:
        keys = "Esc cancels, nothing is sent"
        super().__init__("Descriptions to try", keys, yes="Continue (^s)")
        self._question, request = question, question.offered
        self._keep = request.keep
        self._text = EdgeTextArea(request.text, id="own-wordings", soft_wrap=True)
        self._writer = LineInput(
            request.writer,
            placeholder="that writes some too: its URL, # and its name; or none",
            id="writer",
            compact=True,
        )
        self._origin = Static("", classes="origin", id="writer-origin")
        self._key = SecretInput(id="writer-key")
        self._tick = ToggleButton(id="keep", compact=True)
        self._keys_shown = Vertical(id="writer-keys")

    def fields(self) -> ComposeResult:
        about = "They, and those that a language model writes, are measured like other edits."
        if who := self._question.tried_on:
            about = (
                f"They, and those that a language model writes, are tested on "
                f"{display_start(who, _WHO)}, each with subsets of its examples; without any, the "
                "engine's best edits are."
            )
        yield Label(f"Your own descriptions, one a line, or none. {about}")
        yield self._text
        yield row("Model", self._writer, self._origin)
        with self._keys_shown:
            yield row("Key", self._key)
            if self._question.no_keyring:
                yield Static(
                    f"In memory until you quit; {self._question.no_keyring}",
                    classes="no-keyring",
                )
            else:
                yield row("", self._tick)

    def on_mount(self) -> None:
        self._key.value = self._question.offered.key
        self._show()
        (self._writer if self._question.problem else self._text).focus()

    def on_unmount(self) -> None:
        self._key.value = ""

    def _show(self) -> None:
        """Show the rows of the key if there is a writer, the origins of both, and the problem."""
        question, writer = self._question, self._writer.value.strip()
        is_offered = bool(writer) and writer == question.offered.writer
        self._origin.update(display_start(question.origin if is_offered else "", _ORIGIN))
        self._keys_shown.display = bool(writer)
        self.problem.clear()
        if question.problem and is_offered:
            self.problem.show(question.problem)
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

    def changed(self, field: Input) -> None:
        """Show what belongs to the typed writer."""
        self._show()

    def submitted(self, field: Input) -> None:
        """Move from the writer to its key; from there, continue."""
        if field is self._writer and self._writer.value.strip():
            self._key.focus()
        else:
            self.accept()

    def chose(self, button: Button) -> None:
        """Toggle whether the typed key is stored."""
        self._keep = not self._keep
        self._show()

    def accept(self) -> None:
        """Return the request; questions about calls and requests follow."""
        writer = self._writer.value.strip()
        key = self._key.value.strip() if writer else ""
        self.dismiss(WordingRequest(self._text.text, writer, key, self._keep and bool(key)))
