"""Delimited text as spreadsheets and other programs write it: quotes, padding, short rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSet, PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files import delimited, json_rows, raw_rows
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_rows import read_rows
from tests.examples import up_to

PLAIN = settings(max_examples=up_to(150), deadline=None)


def parsed(text: str | bytes, name: str = "p.csv") -> PromptSet:
    content = text if isinstance(text, bytes) else text.encode()
    return parse_prompts(Path(name), content, Intent.BLOCK)


def problem(text: str | bytes, name: str = "p.csv") -> str:
    with pytest.raises((FileError, PromptSetError)) as caught:
        parsed(text, name)
    return str(caught.value)


# --- quotes in tables separated by tabs -----------------------------------------------------------

GOOGLE = """\
prompt\texpected
He asked "how do I pay less tax?" twice\ttrue
"Deduct" my desk?\ttrue
5'9" tall\tfalse
"Never closed\tfalse
"all of it"\tfalse
"say ""hi\"""\tfalse
"two
lines"\tfalse
"""


def test_quotes_in_tsv_enclose_whole_fields_or_are_text() -> None:
    assert parsed(GOOGLE, "p.tsv").prompts.to_list() == [
        'He asked "how do I pay less tax?" twice',
        '"Deduct" my desk?',
        "5'9\" tall",
        '"Never closed',
        "all of it",
        'say "hi"',
        "two\nlines",
    ]


def test_quote_in_tsv_does_not_swallow_rows_up_to_another() -> None:
    text = 'prompt\texpected\n"Hello\ttrue\nWhat is 5\tfalse\nhow tall is 6"\tfalse\n'
    assert parsed(text, "p.tsv").prompts.to_list() == ['"Hello', "What is 5", 'how tall is 6"']


TAB_CELL = st.text(st.sampled_from([*'aé" ', "\U0001f600", ","]), max_size=8)


@PLAIN
@given(
    rows=st.lists(st.tuples(TAB_CELL, TAB_CELL), min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
)
def test_unquoted_tsv_round_trip(rows: list[tuple[str, str]], end: str, last: bool) -> None:
    # A spreadsheet without quoting: every cell as it is, unless a pair of quotes encloses it.
    rows = [(f"{first}x", f"{second}y") for first, second in rows]
    lines = ["prompt\tnote", *("\t".join(row) for row in rows)]
    content = (end.join(lines) + end * last).encode()
    found = read_rows(Path("p.tsv"), content, ("prompt",)).raw
    assert found.rows() == rows


@PLAIN
@given(
    rows=st.lists(
        st.tuples(
            *[
                st.text(
                    st.sampled_from(
                        [*'aé"\t\n '],
                    ),
                    max_size=8,
                )
            ]
            * 2
        ),
        min_size=1,
        max_size=6,
    ),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_quoted_tsv_round_trip(rows: list[tuple[str, str]], quoting: int) -> None:
    # Lines of a field that each have the tabs of a row are ambiguous, and so have one more here.
    rows = [
        (f"p{first.replace(chr(9), chr(9) * 2)}", f"{second.replace(chr(9), '')}")
        for first, second in rows
    ]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n", quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["prompt", "note"])
    writer.writerows(rows)
    found = read_rows(Path("p.tsv"), stream.getvalue().encode(), ("prompt",)).raw
    assert [(first, second or "") for first, second in found.rows()] == rows


# --- padding ------------------------------------------------------------------------------------


@PLAIN
@given(
    rows=st.lists(
        st.tuples(st.text('ab ,"\n', min_size=1, max_size=5), st.booleans()), min_size=1, max_size=6
    ),
    separator=st.sampled_from([",", ";", "\t"]),
    columns=st.integers(0, 3),
    before=st.integers(0, 2),
    after=st.integers(0, 3),
    uneven=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_padding_with_separators_changes_nothing(
    rows: list[tuple[str, bool]],
    separator: str,
    columns: int,
    before: int,
    after: int,
    uneven: bool,
    end: str,
) -> None:
    rows = [(f"p{text}", label) for text, label in rows]
    empty = [""] * columns
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator=end)
    writer.writerows([[""] * (2 + columns)] * before)
    writer.writerow(["prompt", "expected", *empty])
    for number, (text, label) in enumerate(rows):
        padding = [] if uneven and number % 2 else empty
        writer.writerow([text, str(label).lower(), *padding, *([""] if uneven else [])])
    writer.writerows([[""] * (2 + columns)] * after)
    found = read_rows(Path("p.csv"), stream.getvalue().encode())
    assert not found.unread
    assert found.raw.columns == ["prompt", "expected"]
    assert found.raw.rows() == [(text, str(label).lower()) for text, label in rows]


def test_lines_of_rows_after_padding_are_those_of_the_file() -> None:
    prompts = parsed(',,\nprompt,expected,\n,,\na,true,\n"","",\nb,false,\n" ",,\n')
    assert prompts.frame["line"].to_list() == [4, 6]


def test_column_without_name_is_called_by_its_position_or_dropped() -> None:
    prompts = parsed(",prompt,expected,,\n0,a,true,,x\n1,b,false,,\n")
    assert prompts.extra_columns == ("column 1", "column 5")
    assert prompts.frame["column 5"].to_list() == ["x", ""]
    assert parsed(",prompt,expected,column 1\n0,a,1,z\n1,b,0,z\n").extra_columns == (
        "column 1 (unnamed)",
        "column 1",
    )


def test_duplicate_columns_are_named_with_their_positions() -> None:
    assert "p.csv:2: two columns are called 'note': 2 and 4" in problem(
        "\nprompt,note,expected,note\na,,1,\nb,,0,\n"
    )


# --- short rows ---------------------------------------------------------------------------------


def test_missing_cells_at_the_end_of_a_row_are_empty_unless_needed() -> None:
    prompts = parsed("prompt,expected,intent,note\na,true\r\nb,false,block,x\nc,false,\n")
    assert prompts.frame["note"].to_list() == ["", "x", ""]
    said = problem("prompt,note,expected\na,x,true\nb,x\nc\n")
    for line, count in ((3, "2 fields"), (4, "1 field")):
        assert f"p.csv:{line}: {count} where the header has 3, so expected is missing" in said
    assert "needs quotes" not in said


# --- first lines --------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n", "\ufeffsep=;;\n"])
def test_declared_separator_is_used_and_no_row(first: str) -> None:
    prompts = parsed(f"{first}prompt;expected;a,b,c\na;true;x\nb;false;y\n")
    assert prompts.extra_columns == ("a,b,c",)
    assert prompts.frame["line"].to_list() == [3, 4]


def test_unusual_separator_can_be_declared() -> None:
    assert parsed("sep=|\nprompt|expected\na, b|1\nc|0\n").prompts.to_list() == ["a, b", "c"]


@pytest.mark.parametrize(
    "title", ["My tests\n", "# exported on Monday\n\n", "My tests,,\n", "a,b\n"]
)
@pytest.mark.parametrize("separator", [",", ";"])
def test_title_above_the_header_is_told(title: str, separator: str) -> None:
    table = "prompt,expected\na,true\nb,false\n".replace(",", separator)
    said = problem(title + table)
    line = title.count("\n") + 1
    assert f"line 1 does not look like a header, line {line} does" in said
    assert f"delete what is above line {line}" in said


def test_title_above_a_header_of_other_names_is_told() -> None:
    said = problem("My tests\ntext,label\na,true\nb,false\n")
    assert "line 1 does not look like a header: it has 1 of the 2 fields below" in said


# --- small files that would take much memory ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", "prompt,expected," + "," * 990 + "x\n" + "a,true\n" * 50),
        ("p.csv", "prompt,expected\n" + "\n" * 20_000),
        ("p.tsv", "prompt\texpected\n" + '"x""\t' * 10_000),
        ("p.jsonl", "".join(f'{{"key {number}": 1}}\n' for number in range(200))),
        ("p.json", "[" + "{}," * 20_000 + "{}]"),
    ],
    ids=["short rows", "lines", "quotes", "keys", "empty objects"],
)
def test_tables_with_too_many_cells_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    for module in (raw_rows, delimited):
        monkeypatch.setattr(module, "CELLS_AT_MOST", 10_000)
    monkeypatch.setattr(raw_rows.require_cells, "__defaults__", (10_000,))
    monkeypatch.setattr(json_rows, "JSON_CELLS_AT_MOST", 10_000)
    assert "too many" in problem(content, name)


def test_errors_of_many_rows_are_listed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (delimited, json_rows):
        monkeypatch.setattr(module, "ERRORS_AT_MOST", 30)
    for name, content in (
        ("p.csv", "prompt,expected\na\n" + "b\n" * 100),
        ("p.json", "[" + "0," * 100 + "0]"),
    ):
        said = problem(content, name).splitlines()
        assert (len(said), said[-1]) == (21, "… and 10 errors more")
