"""Experiments in the session's file: their plans, each verdict as it arrives, and their ends."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdict, VerdictColumns, Verdicts
from guardtui.session.draft_lock import DraftLock, is_held
from guardtui.session.evaluation_codec import (
    pack_prompts,
    read_prompts,
    read_settings,
    settings_to_text,
)
from guardtui.session.session_file import DAMAGED
from guardtui.session.store import UNREADABLE, SessionStore, StoreError

Arrival: TypeAlias = "tuple[int, int, Verdict]"
"""Number of a definition (0 is the current one), row of a prompt, and the verdict on it."""

TAUGHT = 3
"""Maximum number of definitions of one experiment whose verdicts teach a forecast."""

_TEXTS = ("reason", "problem", "note")


@dataclass(frozen=True, eq=False)
class ExperimentRecord:
    """An experiment as planned: candidates for a definition, a guardrail and labelled prompts.

    `candidates` have a definition and what else is known of them (JSON values); `seed` determines
    the order of the prompts. `keys` (uint64 [N]) and `expected` (bool [N]) are those of the
    prompts, `calls` the number of calls so far, `ending` why it has ended, or "", and `kept` the
    number of the candidate that was kept (from 1), or None.
    """

    number: int
    created: str
    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    candidates: tuple[tuple[Topic, Mapping[str, Any]], ...]
    seed: int
    calls: int = 0
    ending: str = ""
    kept: int | None = None

    @property
    def definitions(self) -> tuple[Topic, ...]:
        """The current definition and the candidates, by number."""
        return (self.topic, *(topic for topic, _ in self.candidates))

    def evaluation(self, number: int, verdicts: Verdicts) -> Evaluation:
        """Return the evaluation of a definition by verdicts [N]; rows not asked stay open."""
        return Evaluation(
            topic=self.definitions[number],
            settings=self.settings,
            prompt_set=self.prompt_set,
            keys=self.keys,
            expected=self.expected,
            verdicts=verdicts,
        )

    @property
    def text(self) -> str:
        """What was tried, what came of it, and what it cost, in words."""
        tried = count_text(len(self.candidates), "candidate")
        kept = "" if self.kept is None else f", {self.kept} is kept"
        ending = self.ending or "not finished"
        return f"experiment of {tried}: {ending}{kept}; {count_text(self.calls, 'call')}"

    def is_of(self, guardrail: Guardrail) -> bool:
        """Return whether it is of a guardrail, whichever version of its model answered."""
        return answered_by_any(self.settings.guardrail) == answered_by_any(guardrail)


def answered_by_any(guardrail: Guardrail) -> Guardrail:
    """Return a guardrail without the version of its model that answered."""
    return replace(guardrail, answered_by="")


def same_answers(one: ScannerSettings, other: ScannerSettings) -> bool:
    """Return whether verdicts by two settings may be mixed: guardrail, threshold and service.

    The revision of a model is its address; that of a profile changes with each candidate.
    """
    same = (one.guardrail, one.threshold) == (other.guardrail, other.threshold)
    return same and (not one.guardrail.models or one.revision == other.revision)


class ExperimentLog:
    """The experiments of one topic file. Every call is a transaction; each raises StoreError."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def add(self, plan: ExperimentRecord, known: Verdicts | None = None) -> ExperimentRecord:
        """Store a new experiment, with known verdicts on the current definition.

        Returns it with its number.
        """
        candidates = [
            {"topic": json.loads(topic.model_dump_json()), **more}
            for topic, more in plan.candidates
        ]
        with self._store.transaction() as database:
            number = database.execute(
                "INSERT INTO experiment(session, created, topic, scanner, prompt_set, prompts, "
                "candidates, seed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._store.session_id,
                    plan.created,
                    plan.topic.model_dump_json(),
                    settings_to_text(plan.settings),
                    plan.prompt_set,
                    pack_prompts(plan.keys, plan.expected),
                    json.dumps(candidates),
                    plan.seed,
                ),
            ).lastrowid
            assert number is not None  # noqa: S101 - of the inserted row
            if known is not None:
                _insert(database, number, [(0, *arrival) for arrival in _decided(known)])
        return replace(plan, number=number)

    def experiments(self) -> list[ExperimentRecord]:
        """Return all experiments, oldest first."""
        with self._store.connection() as database:
            rows = database.execute(
                "SELECT id, created, topic, scanner, prompt_set, prompts, candidates, seed, calls, "
                "ending, kept FROM experiment WHERE session = ? ORDER BY id",
                (self._store.session_id,),
            ).fetchall()
        with self._explained():
            return [_read(*row) for row in rows]

    def unfinished(
        self, topic: Topic, guardrail: Guardrail, prompt_set: str
    ) -> ExperimentRecord | None:
        """Return the newest unfinished experiment of a definition, guardrail and prompt set."""
        fitting = [
            record
            for record in self.experiments()
            if not record.ending
            and record.topic == topic
            and record.prompt_set == prompt_set
            and record.is_of(guardrail)
        ]
        return fitting[-1] if fitting else None

    def verdicts(self, record: ExperimentRecord) -> dict[int, VerdictColumns]:
        """Return the verdicts so far of each definition that has any, by its number."""
        with self._store.connection() as database:
            rows = database.execute(
                "SELECT definition, row, triggered, score, texts FROM experiment_verdict "
                "WHERE experiment = ?",
                (record.number,),
            ).fetchall()
        columns: dict[int, VerdictColumns] = {}
        with self._explained():
            for definition, row, triggered, score, texts in rows:
                if not (0 <= row < len(record.keys) and 0 <= definition <= len(record.candidates)):
                    raise ValueError("a row is out of range")
                more = json.loads(texts) if texts else {}
                stopped_by = tuple(more.pop("topics", ()))
                verdict = Verdict(Triggered(triggered), score=score, topics=stopped_by, **more)
                known = columns.setdefault(definition, VerdictColumns(len(record.keys)))
                known.put([row], verdict, verdict.note)
        return columns

    def keep_verdicts(
        self,
        record: ExperimentRecord,
        arrivals: Sequence[Arrival],
        calls: int,
        settings: ScannerSettings,
    ) -> None:
        """Store verdicts durably, the number of calls so far, and the guardrail's settings."""
        with self._store.transaction() as database:
            _insert(database, record.number, arrivals)
            database.execute(
                "UPDATE experiment SET calls = max(calls, ?), scanner = ? WHERE id = ?",
                (calls, settings_to_text(settings), record.number),
            )

    def end(self, record: ExperimentRecord, ending: str) -> None:
        """Store why an experiment has ended."""
        self._change(record, "ending", ending)

    def keep(self, record: ExperimentRecord, number: int) -> None:
        """Store which candidate (from 1) was kept."""
        self._change(record, "kept", number)

    def _change(self, record: ExperimentRecord, column: str, value: str | int) -> None:
        with self._store.transaction() as database:
            database.execute(
                f"UPDATE experiment SET {column} = ? WHERE id = ?",  # noqa: S608 - of this module
                (value, record.number),
            )

    @contextlib.contextmanager
    def claimed(self, record: ExperimentRecord) -> Iterator[None]:
        """Own an experiment, so that no other process asks for the same verdicts meanwhile.

        A process that is killed owns it no longer.
        """
        try:
            claim = DraftLock(self._store.folder)
        except OSError as error:
            raise StoreError(f"{self._store.folder}: {error.strerror}") from error
        try:
            with self._store.transaction() as database:
                (owner,) = database.execute(
                    "SELECT owner FROM experiment WHERE id = ?", (record.number,)
                ).fetchone() or ("",)
                with self._explained():
                    taken = bool(owner) and is_held(self._store.folder, owner)
                if taken:
                    raise StoreError(
                        "another guardtui is making this experiment\n"
                        "  wait until it has ended, or stop it there"
                    )
                database.execute(
                    "UPDATE experiment SET owner = ? WHERE id = ?", (claim.name, record.number)
                )
            yield
        finally:
            claim.release()

    def evaluations(self, besides: Sequence[Topic] = ()) -> list[Evaluation]:
        """Return what experiments measured of candidates, oldest first: most rows are open.

        Of each experiment the `TAUGHT` with the most verdicts, without definitions in `besides`,
        whose verdicts are recorded as iterations.
        """
        found = []
        for record in self.experiments():
            measured = [
                (number, columns.verdicts())
                for number, columns in sorted(self.verdicts(record).items())
                if number and record.definitions[number] not in besides
            ]
            measured.sort(key=lambda entry: -int(np.count_nonzero(entry[1].triggered >= 0)))
            found += [record.evaluation(*entry) for entry in measured[:TAUGHT]]
        return found

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UNREADABLE as error:
            kind = type(error).__name__
            raise StoreError(
                f"{self._store.path}: an experiment cannot be read ({kind})\n  {DAMAGED}"
            ) from error


def _decided(verdicts: Verdicts) -> Iterator[tuple[int, Verdict]]:
    for row in np.flatnonzero(verdicts.triggered >= Triggered.NO).tolist():
        score = float(verdicts.score[row])
        yield (
            row,
            Verdict(
                Triggered(int(verdicts.triggered[row])),
                verdicts.notes.get(row, ""),
                reason=verdicts.reasons.get(row, ""),
                topics=verdicts.stopped_by.get(row, ()),
                score=None if np.isnan(score) else score,
            ),
        )


def _insert(database: sqlite3.Connection, number: int, arrivals: Sequence[Arrival]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO experiment_verdict VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, definition, row, int(verdict.triggered), verdict.score, _texts(verdict))
            for definition, row, verdict in arrivals
        ],
    )


def _texts(verdict: Verdict) -> str:
    texts: dict[str, Any] = {name: text for name in _TEXTS if (text := str(getattr(verdict, name)))}
    if verdict.topics:
        texts["topics"] = verdict.topics
    return json.dumps(texts) if texts else ""


def _read(
    number: int,
    created: str,
    topic: str,
    scanner: str,
    prompt_set: str,
    prompts: bytes,
    candidates: str,
    seed: int,
    calls: int,
    ending: str,
    kept: int | None,
) -> ExperimentRecord:
    """Parse a row. Raises ValueError and the like, RecursionError and zlib.error."""
    keys, expected = read_prompts(prompts)
    planned = [
        (
            Topic.model_validate_json(json.dumps(candidate["topic"])),
            {name: value for name, value in candidate.items() if name != "topic"},
        )
        for candidate in json.loads(candidates)
    ]
    if kept is not None and not 0 < kept <= len(planned):
        raise ValueError("a candidate is out of range")
    return ExperimentRecord(
        number,
        str(created),
        Topic.model_validate_json(topic),
        read_settings(scanner),
        str(prompt_set),
        keys,
        expected,
        tuple(planned),
        int(seed),
        int(calls),
        str(ending),
        kept,
    )
