"""The theme chooser: the app shows the highlighted theme at once."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.theme import Theme
from textual.timer import Timer
from textual.widgets.option_list import Option

from guardtui.config import Config, Value
from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import OptionList
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.theme import THEMES

PAUSE = 0.05
"""Seconds for which a theme is highlighted before the app shows it."""

Change = Callable[[str, Value | None], str]
"""Sets a setting, or resets it with None; returns a note for the author, or ""."""


class ThemeScreen(Modal[None]):
    """All themes; Enter saves the choice, Escape restores the old theme."""

    BINDINGS = [("escape,q", "leave", "Close")]

    def __init__(self, config: Config, change: Change) -> None:
        super().__init__()
        self._config, self._change = config, change
        self._before = ""
        self._soon: Timer | None = None
        self._options = OptionList(compact=True)

    def compose(self) -> ComposeResult:
        with Vertical(classes="themes") as frame:
            frame.border_title = "Theme"
            frame.border_subtitle = "Enter keeps, Esc goes back"
            yield self._options

    def on_mount(self) -> None:
        """List our themes first, then dark ones, then light ones, by name."""
        self._before = self.app.theme
        own = [theme.name for theme in THEMES]
        others = (theme for name, theme in self.app.available_themes.items() if name not in own)
        themes = *THEMES, *sorted(others, key=lambda theme: (not theme.dark, theme.name))
        self._options.add_options(Option(themed(_line(theme)), id=theme.name) for theme in themes)
        self._options.highlighted = self._options.get_option_index(self._before)

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        name = event.option.id or self._before
        self._stop()
        self._soon = self.set_timer(PAUSE, lambda: self._show(name))

    def _show(self, name: str) -> None:
        if self.is_attached and name != self.app.theme:
            self.app.theme = name

    def _stop(self) -> None:
        if self._soon is not None:
            self._soon.stop()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self._stop()
        name = event.option.id or self._before
        note = self._change("theme", name)
        if self._config.theme != name:
            source = self._config.source("theme").value
            note = note or f"Kept for later: what the {source} says wins when guardtui is started."
        self.app.theme = name
        if note:
            self.app.notify(note, title="Theme", severity="warning")
        self.dismiss(None)

    def action_leave(self) -> None:
        self._stop()
        self.app.theme = self._before
        self.dismiss(None)


def _line(theme: Theme) -> Text:
    text = Text(f"{display_text(theme.name):<22}")
    return text.append("dark" if theme.dark else "light", "$text-muted")
