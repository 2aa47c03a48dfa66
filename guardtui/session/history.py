"""The history of a session: iterations, definitions measured while editing, and their origins."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from guardtui.domain.definition_changes import edit_names
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import as_rule
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.words import WordPattern
from guardtui.session.evaluation_codec import read_settings, settings_to_text
from guardtui.session.session import Decision, Iteration, Session
from guardtui.session.store import SessionStore

MEASURED_AT_MOST = 20
"""Number of stored definitions that were measured while editing; older ones are deleted."""

_WORDS = WordPattern("WORD|SIGN")


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a definition: rates from 0 to 1, and the number of prompts.

    For a forecast they are the expected ones.
    """

    coverage: float
    true_positive_rate: float
    true_negative_rate: float
    prompts: int


@dataclass(frozen=True, slots=True)
class MeasuredDefinition:
    """A definition measured while editing: less than an iteration, as it has no verdicts.

    `created` is ISO 8601 UTC, `settings` those of the measured guardrail, `prompt_set` the
    fingerprint of the prompts. One that was left by its forecast is discarded.
    """

    created: str
    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    figures: Figures
    decision: Decision = Decision.UNDECIDED


@dataclass(frozen=True, eq=False)
class HistoryEntry:
    """One line of the history.

    `iteration` is None for a definition measured while editing, which has no verdicts; its name
    counts from the iteration before: "#3+1". `came_from` is the entry that this one was edited
    from. `branched` says whether that is not the preceding entry. `changes` describe the edit.
    """

    name: str
    created: str
    settings: ScannerSettings
    prompt_set: str
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
    def title(self) -> str:
        """The name in words where it is not the number of an iteration."""
        before, sign, number = self.name.partition("+")
        return f"edit {number} after {before or 'the start'}" if sign else self.name

    @property
    def what_changed(self) -> str:
        """The changed words, made inert, with the entry it branched off from.

        Of an incomplete scan, which has no rates, how many prompts are answered comes first.
        """
        answered = "" if self.iteration is None else self.iteration.evaluation.answered_text
        if self.came_from is None:
            changes = "first"
        else:
            changes = ", ".join(edit_names(self.came_from.topic, self.topic)) or "unchanged"
            if self.branched:
                changes = f"from {self.came_from.name}: {changes}"
        return " · ".join(filter(None, (answered, changes)))


# --- entries ------------------------------------------------------------------------------


def history(
    iterations: Sequence[Iteration], measured: Sequence[MeasuredDefinition]
) -> list[HistoryEntry]:
    """Return all entries, oldest first; `measured` are newest first.

    A measured definition that became an iteration is listed once.
    """
    recorded = recorded_history(iterations)
    known = {(entry.topic, entry.settings, entry.prompt_set) for entry in recorded}
    waiting = [
        definition
        for definition in measured
        if (definition.topic, definition.settings, definition.prompt_set) not in known
    ]
    entries: list[HistoryEntry] = []
    for index in range(len(recorded) + 1):
        end = recorded[index].created if index < len(recorded) else None
        before = recorded[index - 1].name if index else ""
        number = 0
        while waiting and (end is None or waiting[-1].created < end):
            number += 1
            entries.append(_measured(waiting.pop(), f"{before}+{number}"))
        entries += recorded[index : index + 1]
    return _with_origins(entries, only_measured=True)


def recorded_history(iterations: Sequence[Iteration]) -> list[HistoryEntry]:
    """Return the entries of iterations, oldest first; measured definitions do not affect them."""
    return _with_origins([_recorded(iteration) for iteration in iterations])


def _with_origins(
    entries: Sequence[HistoryEntry], *, only_measured: bool = False
) -> list[HistoryEntry]:
    """Set the origin of each entry: the earlier entry with the most similar definition.

    The definition that was in the editor before is not recorded. After a discard or a restore it is
    not that of the preceding entry. With `only_measured` iterations keep theirs.
    """
    words = [_bag(entry.topic) for entry in entries]
    complete: list[HistoryEntry] = []
    for index, entry in enumerate(entries):
        if index and not (only_measured and entry.iteration is not None):
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


def best_and_baselines(session: Session) -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers of the best iterations and of the baselines, one of each guardrail."""
    best, baselines, shown = set(), set(), session.shown
    newest = {
        iteration.evaluation.settings.kind: iteration.evaluation.settings
        for iteration in session.iterations
    }
    for settings in newest.values():
        session.shown = settings
        best |= {session.best}
        baselines |= {session.baseline}
    session.shown = shown
    of_best, of_baselines = (
        frozenset(iteration.number for iteration in found if iteration is not None)
        for found in (best, baselines)
    )
    return of_best, of_baselines


def incomparable(first: HistoryEntry, second: HistoryEntry) -> str:
    """Return why the rates of two entries are about different things; "" if they are not."""
    if first.prompt_set != second.prompt_set:
        return "they were measured on different prompts or labels"
    if _same_but_threshold(first.settings) != _same_but_threshold(second.settings):
        return "they are about different guardrails"
    same = as_rule(first.settings).threshold == as_rule(second.settings).threshold
    return "" if same else "they were measured at different thresholds"


def _same_but_threshold(settings: ScannerSettings) -> ScannerSettings:
    """Return the settings that comparable figures share; the revision changes with definitions."""
    return replace(settings, threshold=None, threshold_source="", revision="")


def _measured(measured: MeasuredDefinition, name: str) -> HistoryEntry:
    return HistoryEntry(
        name=name,
        created=measured.created,
        settings=measured.settings,
        prompt_set=measured.prompt_set,
        coverage=measured.figures.coverage,
        true_positive_rate=measured.figures.true_positive_rate,
        true_negative_rate=measured.figures.true_negative_rate,
        decision=measured.decision,
        topic=measured.topic,
        iteration=None,
    )


def _recorded(iteration: Iteration) -> HistoryEntry:
    evaluation = iteration.evaluation
    return HistoryEntry(
        name=f"#{iteration.number}",
        created=iteration.created,
        settings=evaluation.settings,
        prompt_set=evaluation.prompt_set,
        coverage=evaluation.rate("coverage"),
        true_positive_rate=evaluation.rate("true_positive_rate"),
        true_negative_rate=evaluation.rate("true_negative_rate"),
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


# --- measured definitions in the session's file -------------------------------------------


def read_measured(store: SessionStore) -> list[MeasuredDefinition]:
    """Return the definitions measured while editing, newest first; unreadable ones are skipped.

    Raises StoreError.
    """
    with store.connection() as database:
        rows = database.execute(
            "SELECT created, topic, scanner, prompt_set, figures FROM trial WHERE session = ? "
            "ORDER BY id DESC LIMIT ?",
            (store.session_id, MEASURED_AT_MOST),
        ).fetchall()
    measured = []
    for row in rows:
        with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
            measured.append(_read(*row))
    return measured


def add_measured(store: SessionStore, measured: MeasuredDefinition) -> None:
    """Store a definition as the newest, replacing an older measurement of it.

    One transaction; the oldest beyond `MEASURED_AT_MOST` are deleted. Raises StoreError.
    """
    topic = measured.topic.model_dump_json()
    with store.transaction() as database:
        database.execute(
            "DELETE FROM trial WHERE session = ? AND topic = ?", (store.session_id, topic)
        )
        database.execute(
            "INSERT INTO trial(session, created, topic, scanner, prompt_set, figures) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                store.session_id,
                measured.created,
                topic,
                settings_to_text(measured.settings),
                measured.prompt_set,
                json.dumps(asdict(measured.figures) | {"decision": measured.decision.value}),
            ),
        )
        database.execute(
            "DELETE FROM trial WHERE session = ? AND id NOT IN "
            "(SELECT id FROM trial WHERE session = ? ORDER BY id DESC LIMIT ?)",
            (store.session_id, store.session_id, MEASURED_AT_MOST),
        )


def _read(
    created: Any, topic: Any, scanner: Any, prompt_set: Any, figures: Any
) -> MeasuredDefinition:
    """Parse a row. Raises ValueError, TypeError, AttributeError or RecursionError."""
    stored = json.loads(figures)
    decision = Decision(stored.pop("decision", Decision.UNDECIDED))
    figures_read = Figures(**stored)
    rates = (
        figures_read.coverage,
        figures_read.true_positive_rate,
        figures_read.true_negative_rate,
    )
    if not all(0 <= rate <= 1 for rate in rates) or type(figures_read.prompts) is not int:
        raise ValueError("a rate is not between 0 and 1")
    return MeasuredDefinition(
        str(created),
        Topic.model_validate_json(topic),
        read_settings(scanner),
        str(prompt_set),
        figures_read,
        decision,
    )
