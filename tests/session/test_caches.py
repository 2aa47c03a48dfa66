"""The caches of paid results: durable, shared, bounded, and never in the way."""

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

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.scanners.airs.models import CustomTopic
from guardtui.scanners.airs.topic_revisions import ServiceRevisions, text_hash
from guardtui.scanners.base import verdict_key
from guardtui.session.caches import (
    SqliteCache,
    SqliteTopicRevisions,
    SqliteVerdicts,
    open_answers,
)
from tests.damage import changed_bytes, is_exhaustive

ROOT = Path(__file__).parents[2]
YES = Verdict(Triggered.YES, "a note", ("Tax", "Baking"), "because\nit is", score=0.5)

TAX = CustomTopic(
    topic_id="2F3C0000-0000-4000-8000-000000000000",
    topic_name="Tax",
    revision=1,
    description="A secret text",
    examples=("a", "b"),
)
NEWER = TAX.model_copy(update={"revision": 2, "description": "Another text"})


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_texts_are_found_by_another_process(tmp_path: Path) -> None:
    first, second = SqliteCache(tmp_path / "new" / "f"), SqliteCache(tmp_path / "new" / "f")
    assert first.find(b"k") is None
    first.keep(b"k", "grade\nC é \ud800")
    assert second.find(b"k") == "grade\nC é ?"
    second.keep(b"k", "other")
    assert first.find(b"k") == "other"


def test_keys_differ_for_every_part() -> None:
    parts = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc",), ("a", "\ud800"), ("a", "?")]
    assert len({verdict_key(*part) for part in parts}) == len(parts)


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_kill_right_after_a_verdict_keeps_it(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from guardtui.domain.verdicts import Triggered, Verdict\n"
        "from guardtui.session.caches import SqliteVerdicts\n"
        "cache = SqliteVerdicts(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    cache.keep(b'%d' % n, Verdict(Triggered(n % 2 == 0), str(n)))\n"
        f"os.kill(os.getpid(), {signal.SIGKILL:d})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=False, env=environment
    )
    assert done.returncode == -signal.SIGKILL
    cache = SqliteVerdicts(tmp_path)
    results = [cache.find(b"%d" % n) for n in range(50)]
    assert results == [Verdict(Triggered(n % 2 == 0), str(n)) for n in range(50)]


def test_damaged_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"no database " * 500)
    cache = SqliteCache(tmp_path / "f")
    assert cache.works
    cache.keep(b"k", "v")
    assert cache.find(b"k") == "v"


def test_file_with_other_tables_is_replaced(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "f")) as database:
        database.execute("CREATE TABLE cache(number INTEGER PRIMARY KEY, other TEXT)")
    cache = SqliteCache(tmp_path / "f")
    cache.keep(b"k", "v")
    cache.keep(b"k", "v")  # the first may have found out
    assert cache.find(b"k") == "v"


def test_file_with_changed_bytes_raises_nothing_and_is_replaced(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    keys = [verdict_key(str(number)) for number in range(100)]
    for key in keys:
        cache.keep(key, YES)
    cache.close()
    content = cache.path.read_bytes()
    for copy in changed_bytes(content, 300 if is_exhaustive() else 30):
        for ending in ("-wal", "-shm"):
            Path(f"{cache.path}{ending}").unlink(missing_ok=True)
        cache.path.write_bytes(copy)
        cache = SqliteVerdicts(tmp_path)
        for key in keys:
            assert isinstance(cache.find(key), Verdict | None)
        for _ in range(2):
            cache.keep(keys[0], Verdict(Triggered.NO))
        assert cache.find(keys[0]) == Verdict(Triggered.NO)
        cache.close()


def test_use_in_another_thread_does_not_replace_the_file(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path / "f")
    cache.keep(b"k", "v")
    thread = threading.Thread(target=cache.find, args=(b"k",))
    thread.start()
    thread.join()
    assert SqliteCache(tmp_path / "f").find(b"k") == "v"


def test_unusable_folder_disables_the_cache_without_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = SqliteVerdicts(tmp_path / "file")
    cache.keep(b"k", YES)
    assert (cache.works, cache.find(b"k")) == (False, None)
    closed = SqliteVerdicts(tmp_path)
    closed.close()
    closed.keep(b"k", YES)
    assert closed.find(b"k") is None
    revisions = SqliteTopicRevisions(tmp_path / "file")
    revisions.keep("https://a", [("id", 1, "text")])
    assert revisions.find("https://a", "id", 1) is None


def test_revisions_are_found_by_their_text_the_newest_first(tmp_path: Path) -> None:
    revisions = SqliteTopicRevisions(tmp_path)
    revisions.keep("https://a", [("id", 1, "text"), ("id", 2, "text"), ("id", 3, "other")])
    assert revisions.find_text("https://a", "id", range(3, 0, -1), "text") == 2
    assert revisions.find_text("https://a", "id", range(3, 2, -1), "text") == 0
    assert revisions.find_text("https://b", "id", range(3, 0, -1), "text") == 0


def test_oldest_texts_are_deleted_when_full(tmp_path: Path) -> None:
    cache = SqliteCache(tmp_path / "f")
    for number in range(100):
        cache.keep(b"%d" % number, "x" * 1000)
    cache.close()
    again = SqliteCache(tmp_path / "f", limit=50_000)
    kept = [number for number in range(100) if again.find(b"%d" % number)]
    assert kept == list(range(100 - len(kept), 100))
    assert 30 < len(kept) < 45


# --- what is in them -----------------------------------------------------------------------------


def test_prompts_addresses_and_definitions_are_in_no_file(tmp_path: Path) -> None:
    key = verdict_key("https://host.example#m", "a secret prompt")
    answers, verdicts = open_answers(tmp_path), SqliteVerdicts(tmp_path)
    answers.keep(key, "GRADE: C")
    verdicts.keep(key, YES)
    answers.close()
    verdicts.close()
    ServiceRevisions("https://host.example", SqliteTopicRevisions(tmp_path)).keep([TAX])
    content = contents(tmp_path)
    assert b"GRADE: C" in content
    assert b"a note" in content
    assert b"secret" not in content
    assert b"host.example" not in content


def test_all_parts_of_a_verdict_are_found_again(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    for verdict in (YES, Verdict(Triggered.NO), Verdict(Triggered.NO, topics=("-Tax", "+Help"))):
        cache.keep(b"k", verdict)
        assert cache.find(b"k") == verdict


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", '[true, "", 1, "", null]', "[1]"])
def test_damaged_verdict_is_requested_again(tmp_path: Path, text: str) -> None:
    with closing(SqliteCache(SqliteVerdicts(tmp_path).path)) as cache:
        cache.keep(b"k", text)
    assert SqliteVerdicts(tmp_path).find(b"k") is None


def test_seen_revisions_are_found_by_another_process(tmp_path: Path) -> None:
    ServiceRevisions("https://a", SqliteTopicRevisions(tmp_path)).keep([TAX, NEWER])
    known = ServiceRevisions("https://a", SqliteTopicRevisions(tmp_path))
    assert known.text(TAX.topic_id.lower(), 1) == text_hash(TAX)
    assert known.text(TAX.topic_id, 0) == text_hash(TAX)  # a pin without a revision
    assert known.text(TAX.topic_id, 2) == text_hash(NEWER) != text_hash(TAX)
    assert known.text(TAX.topic_id, 3) is None
    elsewhere = ServiceRevisions("https://b", SqliteTopicRevisions(tmp_path))
    assert elsewhere.text(TAX.topic_id, 1) is None


def test_hash_of_a_definition_is_that_of_its_text() -> None:
    topic = Topic(name="Tax", description="A secret text", examples=("a", "b"))
    assert text_hash(topic) == text_hash(TAX)
    assert text_hash(topic.model_copy(update={"examples": ("b", "a")})) != text_hash(TAX)
