"""Storage of sessions in SQLite: iterations, baseline and drafts, safe against kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardtui.domain.topic import Topic
from guardtui.session.draft_lock import DraftLock, forget, is_held
from guardtui.session.session_file import DAMAGED, SessionFile, followed
from guardtui.session.session_file import StoreError as StoreError
from guardtui.session.stored_json import read_json

if TYPE_CHECKING:
    from guardtui.session.session import Decision, Iteration

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    zlib.error,
)
"""Errors of values that no guardtui wrote."""


class DecidedElsewhereError(StoreError):
    """Another program decided on iterations since they were read."""

    def __init__(self, path: Path, numbers: Collection[int], decision: str = "") -> None:
        which = ", ".join(f"#{number}" for number in numbers)
        super().__init__(
            f"{path}: another program decided on {which} meanwhile{decision and f': {decision}'}; "
            "nothing is changed\n  look at the history, and decide again"
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """An edited definition, and the fingerprint of the definition it was edited from.

    `owner` names the process that wrote it; it is set by the store.
    """

    topic: Topic
    base: str
    owner: str = field(default="", compare=False)


class SessionStore:
    """All sessions of the topic files in one folder.

    Iterations are decoded by a module that is imported with the first one: numpy takes its time.

    Every call is one atomic transaction. Two processes may use one file, because the database
    assigns the numbers of iterations. Every method raises `StoreError`.
    """

    def __init__(self, topic_path: Path, *, reading: bool = False) -> None:
        """Open or create the file; with `reading`, a read-only file is opened unchanged."""
        topic_path = followed(topic_path)
        self._file = SessionFile(topic_path.parent, reading=reading)
        # A file name need not be valid text, which SQLite requires.
        self._topic_file = os.fsencode(topic_path.name).decode("utf-8", "backslashreplace")
        self._claim: DraftLock | None = None
        self._session = self._find()
        if self._session < 0 and self._file.writable:
            self._session = self._add()

    def _add(self) -> int:
        with self.transaction() as database:
            database.execute(
                "INSERT OR IGNORE INTO session(topic_file) VALUES (?)", (self._topic_file,)
            )
        session = self._find()
        if session < 0:
            raise StoreError(f"{self.path}: its index of topics is wrong\n  {DAMAGED}")
        return session

    def _find(self) -> int:
        with self.connection() as database:
            row = database.execute(
                "SELECT id FROM session WHERE topic_file = ?", (self._topic_file,)
            ).fetchone()
        return int(row[0]) if row else -1

    @property
    def folder(self) -> Path:
        """The folder of the file, which also has locks and backups."""
        return self._file.folder

    @property
    def path(self) -> Path:
        """The file, shared by all topics of the folder."""
        return self._file.path

    @property
    def signature(self) -> tuple[object, ...]:
        """A value that changes when any process writes to the file: of its time and size."""
        return self._file.signature

    @property
    def session_id(self) -> int:
        """Key of this topic file's rows in all tables; -1 if there are none."""
        return self._session

    def connection(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a connection for reading, as `SessionFile.connection`."""
        return self._file.connection()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a write transaction, as `SessionFile.transaction`."""
        return self._file.transaction()

    # --- iterations -----------------------------------------------------------------------

    def add_iteration(self, iteration: Iteration, *, first: bool = False) -> Iteration:
        """Record an iteration durably; returns it with the number it got.

        If another program was first, one that is kept as the `first` complete one is undecided; of
        the same verdicts it is not recorded again, and that of the other program is returned.
        """
        with self.transaction() as database:
            return self._insert(database, iteration, first)

    def add_planned(self, iteration: Iteration) -> Iteration | None:
        """Record an iteration by its number; None if another program recorded one meanwhile."""
        with self.transaction() as database:
            if iteration.number != self._next_number(database):
                return None
            return self._insert(database, iteration)

    def _next_number(self, database: sqlite3.Connection) -> int:
        (number,) = database.execute(
            "SELECT coalesce(max(number) + 1, 0) FROM iteration WHERE session = ?",
            (self._session,),
        ).fetchone()
        return int(number)

    def _insert(
        self, database: sqlite3.Connection, iteration: Iteration, first: bool = False
    ) -> Iteration:
        from guardtui.session.evaluation_codec import pack_forecast, values_of
        from guardtui.session.session import Decision, is_first_complete

        evaluation, recorded = iteration.evaluation, self._read_from(database) if first else []
        if first and not is_first_complete(evaluation, recorded):
            for other in recorded:
                if other.evaluation.equals(evaluation):
                    return other
            iteration = replace(iteration, decision=Decision.UNDECIDED)
        iteration = replace(iteration, number=self._next_number(database))
        values = {
            "session": self._session,
            "number": iteration.number,
            "created": iteration.created,
            "decision": iteration.decision.value,
            "topic": iteration.evaluation.topic.model_dump_json(),
            "prompt_set": iteration.evaluation.prompt_set,
            **values_of(iteration.evaluation),
            "forecast": pack_forecast(iteration.forecast),
            "recorded_by": iteration.by.value,
        }
        names = ", ".join(values)  # column names are constants of this module
        marks = ", ".join("?" for _ in values)
        database.execute(
            f"INSERT INTO iteration({names}) VALUES ({marks})",  # noqa: S608
            (*values.values(),),
        )
        database.execute(
            "UPDATE session SET used = ? WHERE id = ?", (iteration.created, self._session)
        )
        return iteration

    def complete_iteration(self, iteration: Iteration, *, first: bool = False) -> Iteration:
        """Update an iteration that has received more verdicts; returns it as stored.

        Verdicts and a decision that another process added meanwhile stay. With `first`, an
        undecided one is kept if no other is complete or kept. It may be on other prompts now; one
        that another process decided on meanwhile keeps its own, and this is a new iteration then.
        """
        from guardtui.domain.comparison import verdicts_for
        from guardtui.session.session import Decision, is_first_complete

        with self.transaction() as database:
            stored = next(iter(self._read_from(database, "AND number = ?", iteration.number)), None)
            if stored is not None:
                evaluation = iteration.evaluation
                moves = stored.evaluation.prompt_set != evaluation.prompt_set
                if moves and stored.decision is not iteration.decision:
                    return self._insert(database, iteration)
                if stored.completions != iteration.completions:
                    theirs = verdicts_for(stored.evaluation, evaluation.keys)
                    merged = theirs.completed(evaluation.verdicts)
                    evaluation = replace(evaluation, verdicts=merged)
                iteration = replace(
                    iteration,
                    decision=stored.decision,
                    evaluation=evaluation,
                    completions=stored.completions + 1,
                )
            missing = iteration.evaluation.metrics.missing
            if first and not missing and iteration.decision is Decision.UNDECIDED:
                others = self._read_from(database, "AND number != ?", iteration.number)
                if is_first_complete(iteration.evaluation, others):
                    iteration = replace(iteration, decision=Decision.KEEP)
            self._update(database, iteration)
        return iteration

    def replace_evaluation(self, iteration: Iteration) -> Iteration | None:
        """Replace the evaluation of an iteration; returns it as stored.

        None if another process decided on it or changed it since it was read; nothing has changed
        then.
        """
        with self.transaction() as database:
            stored = next(iter(self._read_from(database, "AND number = ?", iteration.number)), None)
            known = iteration.decision, iteration.completions
            if stored is None or (stored.decision, stored.completions) != known:
                return None
            iteration = replace(iteration, completions=iteration.completions + 1)
            self._update(database, iteration)
        return iteration

    def _update(self, database: sqlite3.Connection, iteration: Iteration) -> None:
        from guardtui.session.evaluation_codec import values_of

        values = values_of(iteration.evaluation) | {
            "prompt_set": iteration.evaluation.prompt_set,
            "recorded_by": iteration.by.value,
            "completions": iteration.completions,
            "decision": iteration.decision.value,
        }
        changes = ", ".join(f"{name} = ?" for name in values)  # constants of this module
        database.execute(
            f"UPDATE iteration SET {changes} WHERE session = ? AND number = ?",  # noqa: S608
            (*values.values(), self._session, iteration.number),
        )

    def iterations(self) -> list[Iteration]:
        """Return all iterations of this topic file, oldest first."""
        return self._read("ORDER BY number")

    def newest_iteration(self) -> Iteration | None:
        """Return the latest iteration without reading the others, or None."""
        return next(iter(self._read("ORDER BY number DESC LIMIT 1")), None)

    def changed_iterations(self, known: Mapping[int, tuple[str, int]]) -> list[Iteration]:
        """Return the iterations that differ from `known` (`Session.marks`); cheap if none does."""
        with self.connection() as database:
            rows = database.execute(
                "SELECT number, decision, completions FROM iteration WHERE session = ?",
                (self._session,),
            ).fetchall()
        changed = [number for number, *mark in rows if known.get(number) != tuple(mark)]
        return [
            iteration for number in changed for iteration in self._read("AND number = ?", number)
        ]

    def _read(self, which: str, *values: int) -> list[Iteration]:
        with self.connection() as database:
            return self._read_from(database, which, *values)

    def _read_from(
        self, database: sqlite3.Connection, which: str = "", *values: int
    ) -> list[Iteration]:
        from guardtui.session.evaluation_codec import COLUMNS, read_iteration

        rows = database.execute(
            f"SELECT {COLUMNS} FROM iteration WHERE session = ? {which}",  # noqa: S608
            (self._session, *values),
        ).fetchall()
        try:
            return [read_iteration(*row) for row in rows]
        except UNREADABLE as error:
            kind = type(error).__name__
            raise StoreError(
                f"{self.path}: an iteration cannot be read ({kind})\n  {DAMAGED}"
            ) from error

    def decide(
        self,
        number: int,
        decision: Decision,
        known: Decision | None = None,
        kept: Collection[int] | None = None,
    ) -> None:
        """Change the decision on an iteration.

        Raises `DecidedElsewhereError` if it is not decided as `known`, or if other iterations are
        kept than `kept`.
        """
        with self.transaction() as database:
            if kept is not None:
                rows = database.execute(
                    "SELECT number FROM iteration WHERE session = ? AND decision = 'keep'",
                    (self._session,),
                )
                if others := sorted(({int(row[0]) for row in rows} ^ {*kept}) - {number}):
                    raise DecidedElsewhereError(self.path, others)
            (stored,) = database.execute(
                "SELECT decision FROM iteration WHERE session = ? AND number = ?",
                (self._session, number),
            ).fetchone()
            if known is not None and stored != known:
                raise DecidedElsewhereError(self.path, [number], stored)
            database.execute(
                "UPDATE iteration SET decision = ? WHERE session = ? AND number = ?",
                (decision.value, self._session, number),
            )

    # --- settings -------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Return all settings by name; unreadable ones are skipped."""
        with self.connection() as database:
            rows = database.execute(
                "SELECT name, value FROM setting WHERE session = ?", (self._session,)
            ).fetchall()
        settings: dict[str, Any] = {}
        for name, value in rows:
            with contextlib.suppress(ValueError):
                settings[str(name)] = read_json(value)
        return settings

    def setting(self, name: str) -> Any:
        """Return the JSON value of a setting; None if it is missing or unreadable."""
        with self.connection() as database:
            return _setting_of(database, self._session, name)

    def update_settings(self, changes: Mapping[str, Any]) -> None:
        """Set these settings to JSON values, in one transaction; all others are unchanged."""
        with self.transaction() as database:
            for name, value in changes.items():
                _write_setting(database, self._session, name, value)

    def change_setting(self, name: str, change: Callable[[Any], Any]) -> None:
        """Replace one setting by `change(value)`, in one transaction.

        `change` gets None if the setting is missing. It must be quick, and must not use this store.
        """
        with self.transaction() as database:
            value = change(_setting_of(database, self._session, name))
            _write_setting(database, self._session, name, value)

    # --- what else a session remembers ----------------------------------------------------

    def pinned(self) -> int | None:
        """Return the number of the pinned baseline, or None."""
        value = self._value("pinned")
        return value if isinstance(value, int) else None

    def pin(self, number: int | None) -> None:
        self._set("pinned", number)

    def prompt_file(self) -> str:
        """Return the path of the last used prompt set, or ""."""
        return str(self._value("prompt_file") or "")

    def use_prompt_file(self, path: str) -> None:
        try:
            path.encode()
        except UnicodeEncodeError:
            return  # an undecodable path must be given each time
        if path != self.prompt_file():
            self._set("prompt_file", path)

    def template(self, template_id: str) -> str:
        """Return the text of a model's prompt template, or "" if it is not stored."""
        if not template_id:
            return ""
        with self.connection() as database:
            (text,) = database.execute(
                "SELECT text FROM judge_template WHERE session = ? AND id = ?",
                (self._session, template_id),
            ).fetchone() or ("",)
        return str(text)

    def keep_template(self, template_id: str, text: str) -> None:
        """Store the text of a template with recorded verdicts, unless it is stored already."""
        with self.transaction() as database:
            database.execute(
                "INSERT OR IGNORE INTO judge_template(session, id, text) VALUES (?, ?, ?)",
                (self._session, template_id, text.encode("utf-8", "replace").decode()),
            )

    def confirmed_labels(self) -> frozenset[int]:
        """Return the keys of the prompts (`PromptSet.keys`, uint64) whose label was confirmed.

        Unreadable rows are skipped.
        """
        with self.connection() as database:
            rows = database.execute(
                "SELECT prompt_key FROM confirmed_label WHERE session = ?", (self._session,)
            ).fetchall()
        keys = set()
        for (text,) in rows:
            with contextlib.suppress(ValueError, TypeError):
                keys.add(int(text))
        return frozenset(key for key in keys if 0 <= key < 2**64)

    def confirm_labels(self, keys: Collection[int], *, right: bool = True) -> None:
        """Mark the labels of these prompts as confirmed, or as open again."""
        with self.transaction() as database:
            database.executemany(
                "INSERT OR IGNORE INTO confirmed_label(session, prompt_key) VALUES (?, ?)"
                if right
                else "DELETE FROM confirmed_label WHERE session = ? AND prompt_key = ?",
                # As text: SQLite has no unsigned 64-bit integers.
                [(self._session, str(key)) for key in keys],
            )

    # --- drafts ---------------------------------------------------------------------------

    def abandoned_drafts(self) -> list[Draft]:
        """Return definitions that were being edited when the app ended, newest first.

        Drafts of processes that are still running are excluded.
        """
        with self.connection() as database:
            rows = database.execute(
                "SELECT owner, topic, base FROM draft WHERE session = ? ORDER BY rowid DESC",
                (self._session,),
            ).fetchall()
        drafts: list[Draft] = []
        for owner, topic, base in rows:
            if not self._is_held(owner):
                with contextlib.suppress(ValueError):
                    drafts.append(Draft(Topic.model_validate_json(topic), str(base), owner))
        return drafts

    def edited_elsewhere(self) -> bool:
        """Return whether another running process has a draft of this topic."""
        with self.connection() as database:
            rows = database.execute(
                "SELECT owner FROM draft WHERE session = ?", (self._session,)
            ).fetchall()
        own_draft = self._claim.name if self._claim is not None else None
        return any(owner != own_draft and self._is_held(owner) for (owner,) in rows)

    def _is_held(self, owner: str) -> bool:
        try:
            return is_held(self.folder, owner)
        except ValueError as error:
            raise StoreError(f"{self.path}: a draft cannot be read\n  {DAMAGED}") from error

    def save_draft(self, draft: Draft | None) -> None:
        """Store the definition being edited; None deletes it because nothing is unsaved."""
        if draft is None:
            if self._claim is not None:
                self._delete_draft(self._claim.name)
                self._claim.release()
                self._claim = None
            return
        if self._claim is None:
            try:
                self._claim = DraftLock(self.folder)
            except OSError as error:
                raise self._file.folder_problem(error) from error
        with self.transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO draft(session, owner, topic, base) VALUES (?, ?, ?, ?)",
                (self._session, self._claim.name, draft.topic.model_dump_json(), draft.base),
            )

    def close(self) -> None:
        """Release the draft, so that the next process that opens the topic can take it."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def drop_draft(self, draft: Draft) -> None:
        """Delete an abandoned draft."""
        self._delete_draft(draft.owner)
        forget(self.folder, draft.owner)

    def _delete_draft(self, owner: str) -> None:
        with self.transaction() as database:
            database.execute(
                "DELETE FROM draft WHERE session = ? AND owner = ?", (self._session, owner)
            )

    def _value(self, column: str) -> Any:
        with self.connection() as database:
            (value,) = database.execute(
                f"SELECT {column} FROM session WHERE id = ?",  # noqa: S608 - a literal of this file
                (self._session,),
            ).fetchone() or (None,)
        return value

    def _set(self, column: str, value: Any) -> None:
        with self.transaction() as database:
            database.execute(
                f"UPDATE session SET {column} = ? WHERE id = ?",  # noqa: S608 - a literal of this file
                (value, self._session),
            )


def _setting_of(database: sqlite3.Connection, session: int, name: str) -> Any:
    (value,) = database.execute(
        "SELECT value FROM setting WHERE session = ? AND name = ?", (session, name)
    ).fetchone() or ("null",)
    with contextlib.suppress(ValueError):
        return read_json(value)
    return None


def _write_setting(database: sqlite3.Connection, session: int, name: str, value: Any) -> None:
    database.execute(
        "INSERT OR REPLACE INTO setting(session, name, value) VALUES (?, ?, ?)",
        (session, name, json.dumps(value)),
    )
