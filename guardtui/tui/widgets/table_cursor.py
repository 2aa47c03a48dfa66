"""The cursor of the results table: it follows its row when the rows change, and keys move it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Size
from textual.reactive import reactive
from textual.timer import Timer

from guardtui.tui.widgets import table_vim
from guardtui.tui.widgets.table_columns import Column
from guardtui.tui.widgets.table_rows import RowSource, held_top, nearest
from guardtui.tui.widgets.table_view import TableView


class CursorTable(TableView):
    """A drawn table whose cursor is a row *id*: it stays on it through sorting and filtering.

    The actions that move it are bound by `FrameTable`.
    """

    vim: reactive[bool] = reactive(False, init=False)
    """Whether the keys of `table_vim.MOTIONS` work too, with counts."""

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
            search_column=search_column,
            empty_text=empty_text,
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        # Outlives an empty view: a filter that matches nothing for one key stroke must not
        # lose the author's place.
        self._cursor_id: int | None = None
        self._announced: int | None = None
        self._body_before = 0
        self._vim_keys = table_vim.VimKeys()
        self._vim_timer: Timer | None = None
        self._given_back: list[str] = []
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
            index = nearest(old, source, self._cursor_index) if found is None else found
            if not len(old):
                new_top = index - height // 2
            elif top <= self._cursor_index < top + height:
                new_top = index - (self._cursor_index - top)
            else:
                new_top = held_top(old, source, top, height)
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
            self._row_selected(row_id)

    def _row_selected(self, row_id: int | None) -> None:
        """Called when the cursor stands on another row, or on none."""

    def on_mount(self) -> None:
        # super() has its own handler, which Textual calls as well.
        self._announce()

    def on_resize(self) -> None:
        top, index = self.scroll_offset.y, self._cursor_index
        if not self._body_before or top <= index < top + self._body_before:
            self._show_cursor(top)
        self._body_before = self._body_height
        self._repaint()

    # -- keys ---------------------------------------------------------------------------------

    def action_cursor_up(self) -> None:
        """Select the row above."""
        self._move_cursor(self._cursor_index - 1)

    def action_cursor_down(self) -> None:
        """Select the row below."""
        self._move_cursor(self._cursor_index + 1)

    def _move_lines(self, step: int) -> None:
        """Scroll by some lines; the cursor keeps its line of the screen."""
        self._move_cursor(self._cursor_index + step, top=self.scroll_offset.y + step)

    def action_page_up(self) -> None:
        """Select the row one screen above."""
        # One line of the old screen stays.
        self._move_lines(-max(1, self._body_height - 1))

    def action_page_down(self) -> None:
        """Select the row one screen below."""
        self._move_lines(max(1, self._body_height - 1))

    def action_first_row(self) -> None:
        """Select the first row."""
        self._move_cursor(0)

    def action_last_row(self) -> None:
        """Select the last row."""
        self._move_cursor(len(self._source) - 1)

    # -- keys of vim --------------------------------------------------------------------------

    def watch_vim(self) -> None:
        self._forget_keys()

    def on_blur(self) -> None:
        self._forget_keys()

    def _forget_keys(self) -> None:
        self._vim_keys.release()
        self._given_back.clear()
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._vim_timer is not None:
            self._vim_timer.stop()
            self._vim_timer = None

    def on_key(self, event: events.Key) -> None:
        if not self.vim:
            return
        if self._given_back[:1] == [event.key]:
            self._given_back.pop(0)
            return
        self._stop_waiting()
        answer = self._vim_keys.feed(event.key)
        if answer == "pass":
            digits = self._vim_keys.release()
            if not digits:
                return
            # Digits are keys of others too: they get them, and in the order they were pressed.
            self._give_back([*digits, event.key])
        elif answer == "wait":
            self._vim_timer = self.set_timer(table_vim.PAUSE, self._end_waiting)
        else:
            self._follow(answer)
        event.stop()

    def _end_waiting(self) -> None:
        self._vim_timer = None
        self._give_back(list(self._vim_keys.release()))

    def _give_back(self, keys: list[str]) -> None:
        for key in keys:
            self._given_back.append(key)
            self.app.simulate_key(key)

    def _follow(self, motion: table_vim.Motion) -> None:
        count = motion.count
        times = 1 if count is None else count
        half = max(1, self._body_height // 2) if count is None else count
        top = self.scroll_offset.y
        bottom = min(top + self._body_height, len(self._source)) - 1
        match motion.keys:
            case "j":
                self._move_cursor(self._cursor_index + times)
            case "k":
                self._move_cursor(self._cursor_index - times)
            case "ctrl+d":
                self._move_lines(half)
            case "ctrl+u":
                self._move_lines(-half)
            case "g g":
                self._move_cursor(times - 1)
            case "G":
                self._move_cursor(len(self._source) - 1 if count is None else count - 1)
            case "H":
                self._move_cursor(min(top + times - 1, bottom))
            case "M":
                self._move_cursor((top + bottom) // 2)
            case "L":
                self._move_cursor(max(bottom - times + 1, top))
