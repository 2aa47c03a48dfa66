"""A dialog that ends once, however many keys come in one burst."""

from __future__ import annotations

from dataclasses import replace

from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.screen import ModalScreen, ScreenResultType

from guardtui.tui.actions import LISTS, action_named, in_scope


class Modal(ModalScreen[ScreenResultType]):
    """Keys that were pressed before the dialog had gone reach it still, and are let go."""

    # Bindings of the app do not reach a modal screen.
    BINDINGS = [
        *(replace(action.binding, action=f"app.{action.name}") for action in in_scope(LISTS)),
        *(
            replace(binding, action="app.show_help")
            for binding in [action_named("show_help").letter_binding]
            if binding is not None
        ),
        # As Escape, where the dialog itself has no other use for it; in a field it is a letter.
        Binding("q", "press_escape", "Close", show=False),
    ]

    _ended = False

    def action_press_escape(self) -> None:
        """Do what Escape does here."""
        self.app.simulate_key("escape")

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        # Not `is_current`, which a dialog is below another one too: that one would be taken away.
        if self._ended or not self.is_active:
            return AwaitComplete()
        self._ended = True
        return super().dismiss(result)
