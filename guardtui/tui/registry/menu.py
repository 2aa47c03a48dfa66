"""The menu: a panel with the next keys; one letter runs an action or opens a submenu."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.menu_tree import Command, MenuItem, Path, menu_items, title_of

_KEYS = "a letter chooses · Esc closes"
_KEYS_BELOW = "a letter chooses · Backspace goes back · Esc closes"
_NARROWEST = 26  # cells of a column, its gap included
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
        self._lines = 1
        self._column = 1
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
        self._frame.border_subtitle = _KEYS_BELOW if path else _KEYS
        self._show_refusal("")
        self._draw()

    def _show_refusal(self, text: str) -> None:
        self._refusal.update(themed(Text(text, "bold $text-warning")))
        self._refusal.display = bool(text)

    def _draw(self) -> None:
        """Draw the lines in columns that are read from top to bottom."""
        room = max(_NARROWEST, self.app.size.width - 4)
        lines = [_line(item) for item in self._items]
        # Few columns leave room for the reason of a refusal.
        columns = max(1, min(-(-len(lines) // _HIGHEST), room // _NARROWEST))
        self._lines = count = -(-len(lines) // columns)
        self._column = room // columns
        text = Text()
        for row in range(count):
            for line in lines[row::count]:
                text.append_text(_in_cells(line, self._column))
            text.append("\n" if row < count - 1 else "")
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
        position = self._list.region.offset
        row, column = event.screen_y - position.y, (event.screen_x - position.x) // self._column
        index = column * self._lines + row
        if self._list.region.contains(event.screen_x, event.screen_y) and index < len(self._items):
            self._choose(self._items[index])


def _line(item: MenuItem) -> Text:
    if item.refusal:
        reason = item.refusal.rstrip(".")
        return Text().append(f"{item.display} {item.title} ({reason})", "$text-disabled")
    line = Text().append(f"{item.display} ", "bold $text-accent")
    return (
        line.append(f"{item.title} …", "bold") if item.action is None else line.append(item.title)
    )


def _in_cells(line: Text, cells: int) -> Text:
    """Return a line of exactly so many cells, the last one a blank; "…" marks a cut."""
    if line.cell_len < cells:
        line.append(" " * (cells - line.cell_len))
        return line
    cut = line.copy()
    cut.truncate(cells - 1, overflow="ellipsis")
    return cut.append(" " * (cells - cell_len(cut.plain)))
