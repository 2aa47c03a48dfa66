"""The base of the app: settings, themes, keys, help, palette, menu and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import Binding
from textual.command import CommandPalette
from textual.constants import TEXTUAL_ANIMATIONS
from textual.dom import DOMNode
from textual.events import Compose, Event, Key, Paste
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import MountError, Widget

from guardtui.config import Config, Value, find_setting
from guardtui.domain.text import display_text
from guardtui.files.problems import FileError
from guardtui.tui.kit.message_log import (
    LoggedMessage,
    MessageLog,
    messages_text,
    reading_time,
    shortened,
)
from guardtui.tui.registry.actions import (
    ACTIONS,
    LISTS,
    Action,
    action_named,
    binding_ids,
    bindings,
    first_key,
    key_name,
    key_names,
    menu_name,
)
from guardtui.tui.registry.keymap import check_config, default_keys, usable_keymap
from guardtui.tui.system.app_downloads import AppDownloads
from guardtui.tui.system.control_filter import ControlFilter
from guardtui.tui.system.keys_in_turn import KeysInTurn
from guardtui.tui.system.terminal import on_termination
from guardtui.tui.textual_compat import (
    add_line_filter,
    end_crashes_silently,
    forget_notifications,
    hash_rules_in_c,
    ignore_outdated_sizes,
    keymap_of,
    start_with_theme,
)
from guardtui.tui.theme import DARK, THEMES, readable_colors

if TYPE_CHECKING:
    from guardtui.tui.kit.list_motions import Motion

_MARGIN = 4
"""Cells at both sides of a message."""

_FRAMED = 36
"""Lines from which on the second line of the main screen is always a frame."""

_UNTIL_A_KEY = 24 * 3600.0
"""Seconds for which an error stays when no key is pressed."""

STYLED = (
    "kit", "registry", "help", "editor", "metrics", "detail", "results", "side", "prompts", "scan",
    "main", "topics", "settings", "guardrail", "advice", "threshold", "history", "export",
    "tour", "labels",
)  # fmt: skip
"""Folders with a style sheet of their name; of rules with equal weight the later one wins."""

_EVERYWHERE = ("show_help", "screenshot")


class BaseApp(AppDownloads):
    """An app without a main screen; subclasses provide it."""

    # Absolute: Textual looks beside the module of the subclass.
    CSS_PATH = [Path(__file__).parent / name / f"{name}.tcss" for name in STYLED]
    TITLE = "guardtui"
    # Here, and not on the main screen only, so that they work in dialogs too.
    BINDINGS = [
        *(action.binding for action in ACTIONS if action.name in _EVERYWHERE),
        *filter(None, [action_named("show_help").letter_binding]),
        *bindings(LISTS),
    ]

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()
        self.said = MessageLog()
        self._error_read_at: float | None = None
        self._error = ""
        self._typed = KeysInTurn(self, super().on_event, self._must_wait)
        add_line_filter(self, ControlFilter())
        ignore_outdated_sizes()
        hash_rules_in_c()
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
        on_termination(self._terminate)

    # --- settings -------------------------------------------------------------------------

    def get_css_variables(self) -> dict[str, str]:
        """Return the variables of the style sheets: those of the theme, made readable."""
        variables = super().get_css_variables()
        return variables | readable_colors(variables, dark=self.current_theme.dark)

    def change_setting(self, key: str, value: Value | None) -> str:
        """Set a setting, or reset it with None; apply and save it. Returns a note, or ""."""
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
        from guardtui.tui.settings.screen import SettingsScreen

        self.push_screen(SettingsScreen(self.config, self.change_setting))

    def search_themes(self) -> None:
        """Open our theme chooser instead of Textual's: it saves the choice to the settings."""
        from guardtui.tui.settings.themes import ThemeScreen

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
        """Show a message, made inert since problems quote text of others.

        It replaces the message before. An error stays until a key is pressed after there was time
        to read it.
        """
        logged = LoggedMessage(display_text(message, newlines=True), severity, display_text(title))
        self.said.add(logged)
        more = f"… ({first_key('recent_messages', keymap_of(self))} shows all)"
        # A second line covers a frame, but on a small screen or a page what must be read.
        rows = 1 if severity != "error" and self._is_full else 2
        shown = shortened(logged.line, self.size.width - _MARGIN, rows, more)
        lasting = reading_time(shown)
        forget_notifications(self, keep_errors=severity != "error")
        if severity == "error":
            self._error_read_at = monotonic() + lasting
            self._error = message
            timeout = _UNTIL_A_KEY
        super().notify(shown, severity=severity, timeout=max(timeout or 0, lasting), markup=False)

    def withdraw(self, message: str) -> None:
        """Remove an error that is still shown."""
        if self._error_read_at is not None and self._error == message:
            self._error_read_at = None
            self.clear_notifications()

    @property
    def _is_full(self) -> bool:
        """Return whether the second line of the screen must be read."""
        return len(self.screen_stack) > 1 or self.size.height < _FRAMED

    def _must_wait(self, event: Key | Paste) -> bool:
        must_wait: Callable[[Key | Paste], bool] | None = getattr(self.screen, "must_wait", None)
        return must_wait is not None and must_wait(event)

    def release_keys(self) -> None:
        """Forward the keys that the screen let wait."""
        self.call_later(self._typed.release)

    async def on_event(self, event: Event) -> None:
        """Forward keys in turn; the first after there was time to read an error removes it."""
        read_at = self._error_read_at
        if isinstance(event, Key) and read_at is not None and monotonic() >= read_at:
            self._error_read_at = None
            self.clear_notifications()
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            await self._typed.take(event)
            return
        try:
            await super().on_event(event)
        except MountError:
            # Textual mounts what the app composes, nothing here, also if it was left before that.
            if not isinstance(event, Compose) or self.screen.is_attached:
                raise

    def action_recent_messages(self) -> None:
        """Show the recent messages."""
        from guardtui.tui.kit.dialogs import TextPage

        self.clear_notifications()  # they would lie over the page that shows them
        self.push_screen(TextPage("Recent messages", messages_text(self.said.messages), "messages"))

    def action_show_help(self) -> None:
        """Show the help of the widget that has the focus."""
        from guardtui.tui.help.screen import show_help

        show_help(self)

    def action_move_in_list(self, motion: Motion) -> None:
        """Move in the table, list or page that has the focus."""
        from guardtui.tui.kit.list_motions import move

        move(self.focused, motion)

    def get_key_display(self, binding: Binding) -> str:
        """Return a key as help, palette and documentation write it."""
        return key_name(binding.key)

    # --- leaving --------------------------------------------------------------------------

    def _terminate(self, code: int) -> None:
        self.exit(return_code=code)

    # --- the palette ----------------------------------------------------------------------

    def action_command_palette(self) -> None:
        """Open the palette unless it is open already, perhaps below another screen."""
        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            super().action_command_palette()

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """Return the widgets that handle actions, by scope or by the full id of an action."""
        targets: Mapping[str, Widget] = getattr(screen, "action_targets", {})
        return targets

    def call_on(self, target: DOMNode, name: str) -> str:
        """Return the call that runs an action of the registry on a widget."""
        return name

    # --- the menu -------------------------------------------------------------------------

    def action_open_menu(self) -> None:
        """Open the menu over a screen with actions of the registry; dialogs have none."""
        from guardtui.tui.registry.menu import MenuScreen, commands_of

        targets, keymap = self.action_targets(self.screen), keymap_of(self)
        if not targets:
            return

        def run(action: Action, target: object) -> None:
            assert isinstance(target, Widget)  # noqa: S101 - they come from `action_targets`
            self.call_later(self.run_action, self.call_on(target, action.name), target)

        ids = binding_ids(action_named("open_menu"))
        keys = {key for id_ in ids for key in keymap.get(id_, default_keys()[id_]).split(",")}
        refusal: Callable[[str], str] = getattr(self.screen, "refusal_of", lambda name: "")
        menu = MenuScreen(commands_of(targets, run, refusal), keys.__contains__)
        self.push_screen(menu, lambda command: command and command.run())

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield every action of the registry with its keys, then Textual's own commands."""
        targets = {"screen.screenshot": self, LISTS: self, **self.action_targets(screen)}
        for action in ACTIONS:
            target = targets.get(f"{action.scope}.{action.name}", targets.get(action.scope))
            if target is not None:
                run = partial(self.run_action, self.call_on(target, action.name), target)
                keys = key_names(action, keymap_of(self)) or menu_name(action, keymap_of(self))
                yield SystemCommand(action.title, f"{action.tooltip}  ({keys})", run)
        for command in super().get_system_commands(screen):
            if command.title in ("Maximize", "Minimize"):
                yield command
