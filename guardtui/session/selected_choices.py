"""Detection of the choices that an output selects, from its `ANSWER: B`."""

from __future__ import annotations

import re

# The last marker that is followed by something counts. Letters, numbers and the blanks and commas
# between them are the names; emphasis and brackets around them are ignored.
_MARKER = re.compile(r"ANSWER\s*:[\s*(]*(?=[A-Z0-9,])", re.IGNORECASE)
_NAMES = re.compile(r"(?:[A-Za-z0-9 ,]|(?<=[ ,])[(*]+|[)*]+(?= *,))++(?!\w)")
_SINGLE = re.compile(r"[A-Za-z0-9]++(?!\w)")
_BETWEEN = re.compile(r"[ ,()*]+")
_LETTERS = 26


def selected_choices(output: str, count: int) -> frozenset[int]:
    """Return the indices of the choices that an output selects; empty if it is not clear.

    The output is read like inspect_ai's `multiple_choice` solver does: `ANSWER: B`, `ANSWER: A, C`,
    `ANSWER: AC`, `ANSWER: A and C`, ignoring case; A to Z, then 1, 2, …; the last of several
    counts. An answer that also names an index outside of the `count` choices selects nothing.
    """
    positions = [marker.end() for marker in _MARKER.finditer(output)]
    if not positions:
        return frozenset()
    for form in (_NAMES, _SINGLE):
        names = form.match(output, positions[-1])
        if names is not None:
            return _indices(names[0], count)
    return frozenset()


def _indices(names: str, count: int) -> frozenset[int]:
    words = [word for word in _BETWEEN.split(names) if word]
    if words and words[-1].lower() == "and":
        return frozenset()
    indices: set[int] = set()
    for word in words:
        if word.lower() == "and":
            continue
        for name in (word,) if word.isdecimal() else word.upper():
            index = _LETTERS - 1 + int(name[:9]) if name.isdecimal() else ord(name) - ord("A")
            if not 0 <= index < count or name == "0":
                return frozenset()
            indices.add(index)
    return frozenset(indices)
