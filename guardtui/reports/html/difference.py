"""Differences of texts, word by word, as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from guardtui.domain.word_diff import DiffKind, word_diff
from guardtui.reports.html.page import Markup, facts, quoted, tag, text

_COMPARED = 20_000  # characters of two texts; the words of longer ones are not compared


def difference(before: str, after: str) -> Markup:
    """Return the added and removed words of a text against the previous one.

    They are marked by elements and signs, not only by colour.
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
    """Return fields with their previous and current texts (see `definition_edits`)."""
    return facts((name, difference(before, after)) for name, before, after in fields)
