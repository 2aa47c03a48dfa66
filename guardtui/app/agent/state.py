"""What an author or another program may change in a session, and what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guardtui.domain.topic import Topic, describe_changes


@dataclass(frozen=True)
class SessionState:
    """The iterations' marks (`Session.marks`), the pinned baseline and the topic file's definition.

    A decision of an agent is refused if it was prepared on another one.
    """

    marks: Mapping[int, tuple[str, int]]
    pinned: int | None
    definition: Topic

    def newer(self, before: SessionState) -> list[int]:
        """Return the numbers of the iterations that are not as they were before."""
        return [number for number, mark in self.marks.items() if before.marks.get(number) != mark]

    def changes(self, before: SessionState) -> tuple[str, ...]:
        """Return what has changed since, a sentence each."""
        return tuple(self._changes(before))

    def _changes(self, before: SessionState) -> Iterator[str]:
        for number in self.newer(before):
            decision, _ = self.marks[number]
            known = before.marks.get(number)
            if known is None:
                yield f"#{number} was recorded ({decision})"
            elif known[0] != decision:
                yield f"#{number} is {decision} now, and was {known[0]}"
            else:
                yield f"#{number} has more verdicts"
        if self.pinned != before.pinned:
            yield (
                "the author pins no baseline now"
                if self.pinned is None
                else (f"the author pinned #{self.pinned} as the baseline")
            )
        if changed := describe_changes(before.definition, self.definition):
            yield f"the topic file has another definition: {'; '.join(changed)}"
