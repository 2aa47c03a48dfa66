"""The settings screen: search, description, value and source of every setting."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import Input
from textual.widgets.option_list import Option

from guardtui.config import SETTINGS, Config, Setting, SettingSource, Value, find_setting
from guardtui.domain.text import display_start, display_text
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.inert import OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.keymap import usable_keymap
from guardtui.tui.settings.themes import Change, ThemeScreen

_TITLE = max(len(setting.title) for setting in SETTINGS) + 1
_SOURCE = max(len(source.value) for source in SettingSource) + 1
_KEYS = "Enter changes · Del resets · Esc closes"
_EDIT_KEYS = "Enter sets · Esc goes back"


class SettingsScreen(Modal[None]):
    """All settings. A change is applied at once and written to the file."""

    BINDINGS = [
        ("escape", "leave", "Close"),
        ("up", "move('up')", "Setting above"),
        ("down", "move('down')", "Setting below"),
        # With priority: the search line would use these keys itself.
        *(
            Binding(key, f"move_far({motion!r})", "Move in the list", show=False, priority=True)
            for key, motion in (
                ("home", "first"),
                ("end", "last"),
                ("pageup", "page_up"),
                ("pagedown", "page_down"),
            )
        ),
        ("space", "change", "Change"),
        ("delete", "reset", "Reset"),
    ]

    def __init__(self, config: Config, change: Change) -> None:
        super().__init__()
        self._config, self._change = config, change
        self._note: tuple[Setting[Any] | None, str] = (None, "")
        self._search = LineInput(placeholder="Type to narrow the list", compact=True, id="find")
        self._list = OptionList(compact=True, id="settings")
        self._about = Static("", id="about")
        self._edit = LineInput(compact=True, id="edit")
        self._problem = Static("", id="setting-problem")
        parts = (self._search, self._list, self._about, self._edit, self._problem)
        self._frame = Vertical(*parts, classes="settings")

    def compose(self) -> ComposeResult:
        self._frame.border_title = "Settings"
        yield self._frame

    def on_mount(self) -> None:
        self._show_edit(False)
        self._search.focus()

    # --- what is shown --------------------------------------------------------------------

    def _selected(self) -> Setting[Any] | None:
        index = self._list.highlighted
        option = None if index is None else self._list.get_option_at_index(index)
        return find_setting(option.id) if option is not None and option.id else None

    def _value(self, setting: Setting[Any]) -> str:
        return setting.show(self._config.value(setting.key)) or "none"

    @on(Resize)
    @on(Input.Changed, "#find")
    def _show_list(self) -> None:
        """Show the settings that match the search; the selected one stays selected."""
        current, words = self._selected(), self._search.value.casefold().split()
        shown = []
        for setting in SETTINGS:
            parts = (setting.key, setting.title, setting.documentation, self._value(setting))
            if all(word in " ".join(parts).casefold() for word in words):
                shown.append(setting)
        self._list.set_options(Option(themed(self._line(entry)), id=entry.key) for entry in shown)
        if shown:
            self._list.highlighted = shown.index(current) if current in shown else 0
        self._show_about()

    def _line(self, setting: Setting[Any]) -> Text:
        # 8 cells for borders, padding and scrollbar.
        room = max(self.size.width - _TITLE - _SOURCE - 8, 8)
        source = self._config.source(setting.key)
        text = Text(f"{setting.title:<{_TITLE}}")
        value = display_start(f"{self._value(setting)} {setting.unit}".rstrip(), room - 1)
        text.append(f"{value:<{room}}", "bold")
        return text.append(
            source.value, "$text-muted" if source is SettingSource.DEFAULT else "$text-accent"
        )

    @on(OptionList.OptionHighlighted)
    def _show_about(self) -> None:
        setting = self._selected()
        text = Text("No setting matches.", "$text-muted")
        if setting is not None:
            source, line = self._config.source(setting.key), self._config.line(setting.key)
            text = Text(f"{setting.documentation}\n")
            if setting.choices or setting.most:
                text.append(f"Values: {setting.values}. ")
            text.append(f"Default: {setting.show(setting.default) or 'none'}. ", "$text-muted")
            if source is SettingSource.FILE and line is not None and self._config.path is not None:
                file = display_text(self._config.path.name)
                text.append(f"Set in {file}, line {line}. ", "$text-muted")
            if source in (SettingSource.ENVIRONMENT, SettingSource.FLAG):
                cause = (
                    f"{setting.variable} is" if source is SettingSource.ENVIRONMENT else "a flag is"
                )
                warning = f"! {cause} set: it overrides the file."
                text.append(warning, "bold $text-warning")
        self._about.update(themed(text))
        key, note = self._note
        shown = f"! {display_text(note, newlines=True)}" if note and key is setting else ""
        self._problem.update(themed(Text(shown, "$text-error")))

    # --- changes --------------------------------------------------------------------------

    @on(Input.Submitted, "#find")
    @on(OptionList.OptionSelected)
    def action_change(self) -> None:
        setting = self._selected()
        if setting is None or self._edit.display:
            return
        value = self._config.value(setting.key)
        if setting.key == Config.theme.key:
            chooser = ThemeScreen(self._config, self._change)
            self.app.push_screen(chooser, lambda _: self._show_list())
        elif setting.choices:
            index = setting.choices.index(str(value)) + 1
            self._set(setting, setting.choices[index % len(setting.choices)])
        else:
            self._edit.value = setting.show(value)
            self._edit.placeholder = f"{setting.values}, such as {setting.show(setting.default)}"
            self._show_edit(True)

    def action_reset(self) -> None:
        setting = self._selected()
        if setting is not None and not self._edit.display:
            self._set(setting, None)

    def _set(self, setting: Setting[Any], value: Value | None) -> None:
        self._show_note(setting, self._change(setting.key, value))
        self._show_list()

    def _show_note(self, setting: Setting[Any] | None, note: str) -> None:
        self._note = setting, note
        self._show_about()

    @on(Input.Submitted, "#edit")
    def _edited(self) -> None:
        setting = self._selected()
        if setting is None:
            return
        try:
            value = setting.parse(self._edit.value)
        except ValueError as error:
            self._show_note(setting, str(error))
            return
        if isinstance(value, dict) and (problems := usable_keymap(value)[1]):
            self._show_note(setting, "\n".join(map(str, problems)))
            return
        self._show_edit(False)
        self._set(setting, value)

    def _show_edit(self, shown: bool) -> None:
        self._edit.display = self._list.disabled = self._search.disabled = shown
        (self._edit if shown else self._list).focus()
        self._frame.border_subtitle = _EDIT_KEYS if shown else _KEYS

    def action_move(self, direction: str) -> None:
        """Move in the list, also from the search line."""
        if not self._edit.display:
            getattr(self._list, f"action_cursor_{direction}")()

    def action_move_far(self, motion: str) -> None:
        """Go to the first or last setting, or by a page, also from the search line."""
        getattr(self._list, f"action_{motion}")()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys of the list while a value is edited."""
        if action == "move_far":
            return not self._edit.display
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        if self._edit.display:
            self._show_edit(False)
            self._show_note(None, "")
        else:
            self.dismiss(None)
