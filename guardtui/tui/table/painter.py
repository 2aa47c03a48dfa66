"""Drawing the lines of the table: header, rows, and the text of an empty table."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip
from textual.widget import Widget

from guardtui.domain.text import display_text
from guardtui.tui.table.columns import PlacedColumn
from guardtui.tui.table.rows import SLICE_ROWS, Cell, RowSource
from guardtui.tui.table.text import LineBuilder, cut_text, find_hits

SLICES_KEPT = 16
STRIPS_KEPT = 512

SEARCHED = "prompt"
"""Key of the column in which searched texts are highlighted."""

TABLE_CSS = """
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
    & > .frame-table--dim { color: $foreground-muted; }
    & > .frame-table--error { color: $text-error; text-style: italic; }
}
"""

COMPONENTS = tuple(
    f"frame-table--{name}"
    for name in (
        "header",
        "cursor",
        "marked",
        "hit",
        "fp",
        "fn",
        "regression",
        "fix",
        "dim",
        "error",
    )
)
"""Component classes of the style sheet; the names of cell styles are among them."""

_CURSOR_SIGN = "›"
_MARK_SIGN = "●"


class LineFrame(NamedTuple):
    """Layout shared by all lines: widths in cells, columns with offsets, base style."""

    width: int
    gutter: int
    slots: tuple[PlacedColumn, ...]
    base: Style


class Painter:
    """Draws lines in the styles of a widget, and caches rows and lines.

    Component styles of the widget are named `frame-table--<name>`.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._pattern: re.Pattern[str] | None = None
        self._generation = 0
        self._styles: dict[tuple[str, bool], Style] = {}
        self._hit: Style | None = None
        self._slices: LRUCache[int, list[tuple[Cell, ...]]] = LRUCache(SLICES_KEPT)
        self._strips: LRUCache[tuple[int, int, bool, bool, int], Strip] = LRUCache(STRIPS_KEPT)

    # -- invalidation -------------------------------------------------------------------------

    def forget_lines(self) -> None:
        """Draw every line again when it is next visible."""
        self._generation += 1

    def forget_rows(self) -> None:
        """Discard the rows of the source before."""
        self._slices.clear()
        self.forget_lines()

    def forget_styles(self) -> None:
        """Read the style sheet again."""
        self._styles.clear()
        self._hit = None
        self.forget_lines()

    def search_for(self, texts: Sequence[str]) -> None:
        """Highlight these texts in the search column, in any case."""
        # IGNORECASE, not lower(): positions must be those of the drawn text. The longest comes
        # first, so that a word within it does not match instead.
        needles = sorted(filter(None, map(display_text, texts)), key=len, reverse=True)
        pattern = "|".join(map(re.escape, needles))
        self._pattern = re.compile(pattern, re.IGNORECASE) if pattern else None

    # -- lines --------------------------------------------------------------------------------

    def row(
        self, frame: LineFrame, source: RowSource, index: int, cursor: bool, marked: bool
    ) -> Strip:
        """Return the line of a row, drawn at most once in this state."""
        key = (index, frame.width, cursor, marked, self._generation)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._draw_row(frame, self._cells(source, index), cursor, marked)
            self._strips.set(key, strip)
        return strip

    def header(self, frame: LineFrame, sort: tuple[str, bool] | None) -> Strip:
        """Return the line of titles, with ↑ or ↓ after that of the sorted column, if it has one."""
        style = self._widget.get_component_rich_style("frame-table--header")
        line = LineBuilder()
        drawn = 0
        for slot in frame.slots:
            marker = ""
            if sort is not None and sort[0] == slot.column.key and slot.column.title:
                marker = "↓" if sort[1] else "↑"
            # The marker is kept if the title does not fit: it shows the state.
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

    def empty(self, frame: LineFrame, text: str, y: int) -> Strip:
        """Return line `y` of a text that stands in for rows."""
        room = frame.width - frame.gutter
        lines = textwrap.wrap(display_text(text), room) if room > 0 else []
        if y >= len(lines):
            return Strip.blank(frame.width, frame.base)
        shown, used = cut_text(lines[y], room)
        line = LineBuilder()
        line.add(" " * frame.gutter, frame.base)
        line.add(shown, self._cell_style(frame, "dim"))
        line.add(" " * (room - used), frame.base)
        return line.strip(frame.width)

    def _cells(self, source: RowSource, index: int) -> tuple[Cell, ...]:
        block, line = divmod(index, SLICE_ROWS)
        rows = self._slices.get(block)
        if rows is None:
            start = block * SLICE_ROWS
            rows = source.cells(start, min(start + SLICE_ROWS, len(source)))
            self._slices.set(block, rows)
        return rows[line]

    def _draw_row(
        self, frame: LineFrame, cells: tuple[Cell, ...], cursor: bool, marked: bool
    ) -> Strip:
        if cursor:
            base = self._widget.get_component_rich_style("frame-table--cursor")
        else:
            base = self._cell_style(frame, "", marked)
        line = LineBuilder()
        signs = (_CURSOR_SIGN if cursor else " ") + (_MARK_SIGN if marked else "")
        line.add(signs[: frame.gutter].ljust(frame.gutter), base)
        drawn = frame.gutter
        for slot in frame.slots:
            line.add(" " * (slot.left - drawn), base)
            drawn = slot.left + slot.width
            # Columns and source are set one after the other, and may differ for a moment.
            text, name = cells[slot.position] if slot.position < len(cells) else ("", "")
            shown, used = cut_text(text, slot.width)
            # The colours of the cursor's row win: only they are sure to be readable.
            style = base if cursor else self._cell_style(frame, name, marked)
            blank = " " * (slot.width - used)
            if slot.column.align == "right":
                line.add(blank, base)
            if self._pattern is not None and slot.column.key == SEARCHED:
                self._add_with_hits(line, shown, style, self._pattern)
            else:
                line.add(shown, style)
            if slot.column.align == "left":
                line.add(blank, base)
        line.add(" " * (frame.width - drawn), base)
        return line.strip(frame.width)

    def _add_with_hits(
        self, line: LineBuilder, text: str, style: Style, pattern: re.Pattern[str]
    ) -> None:
        if self._hit is None:
            self._hit = self._overlay("frame-table--hit")
        hit_style = style + self._hit
        done = 0
        for start, stop in find_hits(text, pattern):
            line.add(text[done:start], style)
            line.add(text[start:stop], hit_style)
            done = stop
        line.add(text[done:], style)

    # -- styles -------------------------------------------------------------------------------

    def _cell_style(self, frame: LineFrame, name: str, marked: bool = False) -> Style:
        """Return the style of a cell without cursor; unknown names have the base style."""
        style = self._styles.get((name, marked))
        if style is None:
            style = frame.base
            if marked:
                style += self._overlay("frame-table--marked")
            component = f"frame-table--{name}"
            if component in COMPONENTS:
                style += self._overlay(component)
            self._styles[name, marked] = style
        return style

    def _overlay(self, component: str) -> Style:
        """Return only the style that the style sheet sets for a component, with blended colours."""
        partial = self._widget.get_component_rich_style(component, partial=True)
        full = self._widget.get_component_rich_style(component)
        return partial + Style.from_color(
            full.color if partial.color else None, full.bgcolor if partial.bgcolor else None
        )
