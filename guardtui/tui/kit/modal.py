"""The base of all dialogs: they end once, close on Escape, and have help."""

from __future__ import annotations

from dataclasses import replace

from textual import events, on
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.screen import ModalScreen, ScreenResultType

from guardtui.tui.registry.actions import LISTS, action_named, in_scope
from guardtui.tui.textual_compat import forget_notifications


class Modal(ModalScreen[ScreenResultType]):
    """A dialog that ignores keys which arrive after it has ended."""

    # Bindings of the app do not reach a modal screen.
    BINDINGS = [
        *(replace(action.binding, action=f"app.{action.name}") for action in in_scope(LISTS)),
        *(
            replace(binding, action="app.show_help")
            for binding in [action_named("show_help").letter_binding]
            if binding is not None
        ),
        Binding("escape", "close", "Close", show=False),
        # Like Escape, unless the dialog itself uses the key; in a field it is a letter.
        Binding("q", "press_escape", "Close", show=False),
    ]

    _ended = False
    _waiting: tuple[ScreenResultType | None] | None = None
    """The result of a dialog that has ended below another screen; None before."""

    def action_press_escape(self) -> None:
        """Do what Escape does in this dialog."""
        self.app.simulate_key("escape")

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def dismiss_when_active(self, result: ScreenResultType | None = None) -> None:
        """Dismiss now, or as soon as no other screen, such as help, lies over the dialog."""
        self._waiting = (result,)
        if self.is_active:
            self.dismiss(result)

    @on(events.Mount)
    def _clear_title(self) -> None:
        """Remove messages about what was done before, which would cover the title."""
        forget_notifications(self.app, keep_errors=True)

    @on(events.ScreenResume)
    def _dismiss_waiting(self) -> None:
        if self._waiting is not None:
            self.dismiss(self._waiting[0])

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        # Not `is_current`: that is also true below another dialog, which would then be dismissed.
        if self._ended or not self.is_active:
            return AwaitComplete()
        self._ended = True
        return super().dismiss(result)
