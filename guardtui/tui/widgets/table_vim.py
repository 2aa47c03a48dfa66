"""Keys of vim for the results table: single keys become motions, with a count before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

MOTIONS: dict[str, str] = {
    "j": "Row down",
    "k": "Row up",
    "ctrl+d": "Half a screen down",
    "ctrl+u": "Half a screen up",
    "g g": "First row, or the row counted",
    "G": "Last row, or the row counted",
    "H": "Row at the top of the screen",
    "M": "Row in the middle of the screen",
    "L": "Row at the bottom of the screen",
}
"""The keys and what they do, for a page of keys; a number before one is its count."""

PAUSE = 0.6
"""Seconds after which a number without a motion is not a count but a key of its own."""

_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion by its keys in `MOTIONS`, and its count, None when there was none."""

    keys: str
    count: int | None


Answer: TypeAlias = Motion | Literal["wait", "pass"]


class VimKeys:
    """Holds back a count and a first "g" until the key comes that they belong to."""

    def __init__(self) -> None:
        self._digits = ""
        self._prefix = ""

    def feed(self, key: str) -> Answer:
        """The motion that a key ends, "wait" while more has to come, "pass" for another's key.

        After "pass" the caller asks `release` for the digits held back: they were no count.
        """
        prefix, self._prefix = self._prefix, ""
        if len(key) == 1 and key in "0123456789" and (key != "0" or self._digits):
            self._digits = (self._digits + key)[:_MOST_DIGITS]
            return "wait"
        if key == "g" and not prefix:
            self._prefix = key
            return "wait"
        keys = "g g" if key == "g" else key
        if keys not in MOTIONS:
            return "pass"
        digits = self.release()
        return Motion(keys, int(digits) if digits else None)

    def release(self) -> str:
        """The digits held back, which are forgotten; a "g" without its second is dropped."""
        digits, self._digits, self._prefix = self._digits, "", ""
        return digits
