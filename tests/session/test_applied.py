"""The undo journal: entries by place and id, the newest ones kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import BaseModel

from guardtui.session.applied import MAX_ENTRIES, AppliedLog, ChangeJournal, open_entries
from guardtui.session.store import SessionStore


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "t.yaml")


def test_entries_are_ordered_and_separate_by_profile(store: SessionStore) -> None:
    one, other = AppliedLog(store, "one"), AppliedLog(store, "other")
    for number in range(3):
        one.push({"number": number})
        other.push({"number": -number})
    assert [way["number"] for way in one.ways()] == [0, 1, 2]
    assert [way["number"] for way in other.ways()] == [0, -1, -2]


def test_oldest_entries_beyond_the_limit_are_removed(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    AppliedLog(store, "other").push({"number": -1})
    for number in range(MAX_ENTRIES + 2):
        log.push({"number": number})
    assert [way["number"] for way in log.ways()] == list(range(2, MAX_ENTRIES + 2))
    assert AppliedLog(store, "other").ways() == [{"number": -1}]


def test_removing_entries_amends_the_preceding_entry(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    ids = [log.push({"number": number}) for number in range(4)]
    # The last one is another process's, journalled while this one took ways back.
    log.drop(ids[1:3], lambda way: {**way, "amended": True})
    assert log.ways() == [{"number": 0, "amended": True}, {"number": 3}]
    log.drop([ids[0]], lambda way: {**way, "amended": True})  # nothing is before it
    assert log.ways() == [{"number": 3}]


def test_failing_amendment_keeps_all_entries(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    ids = [log.push({"number": number}) for number in range(2)]

    def fail(way: dict[str, object]) -> dict[str, object]:
        raise KeyError(way["number"])

    with pytest.raises(KeyError):
        log.drop(ids[1:], fail)
    assert log.ways() == [{"number": 0}, {"number": 1}]


def test_damaged_entries_are_skipped(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    for number in range(4):
        log.push({"number": number})
    with closing(sqlite3.connect(store.path)) as database:
        for entry_id, damage in ((1, "{"), (2, b"\xff"), (3, "[1]")):
            database.execute("UPDATE undo_journal SET way = ? WHERE id = ?", (damage, entry_id))
        database.commit()
    assert log.ways() == [{"number": 3}]


class Way(BaseModel):
    number: int


def test_change_keeps_its_entry_despite_concurrent_changes(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    journal = ChangeJournal(log)
    journal(None)
    assert not journal.has_entry
    journal(Way(number=1))
    other = log.push({"number": 2})  # another process applies meanwhile
    journal(Way(number=3))
    assert log.ways() == [{"number": 3}, {"number": 2}]
    log.drop([entry.id for entry in log.entries() if entry.id != other])
    journal(Way(number=4))  # the change is under way: its way back is needed
    assert journal.has_entry
    assert log.ways() == [{"number": 4}, {"number": 2}]
    journal(None)
    assert (journal.has_entry, log.ways()) == (False, [{"number": 2}])


def test_the_wait_of_the_last_apply_is_remembered_for_each_profile(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    assert log.wait() is None
    AppliedLog(store, "other").keep_wait(3)
    log.keep_wait(12.34)
    assert (log.wait(), AppliedLog(store, "other").wait()) == (12.3, 3.0)


def test_a_passing_entry_displaces_none(store: SessionStore) -> None:
    log = AppliedLog(store, "one")
    for number in range(MAX_ENTRIES):
        log.push({"number": number})
    journal = ChangeJournal(log, passing=True)
    journal(Way(number=-1))
    assert log.ways()[0] == {"number": 0}
    assert open_entries(store) == [("one", entry) for entry in log.entries()]
    journal(None)
    assert len(log.ways()) == MAX_ENTRIES
