"""Fixtures for tests of the screen: waiting for the app to settle, and frozen clocks."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
import textual.app
import textual.notifications
import textual.pilot
import textual.screen
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

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

# The rules of a style sheet are parsed once for all apps of a process, and not for each again.
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}
_parse = Stylesheet._parse_rules


def _parse_once(self: Stylesheet, *source: Any, **options: Any) -> list[RuleSet]:
    key = (*source, *options.values(), *self._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse(self, *source, **options)
    return _parsed[key]


Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign]
# As Textual's, and not in Python: a rule is hashed each time that a widget may be meant by it.
RuleSet.__hash__ = object.__hash__  # type: ignore[assignment]

_apply = Stylesheet.apply
_choices: dict[tuple[int, ...], dict[frozenset[str], list[RuleSet]]] = {}


def _apply_few(self: Stylesheet, node: DOMNode, **options: Any) -> None:
    """Style a widget by a style sheet of the few rules that name it.

    To find them Textual walks all rules, hundreds of times while one app starts. Here they are
    chosen once for each set of names.
    """
    rules = self.rules
    chosen = self.__dict__.get("chosen")
    if chosen is None or chosen[0] is not rules:
        # `_parsed` keeps the rules, so none has the identity of one before it.
        chosen = self.__dict__["chosen"] = (rules, _choices.setdefault((*map(id, rules),), {}))
    by_name = self.rules_map
    names = frozenset(by_name.keys() & node._selector_names)
    few = copy.copy(self)
    if (known := chosen[1].get(names)) is None:
        wanted = {rule for name in names for rule in by_name[name]}
        known = chosen[1][names] = [rule for rule in rules if rule in wanted]
    few._rules, few._rules_map = known, dict.fromkeys(names, known)
    few._process_component_classes = self._process_component_classes  # type: ignore[method-assign]
    _apply(few, node, **options)


Stylesheet.apply = _apply_few  # type: ignore[method-assign]

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
