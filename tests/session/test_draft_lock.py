"""Names of drafts: held until they are released, by whatever thread, and none is left behind."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from guardtui.session.draft_lock import DraftLock, is_held


def test_a_name_that_another_thread_claimed_is_held_until_it_is_released(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        lock = pool.submit(DraftLock, tmp_path).result()
    (path,) = tmp_path.iterdir()
    link = path.with_name("draft-b.lock")
    os.link(path, link)  # the same lock by another name
    assert is_held(tmp_path, lock.name)
    assert is_held(tmp_path, "b")
    lock.release()
    assert not is_held(tmp_path, "b")
    assert not path.exists()


def test_a_folder_without_locks_keeps_no_file_of_a_failed_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(lock: FileLock) -> None:
        Path(lock.lock_file).touch()
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(OSError, match="no locks available"):
        DraftLock(tmp_path)
    assert [*tmp_path.iterdir()] == []
