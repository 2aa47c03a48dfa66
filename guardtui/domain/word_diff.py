"""Word-by-word difference of two texts, as shown to the author."""

from __future__ import annotations

import difflib
from enum import StrEnum

from guardtui.domain.words import WordPattern

_SHARED = 1 / 3
_PIECES = WordPattern(r"WORD|\s+|SIGN")


class DiffKind(StrEnum):
    """Kinds of pieces in a difference."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


def word_diff(old: str, new: str) -> list[tuple[DiffKind, str]]:
    """Return pieces in reading order; kept and added ones form `new`, kept and removed ones `old`.

    Words, runs of blanks and single signs are the smallest pieces. Neighbours of one kind are
    joined, and removed text precedes its replacement. Texts that share less than a third of their
    words are shown as replaced as a whole, because single common words mean nothing then.
    """
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    diff: list[tuple[DiffKind, str]] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    common = sum(
        piece[0].isalnum()
        for block in matcher.get_matching_blocks()
        for piece in before[block.a : block.a + block.size]
    )
    most = max(sum(piece[0].isalnum() for piece in pieces) for pieces in (before, after))
    if old and new and most and common < _SHARED * most:
        return [(DiffKind.REMOVED, old), (DiffKind.ADDED, new)]
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        removed, added = "".join(before[start:stop]), "".join(after[other_start:other_stop])
        if kind == "equal":
            diff.append((DiffKind.SAME, removed))
            continue
        diff += [
            piece for piece in ((DiffKind.REMOVED, removed), (DiffKind.ADDED, added)) if piece[1]
        ]
    return diff
