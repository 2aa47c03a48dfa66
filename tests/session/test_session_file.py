"""The session's file: created whole, and every damage told with its remedy."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from guardtui.session.applied import AppliedLog
from guardtui.session.history import (
    Figures,
    MeasuredDefinition,
    add_measured,
    read_measured,
)
from guardtui.session.report_reader import recorded_topics
from guardtui.session.schema import MIGRATIONS
from guardtui.session.session import Decision
from guardtui.session.session_file import FILE, FOLDER, SessionFile
from guardtui.session.store import SessionStore, StoreError
from tests.damage import changed_bytes, is_exhaustive
from tests.session.test_session import TOPIC
from tests.session.test_store import DEEP, DRAFT, iteration, told

MEASURED = MeasuredDefinition(
    "2026-01-01", TOPIC, iteration().evaluation.settings, "set", Figures(0.5, 0.5, 1, 20)
)


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    return tmp_path / "t.yaml"


def fill(topic: Path) -> Path:
    """Write something to every table, and return the file."""
    store = SessionStore(topic)
    for number in range(3):
        store.add_iteration(told({number: "note"}, {2: ("Tax", "Other")}))
    store.update_settings({"encoder": "static", "fit": {"folds": [0.5, 0.25]}})
    store.pin(1)
    store.use_prompt_file("/folder/prompts.csv")
    AppliedLog(store, "profile").push({"way": 1})
    store.confirm_labels([1, 2**64 - 1])
    store.keep_template("abcd1234", "Is {prompt} about it?")
    add_measured(store, MEASURED)
    store.save_draft(DRAFT)
    store.close()
    return store.path


def read_all(topic: Path) -> None:
    recorded_topics(topic.parent)
    store = SessionStore(topic, reading=True)
    store.iterations()
    store.newest_iteration()
    store.settings()
    store.setting("encoder")
    store.pinned()
    store.prompt_file()
    store.abandoned_drafts()
    store.edited_elsewhere()
    read_measured(store)
    store.confirmed_labels()
    store.template("abcd1234")
    AppliedLog(store, "profile").entries()


def write_all(topic: Path) -> None:
    store = SessionStore(topic)
    store.add_iteration(iteration())
    store.decide(0, Decision.DISCARD)
    store.update_settings({"encoder": "minilm"})
    store.pin(2)
    store.save_draft(DRAFT)
    store.save_draft(None)
    AppliedLog(store, "profile").push({"way": 2})
    store.confirm_labels([3])
    add_measured(store, MEASURED)


class Careless(sqlite3.Connection):
    """A connection that never waits for the disk: power failures are not tested here."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return super().execute(statement.replace("synchronous=FULL", "synchronous=OFF"), *values)


def test_changed_bytes_are_damage_or_unnoticed(
    topic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fill(topic)
    content = path.read_bytes()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Careless))
    reported: list[str] = []
    for copy in changed_bytes(content, 3000 if is_exhaustive() else 80):
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        path.write_bytes(copy)
        try:
            read_all(topic)
            write_all(topic)
        except StoreError as problem:
            reported.append(str(problem))
    assert len(reported) > 8
    for text in reported:
        assert text.startswith(str(path))
        assert "damaged: move it away" in text or "newer guardtui" in text


@pytest.mark.parametrize("keep", [0, 1, 50, 512, 4096, 5000, 40_000])
def test_truncated_file_is_damage(topic: Path, keep: int) -> None:
    path = fill(topic)
    path.write_bytes(path.read_bytes()[:keep])
    for use in (read_all, write_all):
        with pytest.raises(StoreError, match="damaged: move it away"):
            use(topic)
    assert path.stat().st_size == keep


@pytest.mark.parametrize(
    "content", [b"this is no database" * 100, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_other_content_is_damage(topic: Path, content: bytes) -> None:
    path = fill(topic)
    path.write_bytes(content)
    for use in (read_all, write_all):
        with pytest.raises(StoreError, match=r"sessions.sqlite3.*\n.*damaged: move it away"):
            use(topic)
    assert path.read_bytes() == content


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("version", [len(MIGRATIONS) + 1, 2**31 - 1])
def test_newer_schema_says_to_upgrade_and_is_unchanged(
    topic: Path, version: int, reading: bool
) -> None:
    path = fill(topic)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    content = path.read_bytes()
    with pytest.raises(StoreError, match=rf"newer guardtui \(schema {version}.*\n  upgrade"):
        SessionStore(topic, reading=reading)
    with pytest.raises(StoreError, match="newer guardtui"):
        recorded_topics(topic.parent)
    assert path.read_bytes() == content


def test_older_schema_without_its_version_is_damage(topic: Path) -> None:
    with closing(sqlite3.connect(fill(topic))) as database:
        database.execute("PRAGMA user_version = 0")
    with pytest.raises(StoreError, match="damaged: move it away"):
        SessionStore(topic)


def test_deeply_nested_values_of_other_tables_are_skipped(topic: Path) -> None:
    with closing(sqlite3.connect(fill(topic))) as database:
        for column in ("undo_journal SET way", "trial SET figures", "trial SET scanner"):
            database.execute(f"UPDATE {column} = ?", (DEEP,))
        database.commit()
    store = SessionStore(topic)
    assert AppliedLog(store, "profile").entries() == []
    assert read_measured(store) == []


def test_file_is_created_whole_and_alone(topic: Path) -> None:
    SessionFile(topic.parent)
    names = {entry.name for entry in (topic.parent / FOLDER).iterdir()}
    assert names == {FILE, ".gitignore"}
    assert (topic.parent / FOLDER / FILE).stat().st_size > 4096


def without_links(*_: object) -> None:
    raise PermissionError(1, "hard links are not supported")


def test_file_is_created_where_there_are_no_hard_links(
    topic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "hardlink_to", without_links)
    write_all(topic)
    read_all(topic)


def test_file_that_another_process_creates_first_is_used(
    topic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Path.hardlink_to

    def late(self: Path, target: Path) -> None:
        monkeypatch.undo()
        SessionStore(topic).update_settings({"first": True})
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", late)
    assert SessionStore(topic).settings() == {"first": True}


def uses(store: SessionStore) -> list[Callable[[], object]]:
    return [
        store.iterations,
        lambda: store.save_draft(DRAFT),
        lambda: store.add_iteration(iteration()),
        lambda: store.update_settings({"a": 1}),
    ]


def test_deleted_file_is_reported_and_not_created_again(topic: Path) -> None:
    path = fill(topic)
    store = SessionStore(topic)
    shutil.rmtree(path.parent)
    for use in uses(store):
        with pytest.raises(StoreError, match="missing: it was deleted or moved"):
            use()
    path.parent.mkdir()
    for use in uses(store):
        with pytest.raises(StoreError, match="missing: it was deleted or moved"):
            use()
    assert not path.exists()


def test_locked_file_names_the_other_program(topic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fill(topic)
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, **{**options, "timeout": 0})
    )
    with closing(connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = SessionStore(topic)
        assert store.iterations()  # neither opening nor reading waits
        with pytest.raises(StoreError, match=r"locked\n  close the other program"):
            store.update_settings({"a": 1})
        assert SessionStore(topic, reading=True).settings()["encoder"] == "static"


def test_file_in_place_of_the_folder_is_reported(topic: Path) -> None:
    (topic.parent / FOLDER).write_text("a file is in the way")
    with pytest.raises(
        StoreError, match=r"cannot be written .*\n.* copy the topic and its prompts"
    ):
        SessionStore(topic)
