"""The results table: draws only the rows in sight, so a million rows cost what a hundred do."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from guardtui.domain.text import display_start, display_text

Cell: TypeAlias = tuple[str, str]
"""Raw text, and the name of a style ("" for none): it is drawn as `frame-table--<name>`."""

SLICE_ROWS = 64
"""Rows asked of the source at once: about one screen, as each new source starts with one."""
SLICES_KEPT = 16
STRIPS_KEPT = 512

# A cell on the screen may take several characters (a letter and its accents); text past this
# many per cell is not looked at, so that a cell's cost is bound by its width.
_CHARACTERS_PER_CELL = 4
_FLEXIBLE_LEAST = 10
_NEIGHBOURS = 64
_GUTTER = 1
_CURSOR_SIGN = "›"


@dataclass(frozen=True)
class Column:
    """A column: `width` in cells, where 0 takes what the other columns leave."""

    key: str
    title: str
    width: int
    align: Literal["left", "right"] = "left"
    sortable: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for a negative width."""
        if self.width < 0:
            raise ValueError(f"column {self.key!r}: width must be 0 or more, got {self.width}")


class RowSource(Protocol):
    """What the table draws: an immutable snapshot of rows, each with a stable id."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def row_id(self, index: int) -> int:
        """The stable id of the row at a position, 0 ≤ index < len."""
        ...

    def position_of(self, row_id: int) -> int | None:
        """Where the row is, or None when it is not in this view."""
        ...

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Rows start … stop-1, one cell per column; at most `SLICE_ROWS` are asked for."""
        ...


class _NoRows:
    """The source before there is one."""

    def __len__(self) -> int:
        return 0

    def row_id(self, index: int) -> int:
        raise IndexError(index)

    def position_of(self, row_id: int) -> int | None:
        return None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        return []


class _Slot(NamedTuple):
    """A column's place on the line, in cells."""

    position: int
    column: Column
    left: int
    width: int


class _Frame(NamedTuple):
    """What all lines of one picture share."""

    width: int
    slots: tuple[_Slot, ...]
    base: Style


def cut_text(raw: str, width: int) -> tuple[str, int]:
    """The raw text made inert and cut to `width` cells ("…" at the end), and its cells (≤ width).

    A wide character that would be halved is left out. An accent with nothing under it gets "◌",
    so that it cannot attach itself to what is drawn before the cell.
    """
    if width <= 0:
        return "", 0
    shown = display_start(raw, width + 1)
    if shown.isascii():
        return (shown, len(shown)) if len(shown) <= width else (f"{shown[: width - 1]}…", width)
    looked_at = width * _CHARACTERS_PER_CELL + 1
    shown = display_start(raw, looked_at)
    spans, cells = split_graphemes(shown)
    if spans[0][2] == 0:
        shown = f"◌{shown}"
        spans, cells = split_graphemes(shown)
    if cells <= width and len(raw) <= looked_at:
        return shown, cells
    used = end = 0
    for _, stop, size in spans:
        if used + size > width - 1:
            break
        used += size
        end = stop
    return f"{shown[:end]}…", used + 1


def _hits(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the pattern occurs, widened to whole graphemes: half of one cannot be styled."""
    found = [match.span() for match in pattern.finditer(text)]
    if not found or text.isascii():
        yield from found
        return
    spans, _ = split_graphemes(text)
    done = 0
    for start, stop in found:
        start = max(done, max(left for left, _, _ in spans if left <= start))
        stop = min(right for _, right, _ in spans if right >= stop)
        if start < stop:
            yield start, stop
            done = stop


def _place_columns(columns: Sequence[Column], width: int) -> tuple[_Slot, ...]:
    """The columns that fit into `width` cells, gutter included; the last fixed ones give way."""
    kept = list(enumerate(columns))
    while True:
        flexible = sum(not column.width for _, column in kept)
        fixed = sum(column.width for _, column in kept)
        rest = width - _GUTTER - fixed - max(0, len(kept) - 1)
        droppable = [pair for pair in kept if pair[1].width]
        if not flexible or rest >= flexible * _FLEXIBLE_LEAST or not droppable:
            break
        kept.remove(droppable[-1])
    slots = []
    left = _GUTTER
    for position, column in kept:
        size = column.width
        if not size:
            size = max(0, rest) // flexible
            rest -= size
            flexible -= 1
        size = min(size, width - left)
        if size <= 0:
            break
        slots.append(_Slot(position, column, left, size))
        left += size + 1
    return tuple(slots)


class _Line:
    """A line under construction; neighbouring text of one style becomes one segment."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._texts: list[str] = []
        self._style: Style | None = None

    def add(self, text: str, style: Style) -> None:
        if not text:
            return
        if style is not self._style:
            self._flush()
            self._style = style
        self._texts.append(text)

    def _flush(self) -> None:
        if self._texts:
            self.segments.append(Segment("".join(self._texts), self._style))
            self._texts.clear()

    def strip(self, width: int) -> Strip:
        self._flush()
        return Strip(self.segments, width)


class FrameTable(ScrollView, can_focus=True, inherit_bindings=False):
    """A virtual table with a row cursor: cost depends on the lines in sight, not on the rows.

    The header stays on the first line. The cursor is a row *id*: it follows its row through
    sorting, filtering and re-evaluation. There is no horizontal scrolling: a column of width 0
    takes the rest, cut text ends with "…", and on a narrow screen the last fixed columns are left
    out until the flexible one has 10 cells.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    FrameTable {
        width: 1fr;
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        color: $foreground;
        background: $surface;
        & > .frame-table--header {
            color: $foreground;
            background: $panel;
            text-style: bold;
        }
        & > .frame-table--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
            text-style: $block-cursor-blurred-text-style;
        }
        &:focus > .frame-table--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
        & > .frame-table--hit {
            color: $text-warning;
            text-style: bold underline reverse;
        }
        & > .frame-table--fp { color: $text-error; }
        & > .frame-table--fn { color: $text-warning; }
        & > .frame-table--regression { color: $text-error; text-style: bold; }
        & > .frame-table--fix { color: $text-success; }
        & > .frame-table--dim { color: $foreground 60%; }
        & > .frame-table--error { color: $text-error; text-style: italic; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--header",
        "frame-table--cursor",
        "frame-table--hit",
        "frame-table--fp",
        "frame-table--fn",
        "frame-table--regression",
        "frame-table--fix",
        "frame-table--dim",
        "frame-table--error",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            key,
            action,
            description,
            show=False,
            tooltip=tooltip,
            id=f"table.{action}",
        )
        for key, action, description, tooltip in (
            ("up", "cursor_up", "Row up", "Select the row above"),
            ("down", "cursor_down", "Row down", "Select the row below"),
            ("pageup", "page_up", "Page up", "Select the row one screen above"),
            ("pagedown", "page_down", "Page down", "Select the row one screen below"),
            ("home", "first_row", "First row", "Select the first row"),
            ("end", "last_row", "Last row", "Select the last row"),
            ("enter", "activate_row", "Open row", "Open the selected row"),
        )
    ]

    columns: reactive[tuple[Column, ...]] = reactive((), init=False)
    """The columns, from left to right."""
    sort: reactive[tuple[str, bool] | None] = reactive(None, init=False)
    """Key of the column the rows are sorted by, and whether descending; the source does it."""
    search: reactive[tuple[str, ...]] = reactive((), init=False)
    """Texts marked, in any case, wherever they are seen in the search column."""
    empty_text: reactive[str] = reactive("", init=False)
    """What is drawn when there are no rows."""

    class RowSelected(Message):
        """The cursor stands on another row; `row_id` is None when there is no row left."""

        def __init__(self, table: FrameTable, row_id: int | None) -> None:
            super().__init__()
            self.table = table
            self.row_id = row_id

        @property
        def control(self) -> FrameTable:
            """The table, for the selector of `@on`."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Only the newest selection counts: a held key must not queue up work."""
            return isinstance(message, FrameTable.RowSelected) and message.table is self.table

    class RowActivated(Message):
        """The row was opened with Enter or a double click."""

        def __init__(self, table: FrameTable, row_id: int) -> None:
            super().__init__()
            self.table = table
            self.row_id = row_id

        @property
        def control(self) -> FrameTable:
            """The table, for the selector of `@on`."""
            return self.table

    class HeaderClicked(Message):
        """The header of a sortable column was clicked."""

        def __init__(self, table: FrameTable, column_key: str) -> None:
            super().__init__()
            self.table = table
            self.column_key = column_key

        @property
        def control(self) -> FrameTable:
            """The table, for the selector of `@on`."""
            return self.table

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        source: RowSource | None = None,
        search_column: str = "prompt",
        empty_text: str = "No rows",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._source: RowSource = _NoRows()
        self._search_column = search_column
        self._pattern: re.Pattern[str] | None = None
        self._cursor_index = 0
        # Outlives an empty view: a filter that matches nothing for one key stroke must not
        # lose the author's place.
        self._cursor_id: int | None = None
        self._announced: int | None = None
        self._pressed_id: int | None = None
        self._body_before = 0
        self._generation = 0
        self._picture: _Frame | None = None
        self._cell_styles: dict[str, Style] = {}
        self._hit: Style | None = None
        self._slices: LRUCache[int, list[tuple[Cell, ...]]] = LRUCache(SLICES_KEPT)
        self._strips: LRUCache[tuple[int, int, bool, int], Strip] = LRUCache(STRIPS_KEPT)
        self.set_reactive(FrameTable.columns, tuple(columns))
        self.set_reactive(FrameTable.empty_text, empty_text)
        if source is not None:
            self.set_source(source)

    # -- what is shown ------------------------------------------------------------------------

    @property
    def source(self) -> RowSource:
        """The snapshot that is drawn."""
        return self._source

    @property
    def row_count(self) -> int:
        """Rows in the snapshot."""
        return len(self._source)

    @property
    def cursor_index(self) -> int | None:
        """The position of the cursor's row, or None when there are no rows."""
        return self._cursor_index if len(self._source) else None

    @property
    def cursor_row_id(self) -> int | None:
        """The id of the cursor's row, or None when there are no rows."""
        return self._cursor_id if len(self._source) else None

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns; the next source's cells must match them."""
        self.columns = tuple(columns)

    def set_source(self, source: RowSource, *, keep_row: bool = True) -> None:
        """Draw another snapshot, at the next refresh and without touching the focus.

        With `keep_row` the cursor stays on its row, and that row on its line of the screen. When
        the row is gone the nearest one that is still there takes over. When the cursor was
        scrolled out of sight, the first line that survives holds the picture still instead.
        Without `keep_row` the table starts again at the top.
        """
        old, top = self._source, self.scroll_offset.y
        index = 0
        new_top = 0
        if keep_row and self._cursor_id is not None:
            height = self._body_height
            found = source.position_of(self._cursor_id)
            index = _nearest(old, source, self._cursor_index) if found is None else found
            if not len(old):
                new_top = index - height // 2
            elif top <= self._cursor_index < top + height:
                new_top = index - (self._cursor_index - top)
            else:
                new_top = _held_top(old, source, top, height)
        self._source = source
        self._slices.clear()
        # The header is a line too, and has to be scrolled past.
        size = Size(0, len(source) + 1)
        if size != self.virtual_size:
            self.virtual_size = size
        self._cursor_index = index
        if len(source):
            self._cursor_id = source.row_id(index)
        self._scroll_to_row(new_top)
        self._repaint()
        self._announce()

    def select_row(self, row_id: int) -> bool:
        """Move the cursor to a row and into sight; False when the row is not in this view."""
        index = self._source.position_of(row_id)
        if index is None:
            return False
        self._move_cursor(index)
        return True

    def _repaint(self) -> None:
        """Forget what was drawn; lines are drawn again when they are next seen."""
        self._generation += 1
        self._picture = None
        self.refresh()

    def watch_columns(self) -> None:
        self._repaint()

    def watch_sort(self) -> None:
        self._repaint()

    def watch_empty_text(self) -> None:
        self._repaint()

    def watch_search(self, search: tuple[str, ...]) -> None:
        # IGNORECASE, not lower(): positions must be those of the text that is drawn. The longest
        # comes first, so that a word inside of it does not cut it short.
        needles = sorted(filter(None, map(display_text, search)), key=len, reverse=True)
        pattern = "|".join(map(re.escape, needles))
        self._pattern = re.compile(pattern, re.IGNORECASE) if pattern else None
        self._repaint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._cell_styles.clear()
        self._hit = None
        self._generation += 1
        self._picture = None

    # -- cursor and scrolling -----------------------------------------------------------------

    @property
    def _body_height(self) -> int:
        """Lines under the header, at least 1."""
        return max(1, self.scrollable_content_region.height - 1)

    def _scroll_to_row(self, top: int) -> None:
        if self.is_running and top != self.scroll_y:
            # Clamped by Textual; without animation, as every frame of it would be a repaint.
            self.scroll_to(y=top, animate=False, force=True)

    def _move_cursor(self, index: int, *, top: int | None = None) -> None:
        """Put the cursor on a row and the row into sight, scrolling as little as possible."""
        count = len(self._source)
        if not count:
            return
        before = self._cursor_index
        index = max(0, min(index, count - 1))
        self._cursor_index = index
        self._cursor_id = self._source.row_id(index)
        self._show_cursor(self.scroll_offset.y if top is None else top)
        # A scroll has marked everything already; otherwise two lines are all that changed.
        self.refresh_line(before + 1)
        self.refresh_line(index + 1)
        self._announce()

    def _show_cursor(self, top: int) -> None:
        index = self._cursor_index
        self._scroll_to_row(max(0, min(max(top, index - self._body_height + 1), index)))

    def _announce(self) -> None:
        row_id = self.cursor_row_id
        if self.is_running and row_id != self._announced:
            self._announced = row_id
            self.post_message(self.RowSelected(self, row_id))

    def on_mount(self) -> None:
        # super() has its own handler, which Textual calls as well.
        self._announce()

    def on_resize(self) -> None:
        top, index = self.scroll_offset.y, self._cursor_index
        if not self._body_before or top <= index < top + self._body_before:
            self._show_cursor(top)
        self._body_before = self._body_height
        self._repaint()

    def action_cursor_up(self) -> None:
        """Select the row above."""
        self._move_cursor(self._cursor_index - 1)

    def action_cursor_down(self) -> None:
        """Select the row below."""
        self._move_cursor(self._cursor_index + 1)

    def _move_page(self, pages: int) -> None:
        # One line of the old screen stays, and the cursor keeps its line.
        step = pages * max(1, self._body_height - 1)
        self._move_cursor(self._cursor_index + step, top=self.scroll_offset.y + step)

    def action_page_up(self) -> None:
        """Select the row one screen above."""
        self._move_page(-1)

    def action_page_down(self) -> None:
        """Select the row one screen below."""
        self._move_page(1)

    def action_first_row(self) -> None:
        """Select the first row."""
        self._move_cursor(0)

    def action_last_row(self) -> None:
        """Select the last row."""
        self._move_cursor(len(self._source) - 1)

    def action_activate_row(self) -> None:
        """Open the selected row."""
        row_id = self.cursor_row_id
        if row_id is not None:
            self.post_message(self.RowActivated(self, row_id))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        event.stop()
        if offset.y == 0:
            for slot in self._frame().slots:
                if slot.left <= offset.x < slot.left + slot.width and slot.column.sortable:
                    self.post_message(self.HeaderClicked(self, slot.column.key))
            return
        index = self.scroll_offset.y + offset.y - 1
        if index >= len(self._source):
            return
        self._move_cursor(index)
        # New rows may have arrived between the clicks: opened is only what was clicked twice.
        if event.chain == 2 and self._pressed_id == self._cursor_id:
            self.action_activate_row()
        self._pressed_id = self._cursor_id

    # -- drawing ------------------------------------------------------------------------------

    def _frame(self) -> _Frame:
        if self._picture is None:
            self._picture = _Frame(
                self.size.width,
                _place_columns(self.columns, self.scrollable_content_region.width),
                self.rich_style,
            )
        return self._picture

    def _cell_style(self, name: str) -> Style:
        """The style of a cell class on an ordinary row; an unknown name is drawn plainly."""
        style = self._cell_styles.get(name)
        if style is None:
            style = self._frame().base
            component = f"frame-table--{name}"
            if name and component in self._component_styles:
                style += self._component_overlay(component)
            self._cell_styles[name] = style
        return style

    def _component_overlay(self, component: str) -> Style:
        """Only what the stylesheet says of a component, colours already blended."""
        partial = self.get_component_rich_style(component, partial=True)
        full = self.get_component_rich_style(component)
        return partial + Style.from_color(
            full.color if partial.color else None, full.bgcolor if partial.bgcolor else None
        )

    def render_line(self, y: int) -> Strip:
        """Line `y` of what is in sight: the header, a row, or a blank."""
        frame = self._frame()
        if frame.width <= 0:
            return Strip.blank(0)
        if y == 0:
            return self._draw_header(frame)
        index = self.scroll_offset.y + y - 1
        if not len(self._source):
            return self._draw_empty(frame, y - 1)
        if index >= len(self._source):
            return Strip.blank(frame.width, frame.base)
        key = (index, frame.width, index == self._cursor_index, self._generation)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._draw_row(frame, index, index == self._cursor_index)
            self._strips.set(key, strip)
        return strip

    def _row(self, index: int) -> tuple[Cell, ...]:
        block, line = divmod(index, SLICE_ROWS)
        rows = self._slices.get(block)
        if rows is None:
            start = block * SLICE_ROWS
            rows = self._source.cells(start, min(start + SLICE_ROWS, len(self._source)))
            self._slices.set(block, rows)
        return rows[line]

    def _draw_row(self, frame: _Frame, index: int, cursor: bool) -> Strip:
        base = self.get_component_rich_style("frame-table--cursor") if cursor else frame.base
        cells = self._row(index)
        line = _Line()
        line.add(_CURSOR_SIGN if cursor else " ", base)
        drawn = _GUTTER
        for slot in frame.slots:
            line.add(" " * (slot.left - drawn), base)
            drawn = slot.left + slot.width
            # Columns and source are set one after the other, and may differ for a moment.
            text, name = cells[slot.position] if slot.position < len(cells) else ("", "")
            shown, used = cut_text(text, slot.width)
            # On the cursor's row its own colours win: only they are sure to be readable.
            style = base if cursor else self._cell_style(name)
            blank = " " * (slot.width - used)
            if slot.column.align == "right":
                line.add(blank, base)
            if self._pattern is not None and slot.column.key == self._search_column:
                self._add_with_hits(line, shown, style, self._pattern)
            else:
                line.add(shown, style)
            if slot.column.align == "left":
                line.add(blank, base)
        line.add(" " * (frame.width - drawn), base)
        return line.strip(frame.width)

    def _add_with_hits(
        self, line: _Line, text: str, style: Style, pattern: re.Pattern[str]
    ) -> None:
        if self._hit is None:
            self._hit = self._component_overlay("frame-table--hit")
        marked = style + self._hit
        done = 0
        for start, stop in _hits(text, pattern):
            line.add(text[done:start], style)
            line.add(text[start:stop], marked)
            done = stop
        line.add(text[done:], style)

    def _draw_header(self, frame: _Frame) -> Strip:
        style = self.get_component_rich_style("frame-table--header")
        line = _Line()
        drawn = 0
        for slot in frame.slots:
            marker = ""
            if self.sort is not None and self.sort[0] == slot.column.key:
                marker = "▼" if self.sort[1] else "▲"
            # The marker stays when the title has no room: it is the state, the title is not.
            room = slot.width - len(marker)
            title, used = cut_text(slot.column.title, room)
            if marker and used < room:
                title, used = f"{title} ", used + 1
            blank = " " * (room - used)
            line.add(" " * (slot.left - drawn), style)
            if slot.column.align == "right":
                line.add(f"{blank}{title}{marker}", style)
            else:
                line.add(f"{title}{marker}{blank}", style)
            drawn = slot.left + slot.width
        line.add(" " * (frame.width - drawn), style)
        return line.strip(frame.width)

    def _draw_empty(self, frame: _Frame, y: int) -> Strip:
        room = frame.width - _GUTTER
        lines = textwrap.wrap(display_text(self.empty_text), room) if room > 0 else []
        if y >= len(lines):
            return Strip.blank(frame.width, frame.base)
        shown, used = cut_text(lines[y], room)
        line = _Line()
        line.add(" " * _GUTTER, frame.base)
        line.add(shown, self._cell_style("dim"))
        line.add(" " * (room - used), frame.base)
        return line.strip(frame.width)


def _nearest(old: RowSource, new: RowSource, position: int) -> int:
    """Where the closest surviving neighbour of a vanished row is: the next one, if both are close.

    When none of its neighbours survives, the same position, or the last one.
    """
    for distance in range(1, _NEIGHBOURS + 1):
        for index in (position + distance, position - distance):
            if 0 <= index < len(old):
                found = new.position_of(old.row_id(index))
                if found is not None:
                    return found
    return max(0, min(position, len(new) - 1))


def _held_top(old: RowSource, new: RowSource, top: int, height: int) -> int:
    """The first line to show so that the first visible row that survives stays on its line."""
    for index in range(top, min(top + height, len(old))):
        found = new.position_of(old.row_id(index))
        if found is not None:
            return found - (index - top)
    return top
