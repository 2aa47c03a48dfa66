"""Jump mode: a letter on everything that can be focused or pressed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.errors import NoWidget
from textual.geometry import Offset, Region, Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Static

from guardtui.tui.kit.modal import Modal
from guardtui.tui.results.model import FILTERS
from guardtui.tui.results.pane import ResultsPane
from guardtui.tui.textual_compat import FooterKey

LETTERS = "asdfghjklqwertyuiopzxcvbnm" + ascii_uppercase
"""Letters in the order of their use, those of the home row first."""

_LABEL_CELLS = 3
_GROUP = re.compile(r"(?P<place>[1-9]) [^\W\d]\S* \d+")


@dataclass(frozen=True)
class JumpTarget:
    """A target of a jump: the offset of its letter, its name, and the call that goes there.

    `key` is a fixed key, such as the number of a filter.
    """

    offset: Offset
    name: str
    go: Callable[[], object]
    key: str = ""


def jump_targets(screen: Screen[Any]) -> list[JumpTarget]:
    """Return all visible targets of a screen, from top to bottom and left to right."""
    matches = [*_focusable(screen), *_footer(screen), *_filters(screen)]
    matches.sort(key=lambda target: (target.offset.y, target.offset.x))
    return matches


def lettered(targets: list[JumpTarget]) -> dict[str, JumpTarget]:
    """Return the targets by key; those after the last letter are left out."""
    own = {target.key: target for target in targets if target.key}
    letters = (letter for letter in LETTERS if letter not in own)
    others = [target for target in targets if not target.key]
    return own | dict(zip(letters, others, strict=False))


def _in_sight(screen: Screen[Any], widget: Widget) -> Region | None:
    """Return the visible region of a widget in cells of the screen, or None."""
    try:
        seen = screen.find_widget(widget).visible_region
    except NoWidget:
        return None
    return seen if seen.area and screen.is_attached else None


def _focusable(screen: Screen[Any]) -> Iterator[JumpTarget]:
    for widget in screen.focus_chain:
        seen = _in_sight(screen, widget)
        if seen is not None:
            # A button is pressed, not focused.
            go = widget.press if isinstance(widget, Button) else widget.focus
            yield JumpTarget(seen.offset, widget.id or type(widget).__name__, go)


def _footer(screen: Screen[Any]) -> Iterator[JumpTarget]:
    for footer in screen.query(Footer):
        for key in footer.query(FooterKey):
            seen = _in_sight(screen, key)
            if seen is not None and seen.width >= _LABEL_CELLS:
                go = _presser(screen.app, key.key)
                yield JumpTarget(seen.offset, key.description, go)


def _presser(app: App[Any], key: str) -> Callable[[], object]:
    return lambda: app.simulate_key(key)


def _filters(screen: Screen[Any]) -> Iterator[JumpTarget]:
    """Yield the groups in the line above the table, and the hidden filter line."""
    for pane in screen.query(ResultsPane):
        bar = pane.query_one("#filters")
        seen = _in_sight(screen, bar)
        if seen is None:
            continue
        names = list(FILTERS)
        for matches in _GROUP.finditer(str(bar.render())):
            # The brackets are drawn around the number of the group.
            column, index = max(0, matches.start() - 1), int(matches["place"])
            if index <= len(names) and column <= seen.width - _LABEL_CELLS:
                name = names[index - 1]
                position = Offset(seen.x + column, seen.y)
                yield JumpTarget(position, name, _filtering(pane, name), str(index))
        if not pane.query_one("#search", Input).display:
            offset = Offset(seen.right - _LABEL_CELLS, seen.y)
            yield JumpTarget(offset, "filter", pane.action_search, "/")


def _filtering(pane: ResultsPane, name: str) -> Callable[[], object]:
    def go() -> None:
        pane.action_filter(name)
        pane.table.focus()

    return go


class JumpScreen(Modal[str | None]):
    """Letters over the screen below; returns the key that was pressed, or None."""

    def __init__(self, spots: dict[str, JumpTarget], size: Size) -> None:
        super().__init__()
        self._spots, self._for = spots, size

    def compose(self) -> ComposeResult:
        for key, target in self._spots.items():
            label = Static(Text(f"[{key}]"), classes="jump-letter", markup=False)
            label.styles.offset = (
                min(target.offset.x, max(0, self._for.width - _LABEL_CELLS)),
                target.offset.y,
            )
            yield label
        yield Static("Press a letter to go there, Esc to stay.", classes="jump-hint", markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.character in self._spots:
            self.dismiss(event.character)
        elif event.key == "escape":
            self.dismiss(None)

    def on_click(self) -> None:
        if self.is_current:
            self.dismiss(None)

    def on_resize(self, event: events.Resize) -> None:
        # The letters would no longer match their targets. Two events must dismiss it once.
        if event.size != self._for and self.is_current:
            self.dismiss(None)


def show_jump(app: App[Any]) -> None:
    """Start jump mode on the screen in front, or end it."""
    screen = app.screen
    if isinstance(screen, JumpScreen):
        screen.dismiss(None)
        return
    spots = lettered(jump_targets(screen))

    def go(key: str | None) -> None:
        if key is not None:
            # The screen takes the focus only once it is in front again.
            app.call_later(spots[key].go)

    app.push_screen(JumpScreen(spots, screen.size), go)
