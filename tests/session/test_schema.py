"""Migrations: what an older version wrote is still there, each thing in its own table."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.session.applied import AppliedLog
from guardtui.session.schema import MIGRATIONS
from guardtui.session.session_file import FILE, FOLDER
from guardtui.session.store import SessionStore
from tests.examples import up_to

WAYS = [{"revision": 3, "undo": {"place": "1"}}, {"revision": 5}]
PLAIN = {
    "encoder": "static",
    "threshold": 0.25,
    "threshold_source": "shipped",
    "airs": {"profile": "p", "agreed": "https://a p", "told": ""},
    "saved_views": [{"name": "mine", "filter": "fn"}],
    "companions": ["a.yaml"],
    "imported": [{"iteration": 4, "file": "results.tsv"}],
    "odd \ud800; name": [None, True, 2**70, "\ud800"],
}
SETTINGS = {
    **PLAIN,
    "applied": {"https://a p": WAYS, "https://b q": [{"other": 1}]},
    "suspects": {"rejected": [0, 7, 2**64 - 1]},
    "judge_templates": {"t1": "Is {prompt} it?"},
}


def older(folder: Path, settings: str, version: int = 4) -> SessionStore:
    """Open a session that an older version wrote, beside one of another topic file."""
    (folder / FOLDER).mkdir()
    with closing(sqlite3.connect(folder / FOLDER / FILE)) as database:
        database.executescript("".join(MIGRATIONS[:version]) + f"PRAGMA user_version = {version};")
        database.executemany(
            "INSERT INTO session(topic_file, settings) VALUES (?, ?)",
            [("other.yaml", '{"encoder": "minilm"}'), ("t.yaml", settings)],
        )
        database.commit()
    return SessionStore(folder / "t.yaml")


@pytest.mark.parametrize("version", range(1, 5))
def test_settings_of_an_older_schema_are_kept(tmp_path: Path, version: int) -> None:
    store = older(tmp_path, json.dumps(SETTINGS), version)
    known = store.settings()
    assert known.pop("odd ?; name") == PLAIN["odd \ud800; name"]
    assert known.pop("threshold_source") == "built-in"  # under its name of today
    known["threshold_source"] = "shipped"
    assert known == {name: value for name, value in PLAIN.items() if not name.startswith("odd")}
    assert AppliedLog(store, "https://a p").ways() == WAYS
    assert AppliedLog(store, "https://b q").ways() == [{"other": 1}]
    assert store.confirmed_labels() == {0, 7, 2**64 - 1}
    assert store.template("t1") == "Is {prompt} it?"
    assert SessionStore(tmp_path / "other.yaml").settings() == {"encoder": "minilm"}
    assert AppliedLog(SessionStore(tmp_path / "other.yaml"), "https://a p").ways() == []
    assert SessionStore(tmp_path / "t.yaml").settings()["encoder"] == "static"  # opened again


@pytest.mark.parametrize("text", ["{", "[1]", "", "3"])
def test_settings_that_are_not_an_object_stay_unchanged(tmp_path: Path, text: str) -> None:
    store = older(tmp_path, text)
    assert store.settings() == {}
    with closing(sqlite3.connect(store.path)) as database:
        rows = database.execute("SELECT settings FROM session ORDER BY id").fetchall()
    assert rows == [("{}",), (text,)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DAMAGED = st.fixed_dictionaries(
    {},
    optional={
        "applied": JSON | st.dictionaries(st.text(), JSON),
        "suspects": JSON | st.fixed_dictionaries({"rejected": JSON}),
        "judge_templates": JSON | st.dictionaries(st.text(), JSON),
        "other": JSON,
    },
)


def test_deeply_nested_settings_do_not_prevent_opening(tmp_path: Path) -> None:
    assert older(tmp_path, "[" * 100_000).settings() == {}


@settings(max_examples=up_to(30))
@given(DAMAGED)
def test_damaged_settings_do_not_prevent_opening(found: dict[str, object]) -> None:
    with TemporaryDirectory() as folder:
        store = older(Path(folder), json.dumps(found))
        assert json.dumps(store.setting("other")) == json.dumps(found.get("other"))
        AppliedLog(store, "").ways()
        store.confirmed_labels()
        store.template("t1")
