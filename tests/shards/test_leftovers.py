"""What killed processes left goes, and what others still write does not suffer from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.files.problems import FileError
from guardtui.shards.leftovers import sweep, write_shared
from tests.shards.test_merge import evaluated

HEX = "0123456789abcdef"


def test_only_leftovers_of_finished_files_are_removed(tmp_path: Path) -> None:
    for name in ("a.json", f".a.json.{HEX}", f".b.json.{HEX}", ".a.json.old", f"a.json.{HEX}"):
        (tmp_path / name).write_bytes(b"x")
    assert sweep(tmp_path, tmp_path / "nowhere") == 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.json", f".b.json.{HEX}", ".a.json.old", f"a.json.{HEX}"}


def test_merge_removes_leftovers(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "set", 3)
    (vectors,) = merged.run.large.folder.glob("vectors-*")
    positions = [
        merged.run.folder / f".00001-of-00003.parquet.{HEX}",
        merged.run.large.folder / f".set.json.{HEX}",
        merged.run.large.folder / "rows" / f".00000-of-00003.parquet.{HEX}",
        vectors / f".00002-of-00003.values.npy.{HEX}",
    ]
    for path in positions:
        path.write_bytes(b"half")
    before = {path for path in tmp_path.rglob("*") if path not in positions}
    merged.write()
    assert set(tmp_path.rglob("*")) == before


def test_file_removed_as_a_leftover_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    replaced = Path.replace

    def swept(self: Path, target: Path) -> Path:
        path.write_bytes(b"by another")
        assert sweep(tmp_path) == 1
        return replaced(self, target)

    monkeypatch.setattr(Path, "replace", swept)
    write_shared(path, b"by this one")
    assert path.read_bytes() == b"by another"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        write_shared(tmp_path / "nowhere" / "a.json", b"x")
