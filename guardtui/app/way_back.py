"""Ways back from what was applied: read from the undo journal, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pydantic import ValidationError

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Before, Reverted
from guardtui.session.applied import AppliedLog, JournalEntry


class UnreadableWayError(AirsError):
    """An entry of the undo journal is invalid."""


@dataclass(frozen=True, slots=True)
class StepBack:
    """Changes of one topic in one place that are taken back together, oldest first."""

    entry_ids: tuple[int, ...]
    ways: tuple[Before, ...]

    @property
    def way(self) -> Before:
        """The way back over all of them."""
        return reduce(Before.then, self.ways)

    @property
    def probe(self) -> Topic:
        """A topic to probe with: the one that is back, or its name where there was none."""
        way = self.ways[0]
        examples = (way.topic or {}).get("examples") or ()
        name = way.topic_name
        return Topic(name=name, description=name, examples=tuple(map(str, examples)))

    def after(self, later: StepBack, done: Reverted) -> StepBack:
        """Return this step once a later one was taken: that was no change by others."""
        *earlier, newest = self.ways
        return replace(self, ways=(*earlier, newest.after(later.way, done)))

    def forget(self, log: AppliedLog, done: Reverted) -> None:
        """Drop the changes that were taken back from the journal. Raises StoreError.

        The change before them learns that this was no change by others.
        """
        way = self.way

        def amend(earlier: dict[str, Any]) -> dict[str, Any]:
            try:
                return Before.model_validate(earlier).after(way, done).model_dump(mode="json")
            except ValidationError:
                return earlier

        log.drop(self.entry_ids, amend)


def steps_back(entries: Sequence[JournalEntry]) -> list[StepBack]:
    """Return the steps back over changes, newest first. Raises UnreadableWayError."""
    steps: list[StepBack] = []
    for entry in reversed(entries):
        try:
            way = Before.model_validate(entry.way)
        except ValidationError as error:
            raise UnreadableWayError(
                "what was remembered of the last apply cannot be read, so nothing was changed"
            ) from error
        if steps and _spot(steps[-1].ways[0]) == _spot(way):
            last = steps[-1]
            steps[-1] = StepBack((entry.id, *last.entry_ids), (way, *last.ways))
        else:
            steps.append(StepBack((entry.id,), (way,)))
    return steps


def _spot(way: Before) -> tuple[str, str, str]:
    return way.profile_name, way.topic_id, str(way.undo.place)
