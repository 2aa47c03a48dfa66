"""The cache of verdicts: durable, shared, bounded, and never in the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.scanners.base import verdict_key
from guardtui.session.verdict_cache import FILE, SqliteVerdicts
from tests.damage import changed_bytes, is_exhaustive

ROOT = Path(__file__).parents[2]


def test_verdicts_are_found_by_another_process(tmp_path: Path) -> None:
    first, second = SqliteVerdicts(tmp_path / "new"), SqliteVerdicts(tmp_path / "new")
    key = verdict_key("airs", "prompt")
    assert first.find(key) is None
    first.keep(key, Verdict(Triggered.YES, "é \ud800"))
    assert second.find(key) == Verdict(Triggered.YES, "é ?")
    second.keep(key, Verdict(Triggered.NO))
    assert first.find(key) == Verdict(Triggered.NO, "")


def test_verdicts_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """Rows as version 0.1 wrote them: a topic's verdicts, a judge's, a whole profile's."""
    with sqlite3.connect(tmp_path / "verdicts-3.sqlite3") as database:
        database.execute(
            "CREATE TABLE verdicts(number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, triggered"
            " INTEGER NOT NULL, note TEXT NOT NULL, details TEXT NOT NULL)"
        )
        database.executemany(
            "INSERT INTO verdicts(key, triggered, note, details) VALUES (?, ?, ?, ?)",
            [
                (verdict_key("a"), 1, "a note", '{"topics": ["Tax", "Baking"], "reason": ""}'),
                (verdict_key("b"), 0, "", '{"topics": [], "reason": ""}'),
                (verdict_key("c"), 1, "2 of 3", '{"topics": [], "reason": "because\\nit is"}'),
                (verdict_key("d"), 0, "", '{"topics": ["-Tax", "+Help"], "reason": ""}'),
            ],
        )
    database.close()
    cache = SqliteVerdicts(tmp_path)
    assert [cache.find(verdict_key(name)) for name in "abcde"] == [
        Verdict(Triggered.YES, "a note", ("Tax", "Baking")),
        Verdict(Triggered.NO),
        Verdict(Triggered.YES, "2 of 3", reason="because\nit is"),
        Verdict(Triggered.NO, topics=("-Tax", "+Help")),
        None,
    ]


def test_keys_differ_for_every_part() -> None:
    parts = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc",), ("a", "\ud800"), ("a", "?")]
    assert len({verdict_key(*part) for part in parts}) == len(parts)


def test_prompts_are_not_in_the_file(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.keep(
        verdict_key("https://host.example", "a secret prompt"), Verdict(Triggered.YES, "A NOTE")
    )
    cache.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"A NOTE" in content
    assert b"secret" not in content
    assert b"host.example" not in content


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_kill_right_after_a_verdict_keeps_it(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from guardtui.domain.verdicts import Triggered, Verdict\n"
        "from guardtui.scanners.base import verdict_key\n"
        "from guardtui.session.verdict_cache import SqliteVerdicts\n"
        "cache = SqliteVerdicts(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    cache.keep(verdict_key(str(n)), Verdict(Triggered(n % 2 == 0), str(n)))\n"
        f"os.kill(os.getpid(), {signal.SIGKILL:d})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=False, env=environment
    )
    assert done.returncode == -signal.SIGKILL
    cache = SqliteVerdicts(tmp_path)
    results = [cache.find(verdict_key(str(n))) for n in range(50)]
    assert results == [Verdict(Triggered(n % 2 == 0), str(n)) for n in range(50)]


def test_damaged_file_is_replaced(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.close()
    cache.path.write_bytes(b"no database " * 500)
    again = SqliteVerdicts(tmp_path)
    assert again.works
    again.keep(b"k", Verdict(Triggered.YES))
    assert again.find(b"k") == Verdict(Triggered.YES)


def test_file_with_other_tables_is_replaced(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("CREATE TABLE verdicts(number INTEGER PRIMARY KEY, other TEXT)")
    cache = SqliteVerdicts(tmp_path)
    cache.keep(b"k", Verdict(Triggered.YES))
    cache.keep(b"k", Verdict(Triggered.YES))  # the first may have found out
    assert cache.find(b"k") == Verdict(Triggered.YES)


def test_file_with_changed_bytes_raises_nothing_and_is_replaced(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    keys = [verdict_key(str(number)) for number in range(100)]
    for key in keys:
        cache.keep(key, Verdict(Triggered.YES, "note", ("Tax",), "a reason", score=0.5))
    cache.close()
    content = cache.path.read_bytes()
    for copy in changed_bytes(content, 300 if is_exhaustive() else 30):
        for ending in ("-wal", "-shm"):
            cache.path.with_name(FILE + ending).unlink(missing_ok=True)
        cache.path.write_bytes(copy)
        cache = SqliteVerdicts(tmp_path)
        for key in keys:
            assert isinstance(cache.find(key), Verdict | None)
        for _ in range(2):
            cache.keep(keys[0], Verdict(Triggered.NO))
        assert cache.find(keys[0]) == Verdict(Triggered.NO)
        cache.close()


def test_deeply_nested_details_are_omitted(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.keep(b"k", Verdict(Triggered.YES, "note", ("Tax",)))
    with closing(sqlite3.connect(cache.path)) as database:
        database.execute("UPDATE verdicts SET details = ?", ("[" * 100_000,))
        database.commit()
    assert cache.find(b"k") == Verdict(Triggered.YES, "note")


def test_use_in_another_thread_does_not_replace_the_file(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.keep(b"k", Verdict(Triggered.YES))
    thread = threading.Thread(target=cache.find, args=(b"k",))
    thread.start()
    thread.join()
    assert SqliteVerdicts(tmp_path).find(b"k") == Verdict(Triggered.YES)


def test_unusable_folder_disables_the_cache_without_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = SqliteVerdicts(tmp_path / "file")
    cache.keep(b"k", Verdict(Triggered.YES))
    assert (cache.works, cache.find(b"k")) == (False, None)
    closed = SqliteVerdicts(tmp_path)
    closed.close()
    closed.keep(b"k", Verdict(Triggered.YES))
    assert closed.find(b"k") is None


def test_oldest_verdicts_are_deleted_beyond_the_limit(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    for number in range(10):
        cache.keep(verdict_key(str(number)), Verdict(Triggered.YES))
    cache.close()
    again = SqliteVerdicts(tmp_path, limit=4)
    kept = [number for number in range(10) if again.find(verdict_key(str(number)))]
    assert kept == [6, 7, 8, 9]
