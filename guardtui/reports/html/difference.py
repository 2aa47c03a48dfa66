"""Texts word by word against those before, in a page."""

from __future__ import annotations

from collections.abc import Iterable

from guardtui.domain.word_diff import DiffKind, word_diff
from guardtui.reports.html.page import Markup, facts, quoted, tag, text

_COMPARED = 20_000  # characters of two texts; of longer ones the words are not compared


def difference(before: str, after: str) -> Markup:
    """Return a text word by word against the one before: what was added, and what was removed.

    Both are marked by their elements and by signs, so that no colour is needed to tell them apart.
    """
    if before == after:
        return quoted(after)
    pieces = [(DiffKind.REMOVED, before), (DiffKind.ADDED, after)]
    if len(before) + len(after) <= _COMPARED:
        pieces = word_diff(before, after)
    made: list[Markup] = []
    for kind, piece in pieces:
        if kind is DiffKind.ADDED and piece:
            made.append(tag("ins", text(piece)))
        elif kind is DiffKind.REMOVED and piece:
            made.append(tag("del", text(piece)))
        else:
            made.append(text(piece))
    return tag("bdi", *made, class_="quoted")


def edited_facts(fields: Iterable[tuple[str, str, str]]) -> Markup:
    """Return fields with their texts before and now, see `definition_edits`."""
    return facts((name, difference(before, after)) for name, before, after in fields)
