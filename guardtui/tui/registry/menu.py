"""The menu: a panel with the next keys; one letter runs an action or opens a submenu."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.actions import ACTIONS, MENU_GROUPS, Action, key_name, menu_path

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A line of a menu: a letter (a key of Textual) and its action, None for a submenu.

    `refusal` is why the action cannot run now; "" if it can.
    """

    letter: str
    title: str
    action: Action | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """An action of the menu; `refusal` is why it cannot run now, or ""."""

    action: Action
    run: Callable[[], object]
    refusal: str = ""


def menu_items(path: Path, commands: Iterable[Command]) -> list[MenuItem]:
    """Return the lines of the menu at a path, submenus first; () is the top menu."""
    paths = [(menu_path(command.action), command) for command in commands if command.action.menu]
    used = {letters[0] for letters, _ in paths}
    groups = [MenuItem(letter, title) for letter, title in MENU_GROUPS.items() if letter in used]
    return ([] if path else groups) + [
        MenuItem(letters[-1], command.action.title, command.action, command.refusal)
        for letters, command in paths
        if letters[:-1] == path and (path or letters[0] not in MENU_GROUPS)
    ]


def title_of(path: Path) -> str:
    """Return the title of the menu at a path."""
    return " › ".join(["Menu", *(MENU_GROUPS[letter] for letter in path)])


def commands_of(
    targets: Mapping[str, object],
    run: Callable[[Action, object], object],
    refusal: Callable[[str], str],
) -> list[Command]:
    """Return the actions of the menu that some widget handles.

    `targets` has the widgets by scope, or by the full id of one action.
    """
    pairs = [
        (action, targets.get(f"{action.scope}.{action.name}", targets.get(action.scope)))
        for action in ACTIONS
        if menu_path(action)
    ]
    return [
        Command(action, partial(run, action, target), refusal(action.name))
        for action, target in pairs
        if target is not None
    ]


_CHOOSES = "a letter chooses · "
_NOT_NOW = "(not now): its letter says why · "
_BELOW = "Backspace · "
_GAP = 2  # cells between two columns
_HIGHEST = 7  # lines of the panel, where the screen is wide enough


class MenuScreen(Modal[Command | None]):
    """Returns the chosen command, or None."""

    help_pane = "menu"

    def __init__(
        self,
        commands: Sequence[Command],
        opens: Callable[[str], bool],
    ) -> None:
        """`opens` returns whether a key is one of those that open the menu."""
        super().__init__()
        self._commands, self._opens = commands, opens
        self._path: Path = ()
        self._items: list[MenuItem] = []
        self._columns: list[tuple[int, list[MenuItem]]] = []
        self._list = Static("", id="menu-items")
        self._refusal = Static("", id="menu-refusal")
        self._frame = Vertical(VerticalScroll(self._list), self._refusal, id="menu")

    def compose(self) -> ComposeResult:
        yield self._frame

    def on_mount(self) -> None:
        self._go(())

    def on_resize(self) -> None:
        self._draw()

    # --- what is shown --------------------------------------------------------------------

    def _go(self, path: Path) -> None:
        self._path = path
        self._items = menu_items(path, self._commands)
        self._frame.border_title = title_of(path)
        refused = any(item.refusal for item in self._items)
        self._frame.border_subtitle = (
            f"{_NOT_NOW if refused else _CHOOSES}{_BELOW if path else ''}Esc"
        )
        self._show_refusal("")
        self._draw()

    def _show_refusal(self, text: str) -> None:
        self._refusal.update(themed(Text(text, "bold $text-warning")))
        self._refusal.display = bool(text)

    def _draw(self) -> None:
        """Draw the lines in columns that are read from top to bottom."""
        self._columns = _in_columns(self._items, self.app.size.width - 4)
        text = Text()
        for row in range(len(self._columns[0][1])):
            text.append("\n" if row else "")
            for cells, items in self._columns:
                line = _line(items[row]) if row < len(items) else Text()
                line.pad_right(cells - line.cell_len)
                text.append_text(line)
        self._list.update(themed(text))

    # --- keys -----------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape" or self._opens(event.key):
            self.dismiss(None)
        elif event.key == "backspace":
            self._go(self._path[:-1])
        elif event.key in ("up", "down"):
            self.query_one(VerticalScroll).scroll_relative(y=1 if event.key == "down" else -1)
        else:
            item = next((entry for entry in self._items if entry.letter == event.key), None)
            if item is None:
                shown = event.character if event.is_printable else event.key
                self._show_refusal(f"{shown} is not one of these keys.")
            else:
                self._choose(item)

    def _choose(self, item: MenuItem) -> None:
        if item.action is None:
            self._go((*self._path, item.letter))
        elif item.refusal:
            self._show_refusal(f"{item.title}: {item.refusal}")
        else:
            action = item.action
            self.dismiss(next(command for command in self._commands if command.action is action))

    def on_click(self, event: events.Click) -> None:
        """Choose with the mouse; a click beside the panel closes it."""
        if not self._frame.region.contains(event.screen_x, event.screen_y):
            self.dismiss(None)
            return
        if not self._list.region.contains(event.screen_x, event.screen_y):
            return
        left, row = self._list.region.x, event.screen_y - self._list.region.y
        for cells, items in self._columns:
            if left <= event.screen_x < left + cells and row < len(items):
                self._choose(items[row])
                return
            left += cells


def _in_columns(items: Sequence[MenuItem], room: int) -> list[tuple[int, list[MenuItem]]]:
    """Return columns of lines with their widths, at most `_HIGHEST` high where they have `room`."""
    for count in range(max(1, -(-len(items) // _HIGHEST)), 0, -1):
        height = max(1, -(-len(items) // count))
        columns = [list(items[start : start + height]) for start in range(0, len(items), height)]
        cells = [max(_line(item).cell_len for item in column) + _GAP for column in columns]
        if sum(cells) - _GAP <= room:
            break
    spare = max(0, room + _GAP - sum(cells)) // len(columns)
    return [(width + spare, column) for width, column in zip(cells, columns, strict=True)]


def _line(item: MenuItem) -> Text:
    if item.refusal:
        return Text(f"{key_name(item.letter)} ({item.title})", "$text-muted")
    line = Text().append(f"{key_name(item.letter)} ", "bold $text-accent")
    return (
        line.append(f"{item.title} …", "bold") if item.action is None else line.append(item.title)
    )
