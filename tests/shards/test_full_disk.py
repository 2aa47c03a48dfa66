"""A disk that is full half-way: an error that says so, and nothing half is taken for whole."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from guardtui.files.problems import FileError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import cut
from guardtui.shards.vectors import stored_vectors
from tests.shards.test_merge import evaluated, said


@pytest.mark.skipif(sys.platform != "linux", reason="files are limited as on Linux")
def test_full_disk_while_writing_vectors_is_an_error(source: Path, tmp_path: Path) -> None:
    large = cut(source, tmp_path / "set", 1)
    assert large is not None
    (shard,) = large.all_shards()
    keys = large.read_rows(shard)["key"].to_numpy()
    scanner = LocalScanner("static")
    scanner.load()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # As a full disk, for every file; a mapping would end this process with SIGBUS.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(FileError, match="would become too large"):
            stored_vectors(large, shard, scanner, keys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    (folder,) = large.folder.glob("vectors-*")
    assert os.listdir(folder) == []  # noqa: PTH208 - hidden ones too
    assert said(evaluated(source, large.folder, 1)) == said(evaluated(source, tmp_path / "one", 1))
