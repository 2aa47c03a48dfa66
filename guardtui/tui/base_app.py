"""What every app of ours shares: settings, themes, keys, help, palette, and an inert screen."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from functools import partial

from textual.app import App, SystemCommand
from textual.binding import Keymap
from textual.command import CommandPalette
from textual.constants import TEXTUAL_ANIMATIONS
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget

from guardtui.config import Config, Value
from guardtui.domain.text import display_text
from guardtui.files.problems import FileProblem
from guardtui.tui.actions import ACTIONS, key_names
from guardtui.tui.delivering import Delivering
from guardtui.tui.inert import InertFilter
from guardtui.tui.keymap import usable_keymap
from guardtui.tui.terminal import on_leaving
from guardtui.tui.theme import DARK, THEMES, near_theme

_EVERYWHERE = ("show_help", "jump", "screenshot")


class BaseApp(Delivering):
    """An app without a screen of its own yet."""

    CSS_PATH = [
        "styles/main.tcss",
        "styles/dialogs.tcss",
        "styles/advice.tcss",
        "styles/settings.tcss",
        "styles/tour.tcss",
        "styles/scores.tcss",
    ]
    TITLE = "guardtui"
    # Here, and not on the main screen only, so that they work in dialogs too.
    BINDINGS = [one.binding for one in ACTIONS if one.name in _EVERYWHERE]

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()
        self.setting_changed: Signal[str] = Signal(self, "setting_changed")
        self._filters.append(InertFilter())
        for theme in THEMES:
            self.register_theme(theme)
        self._start_with_theme()
        self._apply_animation()

    def on_mount(self) -> None:
        for problem in (self._theme_problem, *self._apply_keys()):
            if problem:
                self.notify(problem, title="Settings", severity="error", markup=False, timeout=15)
        on_leaving(self._leave)
        gc.freeze()  # see MainScreen: the collector need not look through all modules again
        gc.enable()  # the command that opens the app has turned it off

    # --- settings -------------------------------------------------------------------------

    def change_setting(self, key: str, value: Value | None) -> str:
        """Set (or with None reset), apply at once and write; returns what the author should know.

        Subscribers of `setting_changed` are told the key.
        """
        notes: list[str] = []
        try:
            if value is None:
                self.config.reset(key)
            else:
                self.config.set_value(key, value)
        except FileProblem as problem:
            notes.append(f"not saved, holds until you leave: {problem}")
        notes += self.apply_setting(key)
        self.setting_changed.publish(key)
        return display_text("; ".join(filter(None, notes)), newlines=True)

    def apply_setting(self, key: str) -> list[str]:
        """Have a setting take effect; returns what is wrong with it."""
        if key == "theme":
            self.theme = self._known_theme
            return [self._theme_problem]
        if key == "keys":
            return self._apply_keys()
        if key == "animation":
            self._apply_animation()
        for screen in self.screen_stack:
            use_config = getattr(screen, "use_config", None)
            if use_config is not None:
                use_config(self.config)
        return []

    def action_open_settings(self) -> None:
        from guardtui.tui.screens.settings import SettingsScreen

        self.push_screen(SettingsScreen(self.config, self.change_setting))

    def search_themes(self) -> None:
        """In place of Textual's own: the choice is written to the settings."""
        from guardtui.tui.screens.themes import ThemeScreen

        self.push_screen(ThemeScreen(self.config, self.change_setting))

    @property
    def keymap(self) -> Keymap:
        """Keys in force that are not the shipped ones, by the id of the binding."""
        return dict(self._keymap)

    @property
    def _known_theme(self) -> str:
        return self.config.theme if self.config.theme in self.available_themes else DARK.name

    @property
    def _theme_problem(self) -> str:
        if self.config.theme in self.available_themes:
            return ""
        name = self.config.theme
        return display_text(f"theme: there is no theme '{name}'; {near_theme(name)}")

    def _start_with_theme(self) -> None:
        """What assigning the theme does in a running app, before the style sheets are read once."""
        self.set_reactive(App.theme, self._known_theme)
        self.stylesheet.set_variables(self.get_css_variables())
        dark = self.current_theme.dark
        self.set_class(True, f"-theme-{self.theme}", update=False)
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self._refresh_truecolor_filter(self.ansi_theme)

    def _apply_keys(self) -> list[str]:
        usable, problems = usable_keymap(self.config.keys)
        if usable != self._keymap:
            self.set_keymap(usable)
        return [display_text(str(problem)) for problem in problems]

    def _apply_animation(self) -> None:
        self.animation_level = "none" if self.config.animation == "none" else TEXTUAL_ANIMATIONS

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Tell something in a corner, inert: problems name files and quote what others wrote."""
        super().notify(
            display_text(message, newlines=True),
            title=display_text(title),
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    def action_show_help(self) -> None:
        """Help of what has the focus."""
        from guardtui.tui.screens.help import show_help

        show_help(self)

    def action_jump(self) -> None:
        """A letter on every place in sight of the screen in front."""
        from guardtui.tui.screens.jump import show_jump

        show_jump(self)

    # --- leaving --------------------------------------------------------------------------

    def _leave(self, code: int) -> None:
        self.exit(return_code=code)

    def _fatal_error(self) -> None:
        # A traceback would show prompts; `run.run_app` raises the error to where it is told safely.
        self._close_messages_no_wait()

    # --- the palette ----------------------------------------------------------------------

    def action_command_palette(self) -> None:
        """Open the palette, unless it is open below another screen."""
        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            super().action_command_palette()

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """The widgets that do the actions of each scope, or of one action, by its full id."""
        targets: Mapping[str, Widget] = getattr(screen, "action_targets", {})
        return targets

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the registry under its one name and with its keys, then Textual's own."""
        targets = {"screen.screenshot": self, **self.action_targets(screen)}
        for action in ACTIONS:
            target = targets.get(f"{action.scope}.{action.name}", targets.get(action.scope))
            if target is not None:
                run = partial(self.run_action, action.name, target)
                keys = key_names(action, self.keymap)
                yield SystemCommand(action.title, f"{action.tooltip}  ({keys})", run)
        for command in super().get_system_commands(screen):
            if command.title in ("Maximize", "Minimize"):
                yield command
