"""The menu of all advice; each entry has a letter."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.actions import ADVICE, in_scope, key_names
from guardtui.tui.textual_compat import keymap_of


class AdviceMenu(Modal[str | None]):
    """Returns the name of the chosen action, or None."""

    BINDINGS = [
        Binding("escape,q", "close", "Close"),
        *(
            Binding(
                action.keys,
                f"take({action.name!r})",
                action.title,
                tooltip=action.tooltip,
                id=action.binding.id,
            )
            for action in in_scope(ADVICE)
        ),
    ]

    help_pane = "advice"

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = "Advice"
            page.border_subtitle = "Enter or the letter opens one, Esc closes"
            yield OptionList(
                *(
                    Option(themed(self._line(action.name)), id=action.name)
                    for action in in_scope(ADVICE)
                ),
                markup=False,
                compact=True,
            )

    def _line(self, name: str) -> Text:
        action = next(known for known in in_scope(ADVICE) if known.name == name)
        line = Text(f"{key_names(action, keymap_of(self.app)):>3}  ", "bold")
        line.append(f"{action.title}  ")
        return line.append(action.tooltip, "$text-muted")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_take(self, name: str) -> None:
        """Open an entry by its letter."""
        self.dismiss(name)
