"""The drawing half of the results table: only the rows in sight are asked for and drawn."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.style import Style
from textual.cache import LRUCache
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from guardtui.domain.text import display_text
from guardtui.tui.widgets.table_columns import Column, Slot, place_columns
from guardtui.tui.widgets.table_marks import Marks
from guardtui.tui.widgets.table_rows import SLICE_ROWS, Cell, NoRows, RowSource
from guardtui.tui.widgets.table_text import Line, cut_text, find_hits

SLICES_KEPT = 16
STRIPS_KEPT = 512

_CURSOR_SIGN = "›"
_MARK_SIGN = "●"


class _Frame(NamedTuple):
    """What all lines of one picture share."""

    width: int
    gutter: int
    slots: tuple[Slot, ...]
    base: Style


class TableView(ScrollView):
    """Draws a source's rows with a header, a cursor and marks; moves and changes nothing itself.

    The header stays on the first line. There is no horizontal scrolling: a column of width 0
    takes the rest, cut text ends with "…", and on a narrow screen the last fixed columns are left
    out until the flexible one has 10 cells. While rows are marked the gutter has a second cell.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    TableView {
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
        & > .frame-table--marked {
            background: $boost;
            text-style: bold;
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
        "frame-table--marked",
        "frame-table--hit",
        "frame-table--fp",
        "frame-table--fn",
        "frame-table--regression",
        "frame-table--fix",
        "frame-table--dim",
        "frame-table--error",
    }

    columns: reactive[tuple[Column, ...]] = reactive((), init=False)
    """The columns, from left to right."""
    sort: reactive[tuple[str, bool] | None] = reactive(None, init=False)
    """Key of the column the rows are sorted by, and whether descending; the source does it."""
    search: reactive[tuple[str, ...]] = reactive((), init=False)
    """Texts marked, in any case, wherever they are seen in the search column."""
    empty_text: reactive[str] = reactive("", init=False)
    """What is drawn when there are no rows."""

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        search_column: str = "prompt",
        empty_text: str = "No rows",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._source: RowSource = NoRows()
        self._cursor_index = 0
        self._marks = Marks()
        self._widths: dict[str, int] = {}
        self._search_column = search_column
        self._pattern: re.Pattern[str] | None = None
        self._generation = 0
        self._picture: _Frame | None = None
        self._styles_known: dict[tuple[str, bool], Style] = {}
        self._hit: Style | None = None
        self._slices: LRUCache[int, list[tuple[Cell, ...]]] = LRUCache(SLICES_KEPT)
        self._strips: LRUCache[tuple[int, int, bool, bool, int], Strip] = LRUCache(STRIPS_KEPT)
        self.set_reactive(TableView.columns, tuple(columns))
        self.set_reactive(TableView.empty_text, empty_text)

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
        self._styles_known.clear()
        self._hit = None
        self._generation += 1
        self._picture = None

    # -- drawing ------------------------------------------------------------------------------

    def _frame(self) -> _Frame:
        if self._picture is None:
            gutter = min(2 if len(self._marks) else 1, self.size.width)
            self._picture = _Frame(
                self.size.width,
                gutter,
                place_columns(
                    self.columns, self.scrollable_content_region.width, gutter, self._widths
                ),
                self.rich_style,
            )
        return self._picture

    def _cell_style(self, name: str, marked: bool = False) -> Style:
        """The style of a cell class on a row without cursor; an unknown name is drawn plainly."""
        style = self._styles_known.get((name, marked))
        if style is None:
            style = self._frame().base
            if marked:
                style += self._component_overlay("frame-table--marked")
            component = f"frame-table--{name}"
            if name and component in self._component_styles:
                style += self._component_overlay(component)
            self._styles_known[name, marked] = style
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
        cursor = index == self._cursor_index
        marked = len(self._marks) > 0 and self._source.row_id(index) in self._marks
        key = (index, frame.width, cursor, marked, self._generation)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._draw_row(frame, index, cursor, marked)
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

    def _draw_row(self, frame: _Frame, index: int, cursor: bool, marked: bool) -> Strip:
        if cursor:
            base = self.get_component_rich_style("frame-table--cursor")
        else:
            base = self._cell_style("", marked)
        cells = self._row(index)
        line = Line()
        signs = (_CURSOR_SIGN if cursor else " ") + (_MARK_SIGN if marked else "")
        line.add(signs[: frame.gutter].ljust(frame.gutter), base)
        drawn = frame.gutter
        for slot in frame.slots:
            line.add(" " * (slot.left - drawn), base)
            drawn = slot.left + slot.width
            # Columns and source are set one after the other, and may differ for a moment.
            text, name = cells[slot.position] if slot.position < len(cells) else ("", "")
            shown, used = cut_text(text, slot.width)
            # On the cursor's row its own colours win: only they are sure to be readable.
            style = base if cursor else self._cell_style(name, marked)
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

    def _add_with_hits(self, line: Line, text: str, style: Style, pattern: re.Pattern[str]) -> None:
        if self._hit is None:
            self._hit = self._component_overlay("frame-table--hit")
        struck = style + self._hit
        done = 0
        for start, stop in find_hits(text, pattern):
            line.add(text[done:start], style)
            line.add(text[start:stop], struck)
            done = stop
        line.add(text[done:], style)

    def _draw_header(self, frame: _Frame) -> Strip:
        style = self.get_component_rich_style("frame-table--header")
        line = Line()
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
        room = frame.width - frame.gutter
        lines = textwrap.wrap(display_text(self.empty_text), room) if room > 0 else []
        if y >= len(lines):
            return Strip.blank(frame.width, frame.base)
        shown, used = cut_text(lines[y], room)
        line = Line()
        line.add(" " * frame.gutter, frame.base)
        line.add(shown, self._cell_style("dim"))
        line.add(" " * (room - used), frame.base)
        return line.strip(frame.width)
