"""The history of a session: recorded and imported iterations, and where each branched off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardtui.domain.edit_names import edit_names
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.words import WordPattern
from guardtui.session.session import Decision, Iteration

IMPORTED = "imported"
"""Shown as the guardrail of an imported entry."""

_WORDS = WordPattern("WORD|SIGN")


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """An iteration logged by another tool: rates and definition, no verdicts.

    Rates are from 0 to 1; the format writes an undefined rate as 0. It contains neither name nor
    intent.
    """

    number: int
    coverage: float
    true_positive_rate: float
    true_negative_rate: float
    f1: float
    decision: Decision
    description: str
    examples: tuple[str, ...]
    file: str


@dataclass(frozen=True, eq=False)
class HistoryEntry:
    """One line of the history; `iteration` is None for an imported entry, which has no verdicts.

    `came_from` is the entry that this one was edited from. `branched` says whether that is not the
    preceding entry. `changes` describe the edit.
    """

    name: str
    created: str
    guardrail: str
    coverage: float | None
    true_positive_rate: float | None
    true_negative_rate: float | None
    decision: Decision
    topic: Topic
    iteration: Iteration | None
    came_from: HistoryEntry | None = None
    branched: bool = False
    changes: tuple[str, ...] = ()

    @property
    def what_changed(self) -> str:
        """The changed words, made inert, with the entry it branched off from."""
        if self.came_from is None:
            return "first"
        changes = ", ".join(edit_names(self.came_from.topic, self.topic)) or "unchanged"
        return f"from {self.came_from.name}: {changes}" if self.branched else changes


def history(
    iterations: Sequence[Iteration], imported: Sequence[ImportedRow], topic: Topic
) -> list[HistoryEntry]:
    """Return all entries, oldest first, imported ones before all others.

    `topic` provides name and intent of imported definitions, which their format lacks.
    """
    return [
        *_with_origins([_imported(row, topic) for row in imported]),
        *recorded_history(iterations),
    ]


def recorded_history(iterations: Sequence[Iteration]) -> list[HistoryEntry]:
    """Return the recorded entries, oldest first; imported ones do not affect them."""
    return _with_origins([_recorded(iteration) for iteration in iterations])


def _with_origins(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Set the origin of each entry: the earlier entry with the most similar definition.

    The definition that was in the editor before is not recorded. After a discard or a restore it is
    not that of the preceding entry.
    """
    words = [_bag(entry.topic) for entry in entries]
    complete: list[HistoryEntry] = []
    for index, entry in enumerate(entries):
        if index:
            origin = min(
                range(index - 1, -1, -1),  # the latest of equally similar ones
                key=lambda other: _distance(entries, words, other, index),
            )
            entry = replace(
                entry,
                came_from=complete[origin],
                branched=origin != index - 1,
                changes=describe_changes(entries[origin].topic, entry.topic),
            )
        complete.append(entry)
    return complete


def _imported(row: ImportedRow, topic: Topic) -> HistoryEntry:
    definition = topic.model_copy(update={"description": row.description, "examples": row.examples})
    return HistoryEntry(
        name=f"i{row.number}",
        created="",
        guardrail=IMPORTED,
        coverage=row.coverage,
        true_positive_rate=row.true_positive_rate,
        true_negative_rate=row.true_negative_rate,
        decision=row.decision,
        topic=definition,
        iteration=None,
    )


def _recorded(iteration: Iteration) -> HistoryEntry:
    evaluation = iteration.evaluation
    return HistoryEntry(
        name=f"#{iteration.number}",
        created=iteration.created,
        guardrail=evaluation.settings.guardrail.title or evaluation.settings.kind,
        coverage=evaluation.metrics.coverage,
        true_positive_rate=evaluation.metrics.true_positive_rate,
        true_negative_rate=evaluation.metrics.true_negative_rate,
        decision=iteration.decision,
        topic=evaluation.topic,
        iteration=iteration,
    )


def _bag(topic: Topic) -> frozenset[tuple[str, str, int]]:
    """Return the words of a definition, with their part and occurrence number in that part.

    The order of the examples does not matter.
    """
    parts = [("name", topic.name), ("description", topic.description), ("intent", topic.intent)]
    parts += [("example", example) for example in topic.examples]
    seen: Counter[tuple[str, str]] = Counter()
    words = set()
    for part, text in parts:
        for word in _WORDS.findall(text):
            words.add((part, word, seen[part, word]))
            seen[part, word] += 1
    return frozenset(words)


def _distance(
    entries: Sequence[HistoryEntry],
    words: Sequence[frozenset[tuple[str, str, int]]],
    first: int,
    second: int,
) -> int:
    """Count words that only one of two definitions has, plus 1 unless the topics are equal."""
    if entries[first].topic == entries[second].topic:
        return 0
    return 1 + len(words[first] ^ words[second])
