"""The results table: draws only the rows in sight, so a million rows cost what a hundred do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from textual import events
from textual.binding import Binding, BindingType

from guardtui.tui.actions import TABLE, bindings
from guardtui.tui.widgets import table_messages
from guardtui.tui.widgets.table_columns import (
    NARROWEST,
    Column,
    Drag,
    Resizing,
    allowed_width,
    edge_at,
    resizing,
)
from guardtui.tui.widgets.table_cursor import CursorTable
from guardtui.tui.widgets.table_marks import Ids, Marks
from guardtui.tui.widgets.table_rows import SLICE_ROWS, Cell, RowIds, RowSource, ids_between
from guardtui.tui.widgets.table_text import cut_text

__all__ = ["SLICE_ROWS", "Cell", "Column", "FrameTable", "RowIds", "RowSource", "cut_text"]


class FrameTable(CursorTable, can_focus=True, inherit_bindings=False):
    """A virtual table with a row cursor: cost depends on the lines in sight, not on the rows.

    Cursor and marks are row *ids*: they follow their rows through sorting, filtering and
    re-evaluation; a mark also outlives a view without its row. Columns are resized by dragging
    the gap after them.
    """

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
    ] + bindings(TABLE)

    RowSelected: TypeAlias = table_messages.RowSelected
    RowActivated: TypeAlias = table_messages.RowActivated
    HeaderClicked: TypeAlias = table_messages.HeaderClicked
    ColumnResized: TypeAlias = table_messages.ColumnResized
    MarksChanged: TypeAlias = table_messages.MarksChanged

    # Of the class, as the first source arrives while the table is still being made.
    _anchor: int | None = None
    """The row that marking up to another one starts from; the cursor's when None."""
    _before: Marks | None = None
    """The marks before the extension under way; None when there is none."""

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
        super().__init__(
            columns,
            source=source,
            search_column=search_column,
            empty_text=empty_text,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        self._pressed_id: int | None = None
        self._drag: Drag | None = None
        self._dragged = False

    def _row_selected(self, row_id: int | None) -> None:
        self.post_message(self.RowSelected(self, row_id))

    def set_source(self, source: RowSource, *, keep_row: bool = True) -> None:
        self._before = None
        super().set_source(source, keep_row=keep_row)

    def _move_cursor(self, index: int, *, top: int | None = None) -> None:
        self._anchor = self._before = None
        super()._move_cursor(index, top=top)

    def action_activate_row(self) -> None:
        """Open the selected row."""
        row_id = self.cursor_row_id
        if row_id is not None:
            self.post_message(self.RowActivated(self, row_id))

    # -- marks --------------------------------------------------------------------------------

    @property
    def marked(self) -> frozenset[int]:
        """Ids of the marked rows, also of those not in this view.

        The first call after a change is slow when there are hundreds of thousands: see
        `marked_ids`, `mark_count` and `is_marked`.
        """
        return self._marks.frozen

    @property
    def marked_ids(self) -> Ids:
        """Ids of the marked rows, sorted, uint64 [n]; quick for any number of them."""
        return self._marks.ids

    @property
    def mark_count(self) -> int:
        """How many rows are marked."""
        return len(self._marks)

    def is_marked(self, row_id: int) -> bool:
        """Whether a row is marked."""
        return row_id in self._marks

    def mark_all(self) -> None:
        """Mark all rows of the present view, beside those marked already."""
        self._before = None
        self._set_marks(self._marks.with_ids(ids_between(self._source, 0, len(self._source))))

    def clear_marks(self) -> None:
        """Take all marks away."""
        self._anchor = self._before = None
        if len(self._marks):
            self._set_marks(Marks())

    def drop_marks(self, ids: Iterable[int]) -> None:
        """Take the marks of some rows away, such as of rows that are gone for good."""
        self._before = None
        self._set_marks(self._marks.without(ids))

    def _set_marks(self, marks: Marks) -> None:
        if marks is self._marks:
            return
        gutter_changes = (len(marks) > 0) != (len(self._marks) > 0)
        self._marks = marks
        if gutter_changes:
            self._repaint()
        else:
            # Lines whose row's mark is as it was are taken from what was drawn before.
            self.refresh()
        if self.is_running:
            self.post_message(self.MarksChanged(self, marks))

    def _toggle(self, row_id: int) -> None:
        known = row_id in self._marks
        self._set_marks(
            self._marks.without((row_id,)) if known else self._marks.with_ids((row_id,))
        )
        self._anchor, self._before = row_id, None

    def action_toggle_mark(self) -> None:
        """Mark the row or take its mark away, and select the row below."""
        row_id = self.cursor_row_id
        if row_id is not None:
            self._move_cursor(self._cursor_index + 1)
            self._toggle(row_id)

    def action_extend_up(self) -> None:
        """Mark the row and the one above, or take back what was marked downwards."""
        self._extend(self._cursor_index - 1, from_cursor=True)

    def action_extend_down(self) -> None:
        """Mark the row and the one below, or take back what was marked upwards."""
        self._extend(self._cursor_index + 1, from_cursor=True)

    def _extend(self, index: int, *, from_cursor: bool) -> None:
        """Mark from the anchor to a row; what the extension so far marked past it is undone."""
        if not len(self._source):
            return
        index = max(0, min(index, len(self._source) - 1))
        start = None if self._anchor is None else self._source.position_of(self._anchor)
        if start is None or self._before is None:
            self._before = self._marks
            if start is None or from_cursor:
                start = self._cursor_index
        elif index == self._cursor_index:
            return
        anchor, before = self._source.row_id(start), self._before
        self._move_cursor(index)
        first, last = sorted((start, index))
        self._set_marks(before.with_ids(ids_between(self._source, first, last + 1)))
        self._anchor, self._before = anchor, before

    # -- widths -------------------------------------------------------------------------------

    @property
    def column_widths(self) -> dict[str, int]:
        """Cells of the columns that were resized, by key."""
        return dict(self._widths)

    def set_column_widths(self, widths: Mapping[str, int]) -> None:
        """Give columns the widths of another time, and all others their own."""
        self._widths = {key: max(NARROWEST, width) for key, width in widths.items()}
        self._repaint()

    def widen_column(self, key: str, by: int) -> bool:
        """Make a column wider by some cells, or narrower; False when it stays as it is.

        A flexible column takes its cells from the fixed one after it. No column gets below
        2 cells, and no flexible one below 10.
        """
        target = resizing(self._frame().slots, key)
        if target is None:
            return False
        slot, direction = target
        changed = self._resize_column(slot.column.key, slot.width + direction * by)
        if changed:
            self._tell_width(slot.column.key)
        return changed

    def reset_column(self, key: str) -> bool:
        """Give a column its own width again; False when it has it."""
        if self._widths.pop(key, None) is None:
            return False
        self._repaint()
        self._tell_width(key)
        return True

    def _resize_column(self, key: str, wanted: int) -> bool:
        frame = self._frame()
        slot = next((slot for slot in frame.slots if slot.column.key == key), None)
        if slot is None:
            return False
        width = allowed_width(frame.slots, slot, wanted, self.scrollable_content_region.width)
        if width == slot.width:
            return False
        self._widths[key] = width
        self._repaint()
        return True

    def _tell_width(self, key: str) -> None:
        for column in self.columns:
            if column.key == key:
                width = self._widths.get(key, column.width)
                self.post_message(self.ColumnResized(self, key, width))

    # -- mouse --------------------------------------------------------------------------------

    def _edge_under(self, x: int) -> Resizing | None:
        """What the edge at a cell of the header resizes."""
        slots = self._frame().slots
        edge = edge_at(slots, x, self.scrollable_content_region.width)
        return None if edge is None else resizing(slots, edge.column.key)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = False
        offset = event.get_content_offset(self)
        if offset is None or offset.y or event.button != 1:
            return
        target = self._edge_under(offset.x)
        if target is not None:
            slot, direction = target
            self._drag = Drag(slot.column.key, direction, event.screen_offset.x, slot.width)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        drag = self._drag
        if drag is None:
            return
        moved = event.screen_offset.x - drag.pressed_x
        self._dragged = self._dragged or moved != 0
        self._resize_column(drag.key, drag.width + drag.direction * moved)

    def on_mouse_up(self) -> None:
        if self._drag is not None:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        drag, self._drag = self._drag, None
        if drag is not None and self._widths.get(drag.key, drag.width) != drag.width:
            self._tell_width(drag.key)

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
        target = self._edge_under(x)
        if target is not None:
            if event.chain == 2:
                self.reset_column(target.slot.column.key)
            return
        for slot in self._frame().slots:
            if slot.left <= x < slot.right and slot.column.sortable:
                self.post_message(self.HeaderClicked(self, slot.column.key))

    def _click_row(self, event: events.Click, index: int) -> None:
        if index >= len(self._source):
            return
        if event.shift:
            self._extend(index, from_cursor=False)
        else:
            self._move_cursor(index)
        if event.ctrl and not event.shift and self._cursor_id is not None:
            self._toggle(self._cursor_id)
        if event.ctrl or event.shift:
            self._pressed_id = None
            return
        # New rows may have arrived between the clicks: opened is only what was clicked twice.
        if event.chain == 2 and self._pressed_id == self._cursor_id:
            self.action_activate_row()
        self._pressed_id = self._cursor_id
