"""Definitions word by word: what one has that another has not, with signs and colours."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.word_diff import Kind, word_diff

_SIGNS = {
    Kind.SAME: ("{}", ""),
    Kind.ADDED: ("{{+{}+}}", "bold $text-success"),
    Kind.REMOVED: ("[-{}-]", "strike $text-error"),
}

_EXAMPLES = 12
"""Examples of a definition that are shown: a service may send any number."""


def compare_text(text: Text, before: str, after: str) -> None:
    """Append a text word by word against the one before."""
    append_pieces(text, word_diff(before, after) if before != after else [(Kind.SAME, after)])


def append_pieces(text: Text, pieces: Sequence[tuple[Kind, str]]) -> None:
    """Append words with the signs of what became of them."""
    for kind, part in pieces:
        form, style = _SIGNS[kind]
        text.append(form.format(display_text(part)), style)


def paired_examples(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Examples as they became, in their order, each with the one that it is held against.

    An example that was there at any place is the same; what is left is paired in order.
    """
    left = [one for one in before[:_EXAMPLES] if one not in after]
    fresh = [one for one in after[:_EXAMPLES] if one not in before]
    partner = dict(zip(fresh, left, strict=False))
    pairs = [(one if one in before else partner.get(one, ""), one) for one in after[:_EXAMPLES]]
    return pairs + [(one, "") for one in left[len(fresh) :]]


def difference_text(before: Topic, after: Topic) -> Text:
    """What changes from one definition to another, a line for each part that does."""
    text = Text()
    parts = [
        ("name", before.name, after.name),
        ("description", before.description, after.description),
    ]
    parts += [
        (f"example {number}", *pair)
        for number, pair in enumerate(paired_examples(before.examples, after.examples), 1)
    ]
    parts.append(("intent", str(before.intent), str(after.intent)))
    for title, old, new in parts:
        if old != new:
            text.append(f"{title:<12} ", "$text-muted")
            compare_text(text, old, new)
            text.append("\n")
    return text
