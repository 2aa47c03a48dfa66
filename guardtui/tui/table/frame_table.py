"""The table of prompts: it draws only visible rows, so a million cost as little as a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from guardtui.tui.registry.actions import TABLE, TABLE_MOVES, bindings
from guardtui.tui.table import messages as table_messages
from guardtui.tui.table.columns import (
    PlacedColumn,
    TableColumn,
    Widths,
    place_columns,
    resized_at,
)
from guardtui.tui.table.marks import Ids, Marker, joined
from guardtui.tui.table.painter import COMPONENTS, TABLE_CSS, LineFrame, Painter
from guardtui.tui.table.rows import Cursor, NoRows, RowSource


class FrameTable(ScrollView, can_focus=True, inherit_bindings=False):
    """A virtual table with a row cursor; its cost depends on the visible lines, not on the rows.

    Cursor and marks are row *ids*: they follow their rows through sorting, filtering and
    re-evaluation; a mark also outlives a view without its row. Columns are resized by dragging
    the gap after them.

    The header stays on the first line. There is no horizontal scrolling: a column of width 0
    takes the rest, cut text ends with "…", and on a narrow screen fixed columns are left out until
    the flexible one has 10 cells. While rows are marked the gutter has a second cell.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*TABLE_MOVES, *bindings(TABLE)]

    RowSelected: TypeAlias = table_messages.RowSelected
    RowActivated: TypeAlias = table_messages.RowActivated
    HeaderClicked: TypeAlias = table_messages.HeaderClicked
    ColumnResized: TypeAlias = table_messages.ColumnResized
    MarksChanged: TypeAlias = table_messages.MarksChanged

    ALLOW_SELECT = False

    DEFAULT_CSS = TABLE_CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)

    columns: reactive[tuple[TableColumn, ...]] = reactive((), init=False)
    """The columns, from left to right; the cells of the next source must match them."""
    sort: reactive[tuple[str, bool] | None] = reactive(None, init=False)
    """Key of the column the rows are sorted by, and whether descending; the source sorts."""
    search: reactive[tuple[str, ...]] = reactive((), init=False)
    """Texts highlighted in the search column, in any case."""
    empty_text: reactive[str] = reactive("", init=False)
    """Text of an empty table."""

    def __init__(
        self,
        columns: Sequence[TableColumn] = (),
        *,
        source: RowSource | None = None,
        empty_text: str = "No rows",
        id: str | None = None,  # noqa: A002 - Textual's name for it
    ) -> None:
        super().__init__(id=id)
        self._source: RowSource = NoRows()
        self._cursor = Cursor()
        self._marker = Marker()
        self._painter = Painter(self)
        self._widths = Widths()
        self._picture: LineFrame | None = None
        self._announced: int | None = None
        self._height_before = 0
        self._pressed_id: int | None = None
        self._dragged = False
        self.set_reactive(FrameTable.columns, tuple(columns))
        self.set_reactive(FrameTable.empty_text, empty_text)
        if source is not None:
            self.set_source(source)

    # -- rows ---------------------------------------------------------------------------------

    @property
    def source(self) -> RowSource:
        """The snapshot that is drawn."""
        return self._source

    @property
    def cursor_row_id(self) -> int | None:
        """Id of the cursor's row; None in an empty table."""
        return self._cursor.row_id if len(self._source) else None

    def set_source(self, source: RowSource, *, keep_row: bool = True) -> None:
        """Draw another snapshot, at the next refresh and without touching the focus.

        With `keep_row` the cursor stays on its row, and that row on its line of the screen. If
        the row is gone, the nearest remaining row takes over. If the cursor was not visible, the
        first remaining line keeps its place instead.
        Without `keep_row` the table starts again at the top.
        """
        self._marker.end_range(keep_anchor=True)
        top = 0
        if keep_row:
            scrolled = self.scroll_offset.y
            top = self._cursor.follow(self._source, source, scrolled, self._body_height)
        else:
            self._cursor.restart(source)
        self._source = source
        self._painter.forget_rows()
        # The header is a line too, and has to be scrolled past.
        size = Size(0, len(source) + 1)
        if size != self.virtual_size:
            self.virtual_size = size
        self._scroll_to_row(top)
        self._repaint()
        self._announce()

    def select_row(self, row_id: int) -> bool:
        """Move the cursor to a row and show it; return False if the row is not in this view."""
        index = self._source.position_of(row_id)
        if index is None:
            return False
        self._move_cursor(index)
        return True

    # -- drawing ------------------------------------------------------------------------------

    @property
    def slots(self) -> tuple[PlacedColumn, ...]:
        """The columns that fit, with their offsets on the line."""
        return self._frame().slots

    def _frame(self) -> LineFrame:
        if self._picture is None:
            gutter = min(2 if self.mark_count else 1, self.size.width)
            width = self.scrollable_content_region.width
            slots = place_columns(self.columns, width, gutter, self._widths.by_key)
            self._picture = LineFrame(self.size.width, gutter, slots, self.rich_style)
        return self._picture

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the widget: the header, a row, or a blank."""
        frame = self._frame()
        if frame.width <= 0:
            return Strip.blank(0)
        if y == 0:
            return self._painter.header(frame, self.sort)
        source, index = self._source, self.scroll_offset.y + y - 1
        if not len(source):
            return self._painter.empty(frame, self.empty_text, y - 1)
        if index >= len(source):
            return Strip.blank(frame.width, frame.base)
        marked = self.mark_count > 0 and int(source.row_ids[index]) in self._marker
        return self._painter.row(frame, source, index, index == self._cursor.index, marked)

    def _repaint(self) -> None:
        """Discard all drawn lines; visible lines are drawn again."""
        self._painter.forget_lines()
        self._picture = None
        self.refresh()

    watch_columns = watch_sort = watch_empty_text = _repaint

    def watch_search(self, search: tuple[str, ...]) -> None:
        self._painter.search_for(search)
        self._repaint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._painter.forget_styles()
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
        """Put the cursor on a row, and end the range that is being marked."""
        self._marker.end_range()
        self._put_cursor(index, self.scroll_offset.y if top is None else top)

    def _put_cursor(self, index: int, top: int) -> None:
        """Put the cursor on a row and show it, scrolling as little as possible."""
        if not len(self._source):
            return
        before = self._cursor.index
        self._cursor.go(self._source, index)
        self._scroll_to_row(self._cursor.top_in_sight(top, self._body_height))
        # A scroll has marked everything already; otherwise two lines are all that changed.
        self.refresh_line(before + 1)
        self.refresh_line(self._cursor.index + 1)
        self._announce()

    def _announce(self) -> None:
        row_id = self.cursor_row_id
        if self.is_running and row_id != self._announced:
            self._announced = row_id
            self.post_message(self.RowSelected(self, row_id))

    def on_mount(self) -> None:
        self._announce()

    def on_resize(self) -> None:
        top, before = self.scroll_offset.y, self._height_before
        if not before or top <= self._cursor.index < top + before:
            self._scroll_to_row(self._cursor.top_in_sight(top, self._body_height))
        self._height_before = self._body_height
        self._repaint()

    def action_cursor_up(self) -> None:
        """Select the row above."""
        self._move_cursor(self._cursor.index - 1)

    def action_cursor_down(self) -> None:
        """Select the row below."""
        self._move_cursor(self._cursor.index + 1)

    def _move_lines(self, step: int) -> None:
        """Scroll by some lines; the cursor keeps its line of the screen."""
        self._move_cursor(self._cursor.index + step, top=self.scroll_offset.y + step)

    def action_page_up(self) -> None:
        """Select the row one screen above."""
        # One line of the old screen stays.
        self._move_lines(-max(1, self._body_height - 1))

    def action_page_down(self) -> None:
        """Select the row one screen below."""
        self._move_lines(max(1, self._body_height - 1))

    def move_half_page(self, direction: int) -> None:
        """Select the row half a screen below (1) or above (-1)."""
        self._move_lines(direction * max(1, self._body_height // 2))

    def action_first(self) -> None:
        """Select the first row."""
        self._move_cursor(0)

    def action_last(self) -> None:
        """Select the last row."""
        self._move_cursor(len(self._source) - 1)

    def action_activate_row(self) -> None:
        """Open the selected row."""
        row_id = self.cursor_row_id
        if row_id is not None:
            self.post_message(self.RowActivated(self, row_id))

    # -- marks --------------------------------------------------------------------------------

    @property
    def marked(self) -> Ids:
        """Ids of the marked rows, also outside of this view, sorted, uint64 [n]."""
        return self._marker.ids

    @property
    def mark_count(self) -> int:
        """Number of marked rows."""
        return len(self._marker.ids)

    def mark_all(self) -> None:
        """Mark all rows of the present view, beside those marked already."""
        self._marker.end_range(keep_anchor=True)
        self._set_marks(joined(self._marker.ids, self._source.row_ids))

    def clear_marks(self) -> None:
        """Remove all marks."""
        self._marker.end_range()
        self._set_marks(self._marker.ids[:0])

    def drop_marks(self, ids: Iterable[int]) -> None:
        """Remove the marks of some rows, such as deleted ones."""
        self._marker.end_range(keep_anchor=True)
        self._set_marks(self._marker.without(ids))

    def _set_marks(self, marks: Ids) -> None:
        if np.array_equal(marks, self._marker.ids):
            return
        gutter_changes = (len(marks) > 0) != (self.mark_count > 0)
        self._marker.ids = marks
        if gutter_changes:
            self._repaint()
        else:
            # Lines of rows with an unchanged mark are taken from the cache.
            self.refresh()
        if self.is_running:
            self.post_message(self.MarksChanged(self))

    def action_toggle_mark(self) -> None:
        """Mark or unmark the row, and select the row below."""
        row_id = self.cursor_row_id
        if row_id is not None:
            self._move_cursor(self._cursor.index + 1)
            self._set_marks(self._marker.toggled(row_id))

    def action_extend_up(self) -> None:
        """Mark the row and the row above, or shrink a range that was marked downwards."""
        self._extend(self._cursor.index - 1, from_cursor=True)

    def action_extend_down(self) -> None:
        """Mark the row and the row below, or shrink a range that was marked upwards."""
        self._extend(self._cursor.index + 1, from_cursor=True)

    def _extend(self, index: int, *, from_cursor: bool) -> None:
        """Mark from the anchor to a row."""
        if not len(self._source):
            return
        index = max(0, min(index, len(self._source) - 1))
        cursor = self._cursor.index
        marks = self._marker.extended(self._source, cursor, index, from_cursor=from_cursor)
        if marks is not None:
            self._put_cursor(index, self.scroll_offset.y)
            self._set_marks(marks)

    # -- widths -------------------------------------------------------------------------------

    def set_column_widths(self, widths: Mapping[str, int]) -> None:
        """Set the widths of resized columns; all others get their own."""
        self._widths.use(widths)
        self._repaint()

    def widen_column(self, key: str, by: int) -> bool:
        """Widen or narrow a column by some cells; return False if it does not change.

        A flexible column takes its cells from the next fixed one. No column gets narrower than
        2 cells, no flexible one narrower than 10.
        """
        changed = self._widths.widen(self.slots, key, by, self.scrollable_content_region.width)
        self._resized(changed)
        return changed is not None

    def reset_column(self, key: str) -> bool:
        """Give a column its own width again; False when it has it."""
        if not self._widths.reset(key):
            return False
        self._resized(key)
        return True

    def _resized(self, key: str | None) -> None:
        """Draw and announce the new width of a column; do nothing for None."""
        for column in self.columns:
            if column.key == key:
                self._repaint()
                width = self._widths.by_key.get(key, column.width)
                self.post_message(self.ColumnResized(self, key, width))

    # -- mouse --------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = False
        offset = event.get_content_offset(self)
        if offset is None or offset.y or event.button != 1:
            return
        width = self.scrollable_content_region.width
        if self._widths.press(self.slots, offset.x, event.screen_offset.x, width):
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if not self._widths.pressed:
            return
        width = self.scrollable_content_region.width
        moved, changed = self._widths.drag(self.slots, event.screen_offset.x, width)
        self._dragged = self._dragged or moved
        if changed:
            self._repaint()

    def on_mouse_up(self) -> None:
        if self._widths.pressed:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        self._resized(self._widths.release())

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        event.stop()
        if self._dragged:
            self._dragged = False
        elif offset.y == 0:
            self._click_header(event, offset.x)
        else:
            self._click_row(event, self.scroll_offset.y + offset.y - 1)

    def _click_header(self, event: events.Click, x: int) -> None:
        edge = resized_at(self.slots, x, self.scrollable_content_region.width)
        if edge is not None:
            if event.chain == 2:
                self.reset_column(edge.slot.column.key)
            return
        for slot in self.slots:
            if slot.left <= x < slot.right:
                self.post_message(self.HeaderClicked(self, slot.column.key))

    def _click_row(self, event: events.Click, index: int) -> None:
        if index >= len(self._source):
            return
        if event.shift:
            self._extend(index, from_cursor=False)
        else:
            self._move_cursor(index)
        row_id = self._cursor.row_id
        if event.ctrl and not event.shift and row_id is not None:
            self._set_marks(self._marker.toggled(row_id))
        if event.ctrl or event.shift:
            self._pressed_id = None
            return
        # New rows may have arrived between the clicks: both must be on the same row.
        if event.chain == 2 and self._pressed_id == row_id:
            self.action_activate_row()
        self._pressed_id = row_id
