"""The author's own wordings to try on the decision model, before others are searched."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Label

from guardtui.app.wording_runs import TypeWordings
from guardtui.tui.inputs.text_area import EdgeTextArea
from guardtui.tui.kit.modal import Modal


class WordingsDialog(Modal[str | None]):
    """Descriptions, one a line; none are needed."""

    BINDINGS = [
        Binding("ctrl+s", "accept", "Continue"),
    ]

    help_pane = "own_wordings"

    def __init__(self, question: TypeWordings) -> None:
        super().__init__()
        self._question = question
        self._text = EdgeTextArea(id="own-wordings", soft_wrap=True)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Wordings to try"
            dialog.border_subtitle = "Esc cancels, nothing is sent"
            yield Label(
                "Your own descriptions, one a line (none are needed). "
                f"Up to {self._question.others} wordings are tried, the others from a search.",
                markup=False,
            )
            yield self._text
            with Horizontal(classes="buttons"):
                continue_ = Text("Continue (^s)")
                yield Button(continue_, id="accept", variant="primary", compact=True)
                yield Button(Text("Cancel (Esc)"), id="cancel", compact=True)

    def on_mount(self) -> None:
        self._text.focus()

    @on(Button.Pressed, "#accept")
    def action_accept(self) -> None:
        """Return the text; the dialog of the requests follows."""
        self.dismiss(self._text.text)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)
