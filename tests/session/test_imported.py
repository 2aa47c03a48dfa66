"""Imported iterations: in their own table, replaced file by file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.session.history import ImportedRow
from guardtui.session.imported import add_imported, read_imported
from guardtui.session.session import Decision
from guardtui.session.store import SessionStore
from tests.examples import up_to


def row(number: int, description: str, file: str = "a.tsv") -> ImportedRow:
    return ImportedRow(number, 0.8, 0.9, 0.8, 0.84, Decision.KEEP, description, ("one",), file)


rates = st.floats(0, 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
rows = st.lists(
    st.builds(
        ImportedRow,
        st.integers(0, 99),
        rates,
        rates,
        rates,
        rates,
        st.sampled_from(Decision),
        texts,
        st.lists(texts, max_size=3).map(tuple),
        st.sampled_from(["a.tsv", "b.tsv"]),
    )
)


@settings(max_examples=up_to(30))
@given(rows)
def test_imported_rows_are_restored_and_replaced_by_file(added: list[ImportedRow]) -> None:
    with TemporaryDirectory() as folder:
        store = SessionStore(Path(folder) / "t.yaml")
        add_imported(store, added)
        assert list(read_imported(store)) == added
        add_imported(store, [row(5, "new", "b.tsv")])
        kept = [one for one in added if one.file == "a.tsv"]
        assert list(read_imported(store)) == [*kept, row(5, "new", "b.tsv")]


def test_undecodable_file_name_identifies_one_file(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    for description in ("old", "new"):
        add_imported(store, [row(1, description, "log-\udcff.tsv")])
    assert read_imported(store) == (row(1, "new", "log-?.tsv"),)
    assert read_imported(SessionStore(tmp_path / "other.yaml")) == ()


def test_damaged_rows_are_skipped(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    add_imported(store, [row(number, "text") for number in range(5)])
    damage = ("decision = 'x'", "examples = '{'", "coverage = 'x'", "number = 'x'")
    with closing(sqlite3.connect(store.path)) as database:
        for number, change in enumerate(damage):
            database.execute(f"UPDATE imported_iteration SET {change} WHERE number = {number}")
        database.commit()
    assert read_imported(store) == (row(4, "text"),)
