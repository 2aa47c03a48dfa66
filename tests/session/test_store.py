"""The store: everything comes back, two processes share it, kill -9 leaves a whole file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.topic import Topic
from guardtui.session.session import Decision, Session
from guardtui.session.store import FILE, FOLDER, MIGRATIONS, Draft, SessionStore, StoreError
from tests.session.test_session import TOPIC, evaluation


def iteration(hits: int = 5):  # type: ignore[no-untyped-def]
    return Session(TOPIC).next_iteration(evaluation(TOPIC, hits), Decision.KEEP, "2026-01-01")


def test_everything_comes_back(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "tax.yaml")
    written = store.add_iteration(iteration(7))
    store.add_iteration(iteration(8))
    store.decide(1, Decision.DISCARD)
    store.pin(0)
    store.use_prompt_file("/some/where.csv")
    store.save_settings({"encoder": "static"})
    again = SessionStore(tmp_path / "tax.yaml")
    first, second = again.iterations()
    assert (first.number, second.number) == (0, 1)
    assert second.decision is Decision.DISCARD
    assert first.evaluation.topic == TOPIC
    assert first.evaluation.settings == written.evaluation.settings
    assert first.evaluation.metrics == written.evaluation.metrics
    for name in ("keys", "expected"):
        found = getattr(first.evaluation, name)
        assert np.array_equal(found, getattr(written.evaluation, name))
    assert again.pinned() == 0
    assert again.prompt_file() == "/some/where.csv"
    assert again.settings() == {"encoder": "static"}


def test_topics_of_one_folder_are_kept_apart(tmp_path: Path) -> None:
    SessionStore(tmp_path / "a.yaml").add_iteration(iteration())
    assert SessionStore(tmp_path / "b.yaml").iterations() == []


def test_a_draft_is_offered_until_it_is_gone(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "tax.yaml")
    assert store.draft() is None
    draft = Draft(Topic(name="half a sen", examples=("\x1b[31m",)), "base")
    store.save_draft(draft)
    assert SessionStore(tmp_path / "tax.yaml").draft() == draft
    store.save_draft(None)
    assert store.draft() is None


def test_two_processes_number_their_iterations_apart(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    numbers = [store.add_iteration(iteration()).number for store in (one, other, one)]
    assert numbers == [0, 1, 2]


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    with sqlite3.connect(store.path) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match="newer guardtui"):
        SessionStore(tmp_path / "t.yaml")


def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / FILE).write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"sessions.sqlite3.*\n.*move it away"):
        SessionStore(tmp_path / "t.yaml")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file is in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        SessionStore(tmp_path / "t.yaml")


_KEEP_FOREVER = """
import sys
from pathlib import Path
from guardtui.session.store import SessionStore
from tests.session.test_store import iteration
store = SessionStore(Path(sys.argv[1]))
while True:
    print(store.add_iteration(iteration()).number, flush=True)
"""


def test_kill_9_while_keeping_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _KEEP_FOREVER, str(tmp_path / "t.yaml")],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    told += [int(line) for line in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    kept = SessionStore(tmp_path / "t.yaml").iterations()
    assert [one.number for one in kept][: len(told)] == told
    assert len(kept) - len(told) <= 1
    assert all(one.evaluation.metrics.total == 20 for one in kept)
