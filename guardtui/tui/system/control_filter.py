"""The last filter before the terminal: it drops control and bidi characters of all widgets."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000))
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Bidi controls and separators of lines: a terminal may draw other text in their place."""

_DROPPED = dict.fromkeys((*_CONTROLS, *_TURNING), None)


class ControlFilter(LineFilter):
    """Drop control characters from drawn lines; they take no cell.

    `display_text` makes them visible in text that guardtui draws. Textual's input fields draw
    their value, and would pass an escape sequence in it on to the terminal.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.control or segment.text.isprintable()
            else Segment(segment.text.translate(_DROPPED), segment.style)
            for segment in segments
        ]
