"""Classes of a screen by its size, and the text of a window that is too small."""

from __future__ import annotations

from typing import TypeAlias

from textual.geometry import Size

from guardtui.tui.kit.inert import Static

Breakpoints: TypeAlias = tuple[list[tuple[int, str]], list[tuple[int, str]]]

SMALLEST = (40, 15)
"""Columns and lines of the smallest usable screen."""

BREAKPOINTS: Breakpoints = (
    [(0, "-tiny"), (SMALLEST[0], "-narrow"), (100, "-wide")],
    [(0, "-flat"), (SMALLEST[1], "-short"), (30, "-tall")],
)
"""Classes of a screen by its columns and by its lines."""


def classes_for(size: Size, breakpoints: Breakpoints = BREAKPOINTS) -> list[str]:
    """Return the classes of a screen of this size, to set them before it is drawn.

    Textual sets them once the screen has been styled, and then styles every widget again.
    """
    return [
        max((least, name) for least, name in names if least <= cells)[1]
        for names, cells in zip(breakpoints, size, strict=True)
    ]


def too_small(start: str) -> Static:
    """Return the text that `-tiny` and `-flat` screens show; it begins with `start`."""
    return Static(
        f"{start} {SMALLEST[0]} columns, {SMALLEST[1]} lines.\n"
        "Nothing is lost: make the window larger.",
        id="too-small",
    )
