"""The undo journal: changes applied to remote profiles, and how to revert each."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from guardtui.session.store import SessionStore
from guardtui.session.stored_json import read_json

MAX_ENTRIES = 50

_WAITS = "airs-waits"
"""Name of the measured waits among the settings of a session, by place."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One journal entry: the data to revert a change, as the scanner's JSON object.

    `id` is unique in the file.
    """

    id: int
    way: dict[str, Any]


class AppliedLog:
    """Journal of changes applied to one profile, in a table of the session's file.

    `place` identifies the profile (`AirsConnection.key`). Commands and the app share the journal,
    also concurrently: entries are changed and removed by id. Raises StoreError.
    """

    def __init__(self, store: SessionStore, profile_key: str) -> None:
        self._store, self._place = store, profile_key

    def entries(self) -> list[JournalEntry]:
        """Return all entries, oldest first."""
        with self._store.connection() as database:
            return self._read(database)

    def ways(self) -> list[dict[str, Any]]:
        """Return the revert data of all entries, oldest first."""
        return [entry.way for entry in self.entries()]

    def push(self, way: dict[str, Any], *, passing: bool = False) -> int:
        """Add the revert data of a change that was just applied; returns the id of its entry.

        The oldest entries beyond `MAX_ENTRIES` are removed, unless the new one is `passing`: soon
        reverted.
        """
        with self._store.transaction() as database:
            added = database.execute(
                "INSERT INTO undo_journal(session, place, way) VALUES (?, ?, ?)",
                (self._store.session_id, self._place, json.dumps(way)),
            )
            if not passing:
                self._remove(database, [entry.id for entry in self._read(database)[:-MAX_ENTRIES]])
        return int(added.lastrowid or 0)

    def replace(self, entry_id: int, way: dict[str, Any]) -> None:
        """Replace the revert data of an entry, even if the entry was dropped meanwhile."""
        with self._store.transaction() as database:
            self._replace(database, entry_id, way)

    def drop(
        self,
        entry_ids: Collection[int],
        amend: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """Remove entries whose changes were reverted, in one transaction.

        `amend` maps the revert data of the preceding entry, which is the next to be reverted. It
        must not use the store.
        """
        with self._store.transaction() as database:
            self._remove(database, entry_ids)
            first = min(entry_ids, default=0)
            earlier = [entry for entry in self._read(database) if entry.id < first]
            if earlier and amend is not None:
                self._replace(database, earlier[-1].id, amend(earlier[-1].way))

    def wait(self) -> float | None:
        """Return the seconds of the last apply until scans used it; None if unknown."""
        known = self._store.setting(_WAITS)
        seconds = known.get(self._place) if isinstance(known, dict) else None
        return float(seconds) if isinstance(seconds, int | float) else None

    def keep_wait(self, seconds: float) -> None:
        """Store the seconds of an apply to this profile until scans used it."""

        def change(known: Any) -> dict[str, Any]:
            return {**(known if isinstance(known, dict) else {}), self._place: round(seconds, 1)}

        self._store.change_setting(_WAITS, change)

    def _read(self, database: sqlite3.Connection) -> list[JournalEntry]:
        rows = database.execute(
            "SELECT id, way FROM undo_journal WHERE session = ? AND place = ? ORDER BY id",
            (self._store.session_id, self._place),
        ).fetchall()
        entries = []
        for entry_id, text in rows:
            with contextlib.suppress(ValueError):
                way = read_json(text)
                if isinstance(way, dict):
                    entries.append(JournalEntry(int(entry_id), way))
        return entries

    def _replace(self, database: sqlite3.Connection, entry_id: int, way: dict[str, Any]) -> None:
        database.execute(
            "INSERT OR REPLACE INTO undo_journal(id, session, place, way) VALUES (?, ?, ?, ?)",
            (entry_id, self._store.session_id, self._place, json.dumps(way)),
        )

    def _remove(self, database: sqlite3.Connection, entry_ids: Collection[int]) -> None:
        database.executemany(
            "DELETE FROM undo_journal WHERE id = ?", [(entry_id,) for entry_id in entry_ids]
        )


class ChangeJournal:
    """Journal entry of one change in progress: a `Journal` of `scanners.airs`.

    It is called with the revert data before each request that needs it, and with None if nothing
    was changed after all.
    """

    def __init__(self, log: AppliedLog, *, passing: bool = False) -> None:
        """`passing` as in `AppliedLog.push`."""
        self.log, self._passing = log, passing
        self.entry_id: int | None = None
        """Id of the entry; None if nothing can have been changed."""

    @property
    def has_entry(self) -> bool:
        """Return whether there is an entry, so that something may have been changed."""
        return self.entry_id is not None

    def __call__(self, way: BaseModel | None) -> None:
        if way is None:
            if self.entry_id is not None:
                self.log.drop([self.entry_id])
            self.entry_id = None
        elif self.entry_id is None:
            self.entry_id = self.log.push(way.model_dump(mode="json"), passing=self._passing)
        else:
            self.log.replace(self.entry_id, way.model_dump(mode="json"))


def open_entries(store: SessionStore) -> list[tuple[str, JournalEntry]]:
    """Return the entries of all profiles of a session with their places, oldest first.

    Raises StoreError.
    """
    with store.connection() as database:
        places = database.execute(
            "SELECT DISTINCT place FROM undo_journal WHERE session = ? ORDER BY place",
            (store.session_id,),
        ).fetchall()
    return [(place, entry) for (place,) in places for entry in AppliedLog(store, place).entries()]
