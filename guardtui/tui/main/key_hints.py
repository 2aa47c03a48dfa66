"""Hints for keys that work in another pane than the focused one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guardtui.tui.main.panes import Panes
from guardtui.tui.registry.actions import (
    DETAIL,
    RESULTS,
    TABLE,
    Action,
    first_key,
    in_scope,
    key_name,
)

_PANES = {RESULTS: "results", TABLE: "results", DETAIL: "detail"}
"""Scopes in which letters are keys, and the name of the pane where they work."""


def hint_of(pressed: str, panes: Panes, keymap: Mapping[str, str]) -> str:
    """Return where a key works that does nothing in the focused pane; "" if nowhere."""
    if pressed == "q":
        return f"{first_key('quit', keymap)} quits; q closes pages and dialogs."
    action = next(_actions_of(pressed, keymap), None)
    if action is None:
        return ""
    pane = _PANES[action.scope]
    hint = f"{key_name(pressed)} ({action.title}) works in the {pane}"
    steps = panes.steps_to(pane)
    times = {1: "", 2: " twice", 3: " three times"}.get(steps)
    key = first_key("next_pane", keymap)
    return f"{hint}." if times is None else f"{hint}: press {key}{times}."


def _actions_of(key: str, keymap: Mapping[str, str]) -> Iterator[Action]:
    for scope in _PANES:
        for action in in_scope(scope):
            if key in keymap.get(action.binding.id or "", action.keys).split(","):
                yield action
