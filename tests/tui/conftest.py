"""Fixtures for tests of the screen: waiting for the app to settle, and frozen clocks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import textual.app
import textual.notifications
import textual.pilot
import textual.screen
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet

from guardtui.app.advice import idea_advice
from guardtui.app.scan import record
from guardtui.tui.editor import field
from guardtui.tui.main import features, window  # noqa: F401 - features are there at once
from tests.tui.settling import HANGS_AFTER, SettlingPolicy, idle, until

asyncio.set_event_loop_policy(SettlingPolicy())
# Textual's own waits for a processor at rest, twice for each key, and samples it every 20 ms.
for module in (textual.app, textual.pilot):
    module.wait_for_idle = idle  # type: ignore[attr-defined]
# A screen that changed is drawn at once, not with the next frame of a terminal.
textual.screen.UPDATE_PERIOD = 0.001  # type: ignore[misc]

# Nothing ends because the machine was busy for some seconds: no message before a test has read it,
# no run of keys before its last key, and no wait for something that comes late.
textual.notifications.Notification.time_left = property(lambda self: 86_400.0)  # type: ignore[assignment, method-assign]
field.PAUSE_ENDS_RUN = 86_400.0
window.TYPING_PATIENCE = HANGS_AFTER
# Edits are measured and recorded in the tests of these, which set a pause of their own.
idea_advice.PAUSE = record.PAUSE = 86_400.0
textual.pilot.Pilot._wait_for_screen.__defaults__ = (HANGS_AFTER,)

_resize_terminal = textual.pilot.Pilot.resize_terminal


async def _resize_whole_app(self: textual.pilot.Pilot[Any], width: int, height: int) -> None:
    """Resize the terminal, and wait until the screens know: Textual tells them after 1/120 s."""
    await _resize_terminal(self, width, height)
    await until(lambda: self.app._resize_timer is None)
    await self.pause()


textual.pilot.Pilot.resize_terminal = _resize_whole_app  # type: ignore[method-assign]

# Style sheets are parsed once for all apps, and not for each app some ten times.
_parsed: dict[frozenset[tuple[str, str]], dict[Any, Any]] = {}
_make_sheet, _set_variables = Stylesheet.__init__, Stylesheet.set_variables


def _share_parsed(sheet: Stylesheet) -> None:
    sheet._parse_cache = _parsed.setdefault(frozenset(sheet._variables.items()), {})  # type: ignore[assignment]


def _make_sheet_that_shares(self: Stylesheet, *, variables: dict[str, str] | None = None) -> None:
    _make_sheet(self, variables=variables)
    _share_parsed(self)


def _set_variables_and_share(self: Stylesheet, variables: dict[str, str]) -> None:
    self._parse_cache = {}  # type: ignore[assignment] # which is cleared
    _set_variables(self, variables)
    _share_parsed(self)


Stylesheet.__init__ = _make_sheet_that_shares  # type: ignore[method-assign]
Stylesheet.set_variables = _set_variables_and_share  # type: ignore[method-assign]

_paint = Compositor.render_update


def _paint_whole_screens(
    self: Compositor, full: bool = False, screen_stack: object = None, simplify: bool = False
) -> object:
    """Paint what a picture asks for, and no update that goes to no terminal.

    Without a terminal Textual paints each change and drops it, a third of the time of an app in a
    test. A test that looks at the screen has it painted then (`frame`); tests of painting itself
    use the fixture `painted`; the exhaustive stage and real terminals paint everything.
    """
    if full:
        return _paint(self, full, screen_stack, simplify)  # type: ignore[arg-type]
    self._dirty_regions.clear()
    return None


def pytest_configure(config: pytest.Config) -> None:
    if "not exhaustive" in config.option.markexpr:
        Compositor.render_update = _paint_whole_screens  # type: ignore[assignment, method-assign]


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint every change, as in a terminal."""
    monkeypatch.setattr(Compositor, "render_update", _paint)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-frames",
        action="store_true",
        help="write the frames of tests/tui/frames anew; look at what git says changed",
    )
