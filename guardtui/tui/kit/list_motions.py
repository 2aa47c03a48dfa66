"""Moving in the focused table, list or page with the keys of scope LISTS."""

from __future__ import annotations

from typing import Literal, TypeAlias

from textual.containers import ScrollableContainer
from textual.widget import Widget

from guardtui.tui.kit.inert import OptionList
from guardtui.tui.table.frame_table import FrameTable

Motion: TypeAlias = Literal["down", "up", "first", "last", "half_down", "half_up"]


_ACTIONS = {"down": "cursor_down", "up": "cursor_up", "first": "first", "last": "last"}


def move(widget: Widget | None, motion: Motion) -> None:
    """Move the cursor of a table or list, or scroll a page; other widgets stay as they are."""
    if isinstance(widget, FrameTable | OptionList) and motion in _ACTIONS:
        getattr(widget, f"action_{_ACTIONS[motion]}")()
    elif isinstance(widget, FrameTable):
        widget.move_half_page(1 if motion == "half_down" else -1)
    elif isinstance(widget, OptionList):
        _move_half_page(widget, 1 if motion == "half_down" else -1)
    elif isinstance(widget, ScrollableContainer):
        _scroll(widget, motion)


def _move_half_page(options: OptionList, direction: int) -> None:
    """Highlight the enabled option half a page away; an option may be several lines high."""
    enabled = [index for index, option in enumerate(options.options) if not option.disabled]
    if not enabled:
        return
    lines = max(1, options.virtual_size.height)
    half = options.scrollable_content_region.height * options.option_count // (2 * lines)
    position = enabled.index(options.highlighted) if options.highlighted in enabled else 0
    target = position + direction * max(1, half)
    options.highlighted = enabled[max(0, min(target, len(enabled) - 1))]


def _scroll(page: ScrollableContainer, motion: Motion) -> None:
    half = max(1, page.scrollable_content_region.height // 2)
    match motion:
        case "first":
            page.scroll_home(animate=False)
        case "last":
            page.scroll_end(animate=False)
        case "down" | "up":
            page.scroll_relative(y=1 if motion == "down" else -1, animate=False)
        case "half_down" | "half_up":
            page.scroll_relative(y=half if motion == "half_down" else -half, animate=False)
