"""A file read in blocks gives the rows, lines and errors that reading all of it gives."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSetError
from guardtui.files import prompt_blocks
from guardtui.files.problems import FileError
from guardtui.files.prompt_blocks import read_in_blocks
from guardtui.files.prompt_files import parse_prompts
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


def same(name: str, content: bytes, size: int) -> None:
    blocks, whole = read_in_blocks(Path(name), content, size), read_rows(Path(name), content)
    assert blocks.raw.equals(whole.raw)
    assert blocks.lines.tolist() == whole.lines.tolist()
    assert blocks.header == whole.header


@settings(deadline=None)
@given(ROWS, st.integers(1, 200), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_csv_blocks_equal_the_file(
    rows: list[tuple[str, str]], size: int, ends: str, mark: bool
) -> None:
    same("p.csv", (b"\xef\xbb\xbf" if mark else b"") + written(rows, ends), size)


@settings(deadline=None)
@given(ROWS, st.integers(1, 200))
def test_json_lines_blocks_equal_the_file(rows: list[tuple[str, str]], size: int) -> None:
    lines = [json.dumps({"prompt": p, "expected": e, "intent": "block"}) for p, e in rows]
    same("p.jsonl", "\n\n".join(lines).encode(), size)


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
def test_block_errors_name_the_line_of_the_file(content: bytes, says: str) -> None:
    for size in (1, 24, 1000):
        with pytest.raises(FileError) as caught:
            read_in_blocks(Path("prompts.csv"), content, size)
        assert says in str(caught.value)


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz"])
def test_long_file_is_read_like_a_short_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content = written([(str(number), "yes" if number % 3 else "no") for number in range(9)])
    content = gzip.compress(content) if name.endswith("gz") else content
    small = parse_prompts(Path(name), content)
    monkeypatch.setattr(prompt_blocks, "BLOCK_BYTES", 40)
    large = parse_prompts(Path(name), content)
    assert large.frame.equals(small.frame)
    assert (large.fingerprint, large.findings) == (small.fingerprint, small.findings)


def test_all_errors_of_a_long_file_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"intent,prompt,expected\nblock,a,true\nblock,b\nblock,c,maybe\nblock,d\nblock,,no\n"
    with pytest.raises(PromptSetError) as small:
        parse_prompts(Path("p.csv"), content)
    monkeypatch.setattr(prompt_blocks, "BLOCK_BYTES", 40)
    with pytest.raises(PromptSetError) as large:
        parse_prompts(Path("p.csv"), content)
    assert str(large.value) == str(small.value)
    assert str(large.value).startswith("p.csv:3: 2 fields where the header has 3")


def test_reading_ends_at_the_greatest_number_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_blocks, "ERRORS_AT_MOST", 3)
    content = b"intent,prompt,expected\n" + b"block,b\n" * 50
    assert 3 <= len(read_in_blocks(Path("p.csv"), content, 24).unread) < 50


def test_unclosed_quote_ends_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_blocks, "LONGEST_ROW", 1 << 20)
    content = b'prompt,expected,intent\n"' + b"x,\n" * (1 << 19)
    with pytest.raises(FileError, match=r"prompts.csv:\d+: .*longer than 1 MiB"):
        read_in_blocks(Path("prompts.csv"), content, 1 << 18)


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
def test_blocks_of_spreadsheets_equal_the_file(name: str, text: str, size: int) -> None:
    same(name, text.encode(), size)
