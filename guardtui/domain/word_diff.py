"""The difference of two texts word by word, as an author reads it."""

from __future__ import annotations

import difflib
import re
from enum import StrEnum

_SHARED = 1 / 3
_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


class Kind(StrEnum):
    """What became of a piece of text."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


def word_diff(old: str, new: str) -> list[tuple[Kind, str]]:
    """Pieces in reading order: those not removed make up `new`, those not added `old`.

    Words, runs of blanks and single signs are the smallest pieces; neighbours of one kind are
    joined, and what was removed stands before what came in its place. Texts that share less than
    a third of their words are shown as replaced: single words in common mean nothing then.
    """
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    found: list[tuple[Kind, str]] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    common = sum(
        piece.isalnum()
        for block in matcher.get_matching_blocks()
        for piece in before[block.a : block.a + block.size]
    )
    most = max(sum(map(str.isalnum, pieces)) for pieces in (before, after))
    if old and new and most and common < _SHARED * most:
        return [(Kind.REMOVED, old), (Kind.ADDED, new)]
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        gone, come = "".join(before[start:stop]), "".join(after[other_start:other_stop])
        if kind == "equal":
            found.append((Kind.SAME, gone))
            continue
        found += [piece for piece in ((Kind.REMOVED, gone), (Kind.ADDED, come)) if piece[1]]
    return found
