"""Field-by-field differences between two versions of a definition."""

from __future__ import annotations

from collections.abc import Sequence

from guardtui.domain.topic import Topic


def definition_edits(before: Topic, after: Topic) -> tuple[tuple[str, str, str], ...]:
    """Return (name, text before, text now) for each field; "" for a missing example.

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
