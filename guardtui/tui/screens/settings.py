"""The settings screen: find a setting, read what it does, change it, see where it comes from."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from guardtui.config import SETTINGS, Config, Kind, Setting, Source, Value, find_setting
from guardtui.domain.text import display_start, display_text
from guardtui.tui.content import themed
from guardtui.tui.keymap import check_keymap
from guardtui.tui.modal import Modal
from guardtui.tui.screens.themes import Change, ThemeScreen
from guardtui.tui.widgets.line_input import LineInput

_TITLE = max(len(setting.title) for setting in SETTINGS) + 1
_SOURCE = max(len(source.value) for source in Source) + 1
_KEYS = "Enter changes · Del resets · Esc leaves"
_EDIT_KEYS = "Enter sets · Esc goes back"


class SettingsScreen(Modal[None]):
    """Every setting. A change holds at once and is written to the file."""

    BINDINGS = [
        ("escape", "leave", "Leave"),
        ("up", "move(-1)", "Setting above"),
        ("down", "move(1)", "Setting below"),
        ("space", "change", "Change"),
        ("delete", "reset", "Reset"),
    ]

    def __init__(self, config: Config, change: Change) -> None:
        super().__init__()
        self._config, self._change = config, change
        self._told_for: Setting | None = None
        self._search = LineInput(placeholder="Type to narrow the list", compact=True, id="find")
        self._list = OptionList(markup=False, compact=True, id="settings")
        self._text = Static("", id="about", markup=False)
        self._edit = LineInput(compact=True, id="edit")
        self._problem = Static("", id="setting-problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="settings") as frame:
            frame.border_title = "Settings"
            frame.border_subtitle = _KEYS
            yield self._search
            yield self._list
            yield self._text
            yield self._edit
            yield self._problem

    def on_mount(self) -> None:
        self._edit.display = False
        self._search.focus()
        self._show_list()

    @on(Resize)
    def resized(self) -> None:
        self._show_list()

    # --- what is shown --------------------------------------------------------------------

    @property
    def _shown(self) -> list[Setting]:
        words = self._search.value.casefold().split()
        return [one for one in SETTINGS if all(word in self._searched(one) for word in words)]

    def _searched(self, setting: Setting) -> str:
        parts = (setting.key, setting.title, setting.documentation, self._value(setting))
        return " ".join(parts).casefold()

    @property
    def _current(self) -> Setting | None:
        place = self._list.highlighted
        if place is None:
            return None
        return find_setting(self._list.get_option_at_index(place).id or "")

    def _value(self, setting: Setting) -> str:
        return setting.show(self._config.value(setting.key)) or "none"

    @on(Input.Changed, "#find")
    def narrowed(self) -> None:
        self._show_list()

    def _show_list(self) -> None:
        """The settings that the search lets through; the selected one stays selected."""
        current = self._current
        shown = self._shown
        # Borders, padding and scrollbar take the rest.
        room = max(self.size.width - _TITLE - _SOURCE - 8, 8)
        self._list.set_options(
            [Option(themed(self._line(setting, room)), id=setting.key) for setting in shown]
        )
        if shown:
            self._list.highlighted = shown.index(current) if current in shown else 0
        self._show_about()

    def _line(self, setting: Setting, room: int) -> Text:
        value = self._value(setting) + (f" {setting.unit}" if setting.unit else "")
        source = self._config.source(setting.key)
        text = Text(f"{setting.title:<{_TITLE}}")
        text.append(f"{display_start(value, room - 1):<{room}}", "bold")
        return text.append(
            source.value, "$text-muted" if source is Source.DEFAULT else "$text-accent"
        )

    @on(OptionList.OptionHighlighted)
    def highlighted(self) -> None:
        if self._current is not self._told_for:
            self._tell("")
        self._show_about()

    def _show_about(self) -> None:
        setting = self._current
        if setting is None:
            self._text.update(themed(Text("No setting is about that.", "$text-muted")))
            return
        config, source = self._config, self._config.source(setting.key)
        text = Text(f"{setting.documentation}\n")
        if setting.choices:
            text.append(f"One of: {', '.join(setting.choices)}. ")
        if setting.kind is Kind.NUMBER:
            text.append(f"From {setting.least} to {setting.most} {setting.unit}. ")
        text.append(f"Default: {setting.show(setting.default) or 'none'}. ", "$text-muted")
        if source is Source.FILE and (line := config.line(setting.key)) is not None:
            file = config.path.name if config.path else ""
            text.append(f"Set in {display_text(file)}, line {line}. ", "$text-muted")
        if source in (Source.ENVIRONMENT, Source.FLAG):
            cause = (
                f"{setting.variable} is set" if source is Source.ENVIRONMENT else "A flag says so"
            )
            text.append(f"! {cause}: the file does not win while that is so.", "bold $text-warning")
        self._text.update(themed(text))

    # --- changes --------------------------------------------------------------------------

    @on(Input.Submitted, "#find")
    @on(OptionList.OptionSelected)
    def action_change(self) -> None:
        setting = self._current
        if setting is None or self._edit.display:
            return
        value = self._config.value(setting.key)
        if setting.key == "theme":
            self.app.push_screen(ThemeScreen(self._config, self._change), self._theme_chosen)
        elif setting.kind is Kind.BOOL:
            self._set(setting, not value)
        elif setting.choices:
            following = setting.choices.index(str(value)) + 1
            self._set(setting, setting.choices[following % len(setting.choices)])
        else:
            self._begin_edit(setting)

    def _theme_chosen(self, _: None) -> None:
        self._show_list()

    def action_reset(self) -> None:
        setting = self._current
        if setting is not None and not self._edit.display:
            self._set(setting, None)

    def _set(self, setting: Setting, value: Value | None) -> None:
        note = self._change(setting.key, value)
        self._show_list()
        self._tell(note)

    def _tell(self, note: str) -> None:
        self._told_for = self._current
        text = Text(f"! {display_text(note, newlines=True)}", "$text-error") if note else Text()
        self._problem.update(themed(text))

    def _begin_edit(self, setting: Setting) -> None:
        self._edit.value = setting.show(self._config.value(setting.key))
        self._edit.placeholder = (
            "screen.keep=f13,ctrl+g; …" if setting.kind is Kind.KEYS else setting.kind.value
        )
        self._edit.display = True
        self._list.disabled = self._search.disabled = True  # one thing at a time
        self._edit.focus()
        self._frame.border_subtitle = _EDIT_KEYS

    @on(Input.Submitted, "#edit")
    def edited(self) -> None:
        setting = self._current
        if setting is None:
            return
        try:
            value = setting.parse(self._edit.value)
        except ValueError as error:
            self._tell(str(error))
            return
        if isinstance(value, dict) and (problems := check_keymap(value)):
            self._tell("\n".join(map(str, problems)))
            return
        self._end_edit()
        self._set(setting, value)

    def _end_edit(self) -> None:
        self._edit.display = False
        self._list.disabled = self._search.disabled = False
        self._list.focus()
        self._frame.border_subtitle = _KEYS
        self._tell("")

    @property
    def _frame(self) -> Vertical:
        return self.query_one(".settings", Vertical)

    # --- moving about ---------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """From the search line, too: the arrows move in the list."""
        if self._edit.display:
            return
        if step < 0:
            self._list.action_cursor_up()
        else:
            self._list.action_cursor_down()

    def action_leave(self) -> None:
        if self._edit.display:
            self._end_edit()
        else:
            self.dismiss(None)
