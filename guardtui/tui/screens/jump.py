"""Jump mode: a letter on every place in sight; pressing it goes there."""

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

from guardtui.tui.modal import Modal
from guardtui.tui.results import FILTERS
from guardtui.tui.textual_compat import FooterKey
from guardtui.tui.widgets.results_pane import ResultsPane

LETTERS = "asdfghjklqwertyuiopzxcvbnm" + ascii_uppercase
"""Given out in this order: those under the fingers first."""

_LABEL_CELLS = 3
_GROUP = re.compile(r"(?P<place>[1-9]) [^\W\d]\S* \d+")


@dataclass(frozen=True)
class Spot:
    """A place to jump to: where its letter is drawn, what it is, and what going there does.

    `key` asks for a letter of its own, as the number that a filter has anyway.
    """

    offset: Offset
    name: str
    go: Callable[[], object]
    key: str = ""


def spots_of(screen: Screen[Any]) -> list[Spot]:
    """Every place in sight of a screen, from top to bottom and left to right."""
    found = [*_focusable(screen), *_footer(screen), *_filters(screen)]
    found.sort(key=lambda spot: (spot.offset.y, spot.offset.x))
    return found


def lettered(spots: list[Spot]) -> dict[str, Spot]:
    """The spots by the key that goes there; those past the last letter get none."""
    own = {spot.key: spot for spot in spots if spot.key}
    letters = (letter for letter in LETTERS if letter not in own)
    others = [spot for spot in spots if not spot.key]
    return own | dict(zip(letters, others, strict=False))


def _in_sight(screen: Screen[Any], widget: Widget) -> Region | None:
    """What can be seen of a widget, in cells of the screen."""
    try:
        seen = screen.find_widget(widget).visible_region
    except NoWidget:
        return None
    return seen if seen.area and screen.is_attached else None


def _focusable(screen: Screen[Any]) -> Iterator[Spot]:
    for widget in screen.focus_chain:
        seen = _in_sight(screen, widget)
        if seen is not None:
            # A button is there to be pressed; to have the focus on it helps nobody.
            go = widget.press if isinstance(widget, Button) else widget.focus
            yield Spot(seen.offset, widget.id or type(widget).__name__, go)


def _footer(screen: Screen[Any]) -> Iterator[Spot]:
    for footer in screen.query(Footer):
        for key in footer.query(FooterKey):
            seen = _in_sight(screen, key)
            if seen is not None and seen.width >= _LABEL_CELLS:
                go = _presser(screen.app, key.key)
                yield Spot(seen.offset, key.description, go)


def _presser(app: App[Any], key: str) -> Callable[[], object]:
    return lambda: app.simulate_key(key)


def _filters(screen: Screen[Any]) -> Iterator[Spot]:
    """The groups in the line above the table, and what opens the filter while it is hidden."""
    for pane in screen.query(ResultsPane):
        bar = pane.query_one("#filters")
        seen = _in_sight(screen, bar)
        if seen is None:
            continue
        names = list(FILTERS)
        for found in _GROUP.finditer(str(bar.render())):
            # The brackets stand around the number that is there already.
            column, place = max(0, found.start() - 1), int(found["place"])
            if place <= len(names) and column <= seen.width - _LABEL_CELLS:
                name = names[place - 1]
                at = Offset(seen.x + column, seen.y)
                yield Spot(at, name, _filtering(pane, name), str(place))
        if not pane.query_one("#search", Input).display:
            offset = Offset(seen.right - _LABEL_CELLS, seen.y)
            yield Spot(offset, "filter", pane.action_search, "/")


def _filtering(pane: ResultsPane, name: str) -> Callable[[], object]:
    def go() -> None:
        pane.action_filter(name)
        pane.table.focus()

    return go


class JumpScreen(Modal[str | None]):
    """Draws the letters over the screen below; ends with the one that was pressed."""

    def __init__(self, spots: dict[str, Spot], size: Size) -> None:
        super().__init__()
        self._spots, self._for = spots, size

    def compose(self) -> ComposeResult:
        for key, spot in self._spots.items():
            label = Static(Text(f"[{key}]"), classes="jump-letter", markup=False)
            label.styles.offset = (
                min(spot.offset.x, max(0, self._for.width - _LABEL_CELLS)),
                spot.offset.y,
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
        # The letters would stand beside their places. Told twice, it must end once.
        if event.size != self._for and self.is_current:
            self.dismiss(None)


def show_jump(app: App[Any]) -> None:
    """Put letters on the screen in front; a second time, take them off again."""
    screen = app.screen
    if isinstance(screen, JumpScreen):
        screen.dismiss(None)
        return
    spots = lettered(spots_of(screen))

    def go(key: str | None) -> None:
        if key is not None:
            # Only when the screen is in front again is it the one that takes the focus.
            app.call_later(spots[key].go)

    app.push_screen(JumpScreen(spots, screen.size), go)
