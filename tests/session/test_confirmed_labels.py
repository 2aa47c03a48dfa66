"""Labels that the author confirmed: added and taken away one by one, whoever else writes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from guardtui.session.confirmed_labels import confirm_labels, read_confirmed
from guardtui.session.store import SessionStore


def test_confirmed_labels_of_two_windows_are_all_stored(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    confirm_labels(one, {0, 2**64 - 1})
    confirm_labels(other, {5, 0})
    assert read_confirmed(one) == {0, 5, 2**64 - 1}
    confirm_labels(one, {0, 9}, right=False)
    assert read_confirmed(other) == {5, 2**64 - 1}
    assert read_confirmed(SessionStore(tmp_path / "other.yaml")) == frozenset()


def test_damaged_rows_are_skipped(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    confirm_labels(store, {7})
    with closing(sqlite3.connect(store.path)) as database:
        database.executemany(
            "INSERT INTO confirmed_label(session, prompt_key) VALUES (1, ?)",
            [("x",), (b"\xff",), ("-1",), (str(2**64),), ("1.5",)],
        )
        database.commit()
    assert read_confirmed(store) == {7}
