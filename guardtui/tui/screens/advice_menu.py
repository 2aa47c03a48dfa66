"""All advice in one list: what to change, what is doubtful, how sure; a letter opens each."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from guardtui.tui.actions import ADVICE, in_scope, key_names
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.textual_compat import keymap_of


class AdviceMenu(Modal[str | None]):
    """Gives the name of the action that was chosen, or None."""

    BINDINGS = [
        Binding("escape,q", "close", "Close"),
        *(
            Binding(
                one.keys,
                f"take({one.name!r})",
                one.title,
                tooltip=one.tooltip,
                id=one.binding.id,
            )
            for one in in_scope(ADVICE)
        ),
    ]

    help_pane = "advice"

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Advice"
            page.border_subtitle = "Enter or the letter opens one, Esc closes"
            yield OptionList(
                *(Option(themed(self._line(one.name)), id=one.name) for one in in_scope(ADVICE)),
                markup=False,
                compact=True,
            )

    def _line(self, name: str) -> Text:
        action = next(one for one in in_scope(ADVICE) if one.name == name)
        line = Text(f"{key_names(action, keymap_of(self.app)):>3}  ", "bold")
        line.append(f"{action.title}  ")
        return line.append(action.tooltip, "$text-muted")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_take(self, name: str) -> None:
        """Open one by its letter."""
        self.dismiss(name)

    def action_close(self) -> None:
        self.dismiss(None)
