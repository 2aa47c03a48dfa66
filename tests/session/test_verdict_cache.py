"""The cache of verdicts: durable, shared, bounded, and never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from guardtui.scanners.base import KeptVerdict, verdict_key
from guardtui.session.verdict_cache import SqliteVerdicts

ROOT = Path(__file__).parents[2]


def test_verdicts_are_found_again_by_another_process(tmp_path: Path) -> None:
    first, second = SqliteVerdicts(tmp_path / "new"), SqliteVerdicts(tmp_path / "new")
    key = verdict_key("airs", "prompt")
    assert first.find(key) is None
    first.keep(key, KeptVerdict(True, "é \ud800"))
    assert second.find(key) == KeptVerdict(True, "é ?")
    second.keep(key, KeptVerdict(False))
    assert first.find(key) == KeptVerdict(False, "")


def test_keys_tell_all_parts_apart() -> None:
    parts = [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc",), ("a", "\ud800"), ("a", "?")]
    assert len({verdict_key(*one) for one in parts}) == len(parts)


def test_what_was_asked_is_not_in_the_file(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.keep(verdict_key("https://host.example", "a secret prompt"), KeptVerdict(True, "A NOTE"))
    cache.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"A NOTE" in content
    assert b"secret" not in content
    assert b"host.example" not in content


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_kill_right_after_a_verdict_keeps_it(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from guardtui.scanners.base import KeptVerdict, verdict_key\n"
        "from guardtui.session.verdict_cache import SqliteVerdicts\n"
        "cache = SqliteVerdicts(Path(sys.argv[1]))\n"
        "for n in range(50): cache.keep(verdict_key(str(n)), KeptVerdict(n % 2 == 0, str(n)))\n"
        f"os.kill(os.getpid(), {signal.SIGKILL:d})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], check=False, env=environment
    )
    assert done.returncode == -signal.SIGKILL
    cache = SqliteVerdicts(tmp_path)
    found = [cache.find(verdict_key(str(n))) for n in range(50)]
    assert found == [KeptVerdict(n % 2 == 0, str(n)) for n in range(50)]


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    cache.close()
    cache.path.write_bytes(b"no database " * 500)
    again = SqliteVerdicts(tmp_path)
    assert again.works
    again.keep(b"k", KeptVerdict(True))
    assert again.find(b"k") == KeptVerdict(True)


def test_a_folder_that_cannot_be_used_forgets_and_never_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = SqliteVerdicts(tmp_path / "file")
    cache.keep(b"k", KeptVerdict(True))
    assert (cache.works, cache.find(b"k")) == (False, None)
    closed = SqliteVerdicts(tmp_path)
    closed.close()
    closed.keep(b"k", KeptVerdict(True))
    assert closed.find(b"k") is None


def test_the_oldest_verdicts_make_room(tmp_path: Path) -> None:
    cache = SqliteVerdicts(tmp_path)
    for number in range(10):
        cache.keep(verdict_key(str(number)), KeptVerdict(True))
    cache.close()
    again = SqliteVerdicts(tmp_path, limit=4)
    kept = [number for number in range(10) if again.find(verdict_key(str(number)))]
    assert kept == [6, 7, 8, 9]
