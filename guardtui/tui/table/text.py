"""Text of the table: cut to the width of a cell, searched, and joined into lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from guardtui.domain.text import display_text

# A cell on the screen may take several characters (a letter and its accents); text past this
# many per cell is not looked at, so that a cell's cost is bound by its width.
_CHARACTERS_PER_CELL = 4


def cut_text(raw: str, width: int) -> tuple[str, int]:
    """Return the text made inert and cut to `width` cells (ending in "…"), and its cells.

    A wide character that would be halved is left out. An accent with nothing under it gets "◌",
    so that it cannot attach itself to what is drawn before the cell.
    """
    if width <= 0:
        return "", 0
    shown = display_text(raw[: width + 1])
    if shown.isascii():
        return (shown, len(shown)) if len(shown) <= width else (f"{shown[: width - 1]}…", width)
    looked_at = width * _CHARACTERS_PER_CELL + 1
    shown = display_text(raw[:looked_at])
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


def find_hits(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the matches of a pattern, extended to whole graphemes."""
    hits = [match.span() for match in pattern.finditer(text)]
    if not hits or text.isascii():
        yield from hits
        return
    spans, _ = split_graphemes(text)
    done = 0
    for start, stop in hits:
        start = max(done, max(left for left, _, _ in spans if left <= start))
        stop = min(right for _, right, _ in spans if right >= stop)
        if start < stop:
            yield start, stop
            done = stop


class LineBuilder:
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
