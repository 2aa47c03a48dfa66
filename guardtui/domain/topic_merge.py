"""Three-way merge of two people's edits of one definition, field by field."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.domain.topic import Topic

FIELDS = ("name", "description", "examples", "intent")


@dataclass(frozen=True, slots=True)
class Merge:
    """The merged `topic`; on `conflicts` (names of fields changed by both) it has my version."""

    topic: Topic
    conflicts: tuple[str, ...]


def merge_topics(base: Topic, mine: Topic, theirs: Topic) -> Merge:
    """Merge the changes of `mine` and `theirs` relative to `base` (three-way, whole fields)."""
    taken: dict[str, object] = {}
    conflicts: list[str] = []
    for name in FIELDS:
        old, own, other = (getattr(topic, name) for topic in (base, mine, theirs))
        if own == old:
            taken[name] = other
        elif other not in (old, own):
            conflicts.append(name)
    return Merge(mine.model_copy(update=taken), tuple(conflicts))
