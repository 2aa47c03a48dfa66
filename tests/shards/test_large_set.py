"""A prompt file cut into shards holds the same prompts, under the same keys and fingerprint."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from guardtui.domain.prompts import PromptSetError
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.shards.large_set import LargeSet, cut, is_large_set, open_set
from guardtui.shards.sample import draw
from guardtui.shards.shard import Shard, ShardError
from tests.shards.test_merge import evaluated


def made(source: Path, folder: Path, count: int | None = None) -> LargeSet:
    large = cut(source, folder, count)
    assert large is not None
    return large


@pytest.mark.parametrize("count", [1, 3, 7, 500])
def test_all_shards_contain_the_prompt_set(source: Path, tmp_path: Path, count: int) -> None:
    large, whole = made(source, tmp_path / "set", count), load_prompts(source)
    rows = pl.concat([large.read_rows(shard) for shard in large.all_shards()]).sort("row")
    assert rows.drop("row").equals(whole.frame)
    assert rows["row"].to_list() == list(range(len(whole)))
    assert large.fingerprint == whole.fingerprint
    assert (large.rows, large.intent) == (len(whole), whole.intent)
    assert large.category_column == "category"
    assert open_set(large.folder) == large


def test_equal_prompts_are_in_one_shard(source: Path, tmp_path: Path) -> None:
    large = made(source, tmp_path / "set", 5)
    of = [set(large.read_rows(shard)["prompt"]) for shard in large.all_shards()]
    assert sum(map(len, of)) == len(set.union(*of)) < large.rows


def test_single_cut_shard_equals_that_of_cutting_all(source: Path, tmp_path: Path) -> None:
    every = made(source, tmp_path / "all", 4)
    for shard in every.all_shards():
        one = cut(source, tmp_path / "each", only=shard)
        assert one is not None
        alone, together = (large.rows_path(shard).read_bytes() for large in (one, every))
        assert alone == together


def test_existing_shards_are_not_cut_again(source: Path, tmp_path: Path) -> None:
    large = made(source, tmp_path / "set", 3)
    read: list[int] = []
    assert cut(source, large.folder, advance=read.append) == large
    assert read == []
    large.rows_path(Shard(1, 3)).unlink()
    assert cut(source, large.folder, only=Shard(0, 3), advance=read.append) == large
    assert read == []
    assert cut(source, large.folder, advance=read.append) == large
    assert read == [120]


def test_other_prompts_and_shard_counts_are_rejected(source: Path, tmp_path: Path) -> None:
    large = made(source, tmp_path / "set", 3)
    with pytest.raises(ShardError, match="into 3 shards, not 4"):
        cut(source, large.folder, 4)
    with pytest.raises(ShardError, match="into 3 shards, not 5"):
        cut(source, large.folder, only=Shard(0, 5))
    source.write_bytes(source.read_bytes() + b"one more,no,block,odd,x\n")
    with pytest.raises(ShardError, match="holds other prompts"):
        cut(source, large.folder)


def test_stopped_cut_leaves_no_set(source: Path, tmp_path: Path) -> None:
    assert cut(source, tmp_path / "set", 2, stopped=lambda: True) is None
    assert not is_large_set(tmp_path / "set")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a,true,block\nb,true,block\n", "no row has expected false"),
        ("a,true,block\nb,maybe,block\n ,no,block\n", r"csv:3: expected is 'maybe'(.|\n)*csv:4"),
        ("a,true,block\nb,no,allow\n", "csv:3: intent is allow"),
        ("", "no rows"),
    ],
)
def test_bad_rows_name_their_lines(tmp_path: Path, rows: str, says: str) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text(f"prompt,expected,intent\n{rows}", encoding="utf-8")
    with pytest.raises((PromptSetError, FileError), match=says):
        cut(path, tmp_path / "set", 2)
    assert not is_large_set(tmp_path / "set")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema_version": 1}', "nonsense"])
def test_damaged_description_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "set.json").write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match="not a description"):
        open_set(tmp_path)


def test_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text('{"schema_version": 99}', encoding="utf-8")
    with pytest.raises(FileError, match="schema version 99"):
        open_set(tmp_path)


def test_damaged_rows_are_named(source: Path, tmp_path: Path) -> None:
    large = made(source, tmp_path / "set", 2)
    path = large.rows_path(Shard(0, 2))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileError, match=r"00000-of-00002\.parquet: not a Parquet"):
        large.read_rows(Shard(0, 2))


def test_columns_named_like_internal_ones_keep_their_values(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    names = ["row", "key", "line", "_outcome", "_score", "_error", "_category", "category"]
    path.write_text(
        f"prompt,expected,intent,{','.join(names)}\n"
        f"a,true,block,{','.join(f'{name} a' for name in names)}\n"
        f"b,no,block,{','.join(f'{name} b' for name in names)}\n",
        encoding="utf-8",
    )
    large = made(path, tmp_path / "set", 1)
    rows = large.read_rows(Shard(0, 1))
    assert large.columns == (*(f"{name} (file)" for name in names[:-1]), "category")
    assert rows["row"].to_list() == [0, 1]
    for name in names[:-1]:
        assert rows[f"{name} (file)"].to_list() == [f"{name} a", f"{name} b"]
    assert draw(large).prompts.frame["_category (file)"].to_list() == ["_category a", "_category b"]
    merged = evaluated(path, large.folder, 1)
    assert set(large.columns) < set(merged.wrong_rows().columns)


def test_column_may_have_the_name_of_a_renamed_one(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text(
        "prompt,expected,intent,row,row (file)\na,true,block,1,2\nb,no,block,3,4\n", "utf-8"
    )
    rows = made(path, tmp_path / "set", 1).read_rows(Shard(0, 1))
    assert rows["row (file) (file)"].to_list() == ["1", "3"]
    assert rows["row (file)"].to_list() == ["2", "4"]


def test_rows_of_another_shard_or_set_are_refused(source: Path, tmp_path: Path) -> None:
    large = made(source, tmp_path / "set", 3)
    first, second = (large.rows_path(Shard(index, 3)) for index in (0, 1))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(FileError, match=r"00000-of-00003\.parquet: these are the rows of another"):
        large.read_rows(Shard(0, 3))
    source.write_bytes(source.read_bytes() + b"one more,no,block,odd,x\n")
    other = made(source, tmp_path / "other", 3)
    first.write_bytes(other.rows_path(Shard(0, 3)).read_bytes())
    with pytest.raises(FileError, match="other prompts\n  remove it and cut the file again"):
        large.read_rows(Shard(0, 3))
    first.write_bytes(kept)
    assert large.read_rows(Shard(0, 3)).height


def test_second_concurrent_cut_into_a_folder_is_rejected(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(source.read_bytes() + b"one more,no,block,odd,x\n")
    folder = tmp_path / "set"

    def meanwhile(rows: int) -> None:
        # The first has read its file and has not written anything yet.
        if not folder.exists():
            made(other, folder, 3)

    with pytest.raises(ShardError, match="another process cuts different prompts"):
        cut(source, folder, 3, advance=meanwhile)
    large = open_set(folder)
    assert large.source == "other.csv"
    assert sum(large.read_rows(shard).height for shard in large.all_shards()) == 121
    assert not list(folder.glob(".*"))


def test_cut_works_without_hard_links(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    large = made(source, tmp_path / "set", 3)
    assert open_set(large.folder) == large
    assert not list(large.folder.glob(".*"))
