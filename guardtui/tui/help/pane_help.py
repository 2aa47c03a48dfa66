"""The help of a pane as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaneHelp:
    """Help of a pane: `scopes` of the registry whose keys work in it, and keys of its own."""

    title: str
    prose: str
    words: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


MOVE = ("↑ ↓ j k PgUp PgDn", "Move or scroll; g G: first, last; ^d ^u: half a page")
NEXT = ("Tab", "Go to the next place; Shift and Tab: to the one before")
CLOSE = ("Esc", "Close it; nothing is changed")
