"""The fields of a definition beside those of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from guardtui.domain.topic import Topic


def definition_edits(before: Topic, after: Topic) -> tuple[tuple[str, str, str], ...]:
    """Return each field of a definition: its name, its text before and now; "" where none is.

    Examples are in the order of `after`; see `paired_examples`.
    """
    examples = enumerate(paired_examples(before.examples, after.examples), start=1)
    return (
        ("name", before.name, after.name),
        ("description", before.description, after.description),
        *((f"example {number}", old, new) for number, (old, new) in examples),
        ("intent", before.intent.value, after.intent.value),
    )


def paired_examples(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Return the examples in the order of `after`, each as (before, now).

    An example that was there at any place is the same; what is left is paired in order, and
    removed examples that have no partner are at the end.
    """
    removed = [example for example in before if example not in after]
    added = [example for example in after if example not in before]
    partner = dict(zip(added, removed, strict=False))
    pairs = [
        (example if example in before else partner.get(example, ""), example) for example in after
    ]
    return pairs + [(example, "") for example in removed[len(added) :]]
