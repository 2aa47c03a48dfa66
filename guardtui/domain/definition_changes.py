"""Changes of a definition: word by word, field by field, by name, and of two people merged."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, describe_changes
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


def definition_edits(before: Topic, after: Topic) -> tuple[tuple[str, str, str], ...]:
    """Return (name, text before, text now) for each field; "" for a missing example.

    Examples are in the order of `after`; see `paired_examples`. A removed one has its number in
    `before`.
    """
    pairs = enumerate(paired_examples(before.examples, after.examples))
    examples = (
        (1 + (row if row < len(after.examples) else before.examples.index(old)), (old, new))
        for row, (old, new) in pairs
    )
    return (
        ("name", before.name, after.name),
        ("description", before.description, after.description),
        *((f"example {number}", old, new) for number, (old, new) in examples),
        ("intent", before.intent.value, after.intent.value),
    )


def paired_examples(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Pair the examples of two versions as (before, now), in the order of `after`.

    An example in both versions is paired with itself, whatever its position. The remaining ones are
    paired in order. Removed examples without a partner come last.
    """
    removed = [example for example in before if example not in after]
    added = [example for example in after if example not in before]
    partner = dict(zip(added, removed, strict=False))
    pairs = [
        (example if example in before else partner.get(example, ""), example) for example in after
    ]
    return pairs + [(example, "") for example in removed[len(added) :]]


_CHARACTERS = 24
_CHANGES_NAMED = 2


def edit_names(before: Topic, after: Topic) -> tuple[str, ...]:
    """Return the names of an edit's changes, with the changed words of the description.

    Other changes are named as by `describe_changes`, for example `("description +“home office”",
    "example 2 replaced")`. The names are inert, whatever the texts hold. Empty if nothing changed.
    """
    same_description = before.model_copy(update={"description": after.description})
    names = describe_changes(same_description, after)
    if before.description == after.description:
        return names
    return f"description {_changed_words(before.description, after.description)}", *names


def _changed_words(before: str, after: str) -> str:
    pieces = [(kind, text.strip()) for kind, text in word_diff(before, after)]
    names: list[str] = []
    removed = ""
    for kind, text in [*pieces, (DiffKind.SAME, "")]:
        if kind is DiffKind.REMOVED:
            removed = text
            continue
        if kind is DiffKind.ADDED and text:
            names.append(
                f"{_quoted(removed)} → {_quoted(text)}" if removed else f"+{_quoted(text)}"
            )
        elif removed:
            names.append(f"−{_quoted(removed)}")
        removed = ""
    if not names:
        return "with other blanks"
    return " ".join([*names[:_CHANGES_NAMED], *(["…"] if len(names) > _CHANGES_NAMED else [])])


def _quoted(text: str) -> str:
    return f"“{display_start(text, _CHARACTERS)}”"


@dataclass(frozen=True, slots=True)
class Merge:
    """The merged `topic`; on `conflicts` (names of fields changed by both) it has my version."""

    topic: Topic
    conflicts: tuple[str, ...]


def merge_topics(base: Topic, mine: Topic, theirs: Topic) -> Merge:
    """Merge the changes of `mine` and `theirs` relative to `base` (three-way, whole fields)."""
    taken: dict[str, object] = {}
    conflicts: list[str] = []
    for name in Topic.model_fields:
        old, own, other = (getattr(topic, name) for topic in (base, mine, theirs))
        if own == old:
            taken[name] = other
        elif other not in (old, own):
            conflicts.append(name)
    return Merge(mine.model_copy(update=taken), tuple(conflicts))
