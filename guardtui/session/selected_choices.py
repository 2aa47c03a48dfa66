"""Which of several choices an output selects, read off its `ANSWER: B`."""

from __future__ import annotations

import re

# The last marker that anything follows counts. Letters, numbers and the blanks and commas between
# them are the names; emphasis and brackets around them do not matter.
_MARKER = re.compile(r"ANSWER\s*:[\s*(]*(?=[A-Z0-9,])", re.IGNORECASE)
_NAMES = re.compile(r"(?:[A-Za-z0-9 ,]|(?<=[ ,])[(*]+|[)*]+(?= *,))++(?!\w)")
_SINGLE = re.compile(r"[A-Za-z0-9]++(?!\w)")
_BETWEEN = re.compile(r"[ ,()*]+")
_LETTERS = 26


def selected_choices(output: str, count: int) -> frozenset[int]:
    """The indices of the choices that an output selects; empty when it does not say so clearly.

    It is read as inspect_ai's `multiple_choice` solver reads it: `ANSWER: B`, `ANSWER: A, C`,
    `ANSWER: AC`, `ANSWER: A and C`, in any case; A to Z, then 1, 2, …; of several such places the
    last. What also names something that is none of the `count` choices selects nothing.
    """
    places = [found.end() for found in _MARKER.finditer(output)]
    if not places:
        return frozenset()
    for form in (_NAMES, _SINGLE):
        found = form.match(output, places[-1])
        if found is not None:
            return _indices(found[0], count)
    return frozenset()


def _indices(names: str, count: int) -> frozenset[int]:
    words = [one for one in _BETWEEN.split(names) if one]
    if words and words[-1].lower() == "and":
        return frozenset()
    indices: set[int] = set()
    for word in words:
        if word.lower() == "and":
            continue
        for name in (word,) if word.isdecimal() else word.upper():
            place = _LETTERS - 1 + int(name[:9]) if name.isdecimal() else ord(name) - ord("A")
            if not 0 <= place < count or name == "0":
                return frozenset()
            indices.add(place)
    return frozenset(indices)
