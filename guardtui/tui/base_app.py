"""What every app of ours shares: settings, themes, keys, help, palette, and an inert screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from time import monotonic

from textual.app import SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette
from textual.constants import TEXTUAL_ANIMATIONS
from textual.dom import DOMNode
from textual.events import Event, Key
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget

from guardtui.config import Config, Value, find_setting
from guardtui.domain.text import display_text
from guardtui.files.problems import FileError
from guardtui.tui.actions import (
    ACTIONS,
    LISTS,
    Action,
    action_named,
    binding_ids,
    bindings,
    first_key,
    key_name,
    key_names,
)
from guardtui.tui.delivering import Delivering
from guardtui.tui.inert import InertFilter
from guardtui.tui.keymap import check_config, default_keys, usable_keymap
from guardtui.tui.list_motions import Motion, move
from guardtui.tui.menu import commands_of
from guardtui.tui.message_log import MessageLog, SaidMessage, messages_text, reading_time, shortened
from guardtui.tui.terminal import on_leaving
from guardtui.tui.textual_compat import (
    add_line_filter,
    end_crashes_silently,
    forget_notifications,
    keymap_of,
    start_with_theme,
)
from guardtui.tui.theme import DARK, THEMES

_MARGIN = 4
"""Cells at both sides of a message."""

_UNTIL_A_KEY = 24 * 3600.0
"""Seconds for which an error stays when no key is pressed."""

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
    BINDINGS = [
        *(one.binding for one in ACTIONS if one.name in _EVERYWHERE),
        *filter(None, [action_named("show_help").letter_binding]),
        *bindings(LISTS),
    ]

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()
        self.said = MessageLog()
        self._error_read_at: float | None = None
        add_line_filter(self, InertFilter())
        end_crashes_silently(
            self
        )  # `run_app` raises the error to where it is shown without prompts
        for theme in THEMES:
            self.register_theme(theme)
        start_with_theme(self, self._known_theme)
        self._apply_animation()

    def on_mount(self) -> None:
        self._apply_keys()
        for problem in check_config(self.config):
            self.notify(str(problem), title="Settings", severity="error", timeout=15)
        on_leaving(self._leave)

    # --- settings -------------------------------------------------------------------------

    def change_setting(self, key: str, value: Value | None) -> str:
        """Set (or with None reset), apply at once and write; return what the author should know."""
        notes = []
        try:
            self.config.set_value(key, value)
        except FileError as problem:
            notes.append(f"not saved, holds until you leave: {problem}")
        self.theme = self._known_theme
        self._apply_keys()
        self._apply_animation()
        for screen in self.screen_stack:
            use_config = getattr(screen, "use_config", None)
            if use_config is not None:
                use_config(self.config)
        if find_setting(key).on_screen:
            notes += map(str, check_config(self.config))
        return display_text("; ".join(notes), newlines=True)

    def action_open_settings(self) -> None:
        from guardtui.tui.screens.settings import SettingsScreen

        self.push_screen(SettingsScreen(self.config, self.change_setting))

    def search_themes(self) -> None:
        """In place of Textual's own: the choice is written to the settings."""
        from guardtui.tui.screens.themes import ThemeScreen

        self.push_screen(ThemeScreen(self.config, self.change_setting))

    @property
    def _known_theme(self) -> str:
        return self.config.theme if self.config.theme in self.available_themes else DARK.name

    def _apply_keys(self) -> None:
        usable, _ = usable_keymap(self.config.keys)
        if usable != keymap_of(self):
            self.set_keymap(usable)

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
        """Say something in the area of messages, inert: problems quote what others wrote.

        It takes the place of what was said before, but an error stays until a key is pressed after
        it could be read.
        """
        said = SaidMessage(display_text(message, newlines=True), severity, display_text(title))
        self.said.add(said)
        more = f"… ({first_key('recent_messages', keymap_of(self))} shows all)"
        shown = shortened(said.line, self.size.width - _MARGIN, more)
        lasting = reading_time(shown)
        forget_notifications(self, keep_errors=severity != "error")
        if severity == "error":
            self._error_read_at = monotonic() + lasting
            timeout = _UNTIL_A_KEY
        super().notify(shown, severity=severity, timeout=max(timeout or 0, lasting), markup=False)

    async def on_event(self, event: Event) -> None:
        """Take an error that could be read away at the next key."""
        read_at = self._error_read_at
        if isinstance(event, Key) and read_at is not None and monotonic() >= read_at:
            self._error_read_at = None
            self.clear_notifications()
        await super().on_event(event)

    def action_recent_messages(self) -> None:
        """Show what was said last."""
        from guardtui.tui.screens.dialogs import TextPage

        self.clear_notifications()  # they would lie over the page that shows them
        self.push_screen(TextPage("Recent messages", messages_text(self.said.messages), "messages"))

    def action_show_help(self) -> None:
        """Help of what has the focus."""
        from guardtui.tui.screens.help import show_help

        show_help(self)

    def action_jump(self) -> None:
        """A letter on every place in sight of the screen in front."""
        from guardtui.tui.screens.jump import show_jump

        show_jump(self)

    def action_move_in_list(self, motion: Motion) -> None:
        """Move in the table, list or page that has the focus."""
        move(self.focused, motion)

    def get_key_display(self, binding: Binding) -> str:
        """A key as help, palette and documentation write it."""
        return key_name(binding.key)

    # --- leaving --------------------------------------------------------------------------

    def _leave(self, code: int) -> None:
        self.exit(return_code=code)

    # --- the palette ----------------------------------------------------------------------

    def action_command_palette(self) -> None:
        """Open the palette, unless it is open below another screen."""
        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            super().action_command_palette()

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """The widgets that do the actions of each scope, or of one action, by its full id."""
        targets: Mapping[str, Widget] = getattr(screen, "action_targets", {})
        return targets

    def call_on(self, target: DOMNode, name: str) -> str:
        """Return what has a widget do an action of the registry."""
        return name

    # --- the menu -------------------------------------------------------------------------

    def action_open_menu(self) -> None:
        """Open the menu over a screen that does actions of the registry; dialogs do none."""
        from guardtui.tui.screens.menu import MenuScreen

        targets, keymap = self.action_targets(self.screen), keymap_of(self)
        if not targets:
            return

        def run(action: Action, target: object) -> None:
            assert isinstance(target, Widget)  # noqa: S101 - they come from `action_targets`
            self.call_later(self.run_action, self.call_on(target, action.name), target)

        ids = binding_ids(action_named("open_menu"))
        keys = {key for id_ in ids for key in keymap.get(id_, default_keys()[id_]).split(",")}
        menu = MenuScreen(commands_of(targets, run, self.refusal_of), keymap, keys.__contains__)
        self.push_screen(menu, lambda command: command and command.run())

    def refusal_of(self, action: Action) -> str:
        """Return why an action cannot be done now; "" where it can."""
        return ""

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the registry under its one name and with its keys, then Textual's own."""
        targets = {"screen.screenshot": self, LISTS: self, **self.action_targets(screen)}
        for action in ACTIONS:
            target = targets.get(f"{action.scope}.{action.name}", targets.get(action.scope))
            if target is not None:
                run = partial(self.run_action, self.call_on(target, action.name), target)
                keys = key_names(action, keymap_of(self))
                yield SystemCommand(action.title, f"{action.tooltip}  ({keys})", run)
        for command in super().get_system_commands(screen):
            if command.title in ("Maximize", "Minimize"):
                yield command
