"""A file read in blocks gives the rows, lines and errors that reading all of it gives."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guardtui.files.prompt_blocks as prompt_blocks_module
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_blocks import is_long, prompt_blocks
from guardtui.files.prompt_files import RawRows, load_prompts
from guardtui.files.prompt_rows import read_rows

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"])
    | st.sampled_from('",\n\r'),
    max_size=30,
)
ROWS = st.lists(st.tuples(TEXTS, st.sampled_from(["true", "false"])), min_size=1, max_size=20)


def written(rows: list[tuple[str, str]], ends: str = "\n") -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator=ends)
    writer.writerow(["prompt", "expected", "intent", "note\nof two lines"])
    for prompt, expected in rows:
        writer.writerow([f"p{prompt}", expected, "block", ""])
    return stream.getvalue().encode()


def together(path: Path, size: int) -> tuple[pl.DataFrame, list[int]]:
    blocks = list(prompt_blocks(path, size))
    frames = [block.raw for block in blocks]
    return pl.concat(frames, how="diagonal"), [
        line for block in blocks for line in block.lines.tolist()
    ]


def same(path: Path, size: int) -> None:
    frame, lines = together(path, size)
    wanted: RawRows = read_rows(path, path.read_bytes())
    assert frame.equals(wanted.raw)
    assert lines == wanted.lines.tolist()


@settings(deadline=None)
@given(ROWS, st.integers(1, 200), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_csv_blocks_equal_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    size: int,
    ends: str,
    mark: bool,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "prompts.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + written(rows, ends))
    same(path, size)


@settings(deadline=None)
@given(ROWS, st.integers(1, 200))
def test_json_lines_blocks_equal_the_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "prompts.jsonl"
    lines = [json.dumps({"prompt": p, "expected": e, "intent": "block"}) for p, e in rows]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    same(path, size)


def test_parquet_blocks_equal_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_blocks_module, "BLOCK_ROWS", 7)
    path = tmp_path / "prompts.parquet"
    numbers = range(20)
    pl.DataFrame({"prompt": [f"p{number}" for number in numbers], "n": numbers}).write_parquet(path)
    same(path, 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "prompts.csv: the file is empty"),
        (b"\n\n \n", "prompts.csv: the file is empty"),
        (
            b'prompt,expected,intent\nfine,true,block\nhe said "hi",true,block\n',
            "csv:3: unescaped quote",
        ),
        (b'prompt,expected,intent\nfine,true,block\n"open,true,block\n', "csv:3: the quote"),
        (b"prompt,expected,intent\nfine,true,block\n\xff,true,block\n", "csv:3: not UTF-8"),
        (b"prompt,expected,intent\nfine,true,block\n\0,true,block\n", "csv:3: not a text file"),
    ],
)
def test_block_errors_name_the_line_of_the_file(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "prompts.csv"
    path.write_bytes(content)
    for size in (1, 24, 1000):
        with pytest.raises(FileError) as caught:
            list(prompt_blocks(path, size))
        assert says in str(caught.value)


@pytest.mark.parametrize("size", [5, 40, 1000])
def test_long_file_is_read_like_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    path = tmp_path / "prompts.csv"
    path.write_bytes(written([(str(number), "yes" if number % 3 else "no") for number in range(9)]))
    small = load_prompts(path)
    assert not is_long(path)
    read_in_blocks_of(size, monkeypatch)
    assert is_long(path)
    large = load_prompts(path)
    assert large.frame.equals(small.frame)
    assert (large.fingerprint, large.findings) == (small.fingerprint, small.findings)


@pytest.mark.parametrize("size", [5, 40, 1000])
def test_all_errors_of_a_long_file_are_reported_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text(
        "intent,prompt,expected\nblock,a,true\nblock,b\nblock,c,maybe\nblock,d\nblock,,no\n",
        encoding="utf-8",
    )
    with pytest.raises(PromptSetError) as small:
        load_prompts(path)
    read_in_blocks_of(size, monkeypatch)
    with pytest.raises(PromptSetError) as large:
        load_prompts(path)
    assert str(large.value) == str(small.value)
    assert str(large.value).startswith(f"{path}:3: 2 fields where the header has 3")


def test_reading_ends_at_the_greatest_number_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text("intent,prompt,expected\n" + "block,b\n" * 50, encoding="utf-8")
    monkeypatch.setattr(prompt_blocks_module, "ERRORS_AT_MOST", 3)
    read_in_blocks_of(24, monkeypatch)
    with pytest.raises(PromptSetError) as caught:
        load_prompts(path, Intent.BLOCK)
    assert 3 <= caught.value.total < 50


def test_missing_file_is_not_long(tmp_path: Path) -> None:
    assert not is_long(tmp_path / "none.csv")
    assert not is_long(tmp_path)


def read_in_blocks_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every file in blocks of this number of bytes."""
    monkeypatch.setattr(prompt_blocks_module, "BLOCK_BYTES", size if size < 100 else 1)
    usual = prompt_blocks_module.prompt_blocks
    monkeypatch.setattr(prompt_blocks_module, "prompt_blocks", lambda path: usual(path, size))


def test_unclosed_quote_ends_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_blocks_module, "LONGEST_ROW", 1 << 20)
    path = tmp_path / "prompts.csv"
    path.write_bytes(b'prompt,expected,intent\n"' + b"x,\n" * (1 << 20))
    with pytest.raises(FileError, match=r"prompts.csv:\d+: .*longer than 1 MiB"):
        list(prompt_blocks(path, 1 << 16))


@pytest.mark.parametrize("name", ["no.csv", "no.parquet", "a\0b.csv"])
def test_unreadable_file_error_names_the_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError):
        list(prompt_blocks(tmp_path / name))


def test_truncated_parquet_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "half.parquet"
    pl.DataFrame({"prompt": ["a"] * 100}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="damaged"):
        list(prompt_blocks(path))


@pytest.mark.parametrize("size", [5, 17, 40, 1000])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", 'sep=;\nprompt;expected\na;true\n"b\n;";false\nc;true\n'),
        ("p.csv", "\n\nprompt,expected\na,true\nb,false\nc,true\n"),
        ("p.tsv", 'prompt\texpected\n"Hi" he said\ttrue\n"two\nlines"\tfalse\n5" pipe\ttrue\n'),
        (
            "p.tsv",
            'prompt\texpected\n"Never closed\ttrue\nwhat "is" it\tfalse\nb"\ttrue\nc\ttrue\n',
        ),
    ],
    ids=["declared", "blank", "quotes", "open quote"],
)
def test_blocks_of_spreadsheets_have_the_rows_of_the_whole(
    tmp_path: Path, name: str, text: str, size: int
) -> None:
    path = tmp_path / name
    path.write_text(text)
    blocks = list(prompt_blocks(path, size))
    whole = load_prompts(path, Intent.BLOCK)
    assert [prompt for rows in blocks for prompt in rows.raw["prompt"]] == whole.prompts.to_list()
    lines = [line for rows in blocks for line in rows.lines.tolist()]
    assert lines == whole.frame["line"].to_list()
