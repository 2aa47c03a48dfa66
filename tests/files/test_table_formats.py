"""Prompt sets as people have them: other delimiters, gzip, JSON arrays, workbooks, no intent."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.output_files import parse_outputs
from guardtui.files.parquet import parquet_bytes
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts, parse_prompts
from guardtui.files.table_formats import pack, unpack
from tests.examples import up_to

ROWS = [("pay less; tax, now", True, "a"), ("lentil soup", False, "b")]
NAMES = ["prompt", "expected", "note"]


def delimited(separator: str, *, intent: str = "block") -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    writer.writerow([*NAMES, "intent"])
    writer.writerows([prompt, float(label), note, intent] for prompt, label, note in ROWS)
    return stream.getvalue().encode()


def workbook(*rows: tuple[object, ...], start: int = 0) -> bytes:
    """An Excel workbook with these rows in its first sheet, and an empty second one."""
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if isinstance(cell, str):
                sheet.write_string(number + start, column, cell)
            elif cell is not None:
                sheet.write(number + start, column, cell)
    book.add_worksheet()
    book.close()
    return stream.getvalue()


def objects() -> list[dict[str, object]]:
    return [{**dict(zip(NAMES, row, strict=True)), "intent": "block"} for row in ROWS]


FORMS = {
    "p.csv": delimited(","),
    "semicolons.csv": delimited(";"),
    "tabs.csv": delimited("\t"),
    "commas.tsv": delimited(","),
    "marked.csv": b"\xef\xbb\xbf" + delimited(";"),
    "p.csv.gz": gzip.compress(delimited(";")),
    "no-ending": gzip.compress(delimited(",")),
    "p.jsonl.gz": gzip.compress("\n".join(map(json.dumps, objects())).encode()),
    "p.json": json.dumps(objects(), indent=2).encode(),
    "array.jsonl": json.dumps(objects()).encode(),
    "lines.json": "\n".join(map(json.dumps, objects())).encode(),
    "json.csv": json.dumps(objects()).encode(),
    "json.txt": "\n".join(map(json.dumps, objects())).encode(),
    "p.parquet": parquet_bytes(pl.DataFrame(objects())),
    "parquet.bin": parquet_bytes(
        pl.DataFrame(objects()).with_columns(pl.col("expected").cast(pl.Float64))
    ),
    "p.xlsx": workbook(
        (*NAMES, "intent"), *((*row, "block") for row in ROWS)
    ),
    "workbook.csv": workbook(
        (*NAMES, "intent"), *((prompt, float(label), note, "block") for prompt, label, note in ROWS)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_prompt_set_is_read_alike(name: str, tmp_path: Path) -> None:
    prompts = parse_prompts(Path(name), FORMS[name])
    assert prompts.prompts.to_list() == [row[0] for row in ROWS]
    assert prompts.expected.tolist() == [True, False]
    assert prompts.frame["note"].to_list() == ["a", "b"]
    assert prompts.intent_given
    (tmp_path / name).write_bytes(FORMS[name])
    assert load_prompts(tmp_path / name).frame.equals(prompts.frame)


def test_delimiter_is_detected_from_the_header() -> None:
    # More semicolons and tabs than commas, in prompts and in the header.
    text = "prompt,expected,intent,a;b;c\td;e\n;;;;,1,block,x\n\t\t\t;,0,block,y\n"
    prompts = parse_prompts(Path("p.csv"), text.encode())
    assert prompts.prompts.to_list() == [";;;;", "\t\t\t;"]
    assert prompts.extra_columns == ("a;b;c\td;e",)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "p.csv",
            b"text;label;when\na;1;x\n",
            "the header, separated by semicolons, has text, label, when "
            "(for other names of columns: guardtui convert --prompt-column NAME)",
        ),
        ("p.csv", b"text\n", "the header has text"),
        ("p.json", b'[{"text": "a"}]', "the column prompt is missing: the JSON has text"),
        ("p.xlsx", workbook(("text",), ("a",)), "prompt is missing: the first sheet has text"),
        ("p.json", b"[]", "the JSON has no columns"),
        ("p.csv", delimited(";") + b"a;1;block;b;c\n", ":4: 5 fields where the header has 4: a "
         "text that holds a semicolon"),
        ("p.json", b'[{"prompt": "a"},\n 5]', "p.json:2: this element of the array is not a JSON"),
        ("p.jsonl", b'{"prompt": [{"role": "user", "content": "a"}]}', "guardtui convert takes"),
    ],
    ids=range(8),
)  # fmt: skip
def test_wrong_rows_name_their_content(name: str, content: bytes, told: str) -> None:
    with pytest.raises(PromptSetError) as caught:
        parse_prompts(Path(name), content)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("p.json", b'[{"prompt": "a"},\n{"prompt": "b"', "p.json:2: the JSON breaks off"),
        ("p.json", b'{\n"prompt": "a",\n"expected": true}', "one JSON object, where rows are"),
        ("p.csv.gz", FORMS["p.csv.gz"][:-9], "truncated"),
        ("p.csv.gz", FORMS["p.csv.gz"][:20] + b"\0\0\0" + FORMS["p.csv.gz"][23:], "gzip file"),
        ("p.csv.gz", gzip.compress(b" \n"), "empty"),
        ("p.xlsx", b"PK\x03\x04 and no more", "not an Excel workbook"),
        ("p.xlsx", FORMS["p.xlsx"][:-30], "not an Excel workbook"),
        ("p.xlsx", workbook(), "first sheet is empty"),
        ("p.xlsx", workbook(("prompt", "expected", "prompt")), "two columns are called 'prompt'"),
        ("p.xlsx", workbook(("Tests",), ("prompt", "expected")), "row 1 does not look like a"),
        ("p.xlsx", b"prompt,expected\n", "not an Excel workbook"),
    ],
    ids=range(11),
)
def test_damaged_files_are_named(
    name: str, content: bytes, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FileError) as caught:
        parse_prompts(Path(name), content, Intent.BLOCK)
    assert told in str(caught.value)
    assert name in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_workbook_rows_have_their_numbers() -> None:
    book = workbook(("prompt", "expected"), ("a", True), (), ("b", "no"), ("c", 1), start=2)
    prompts = parse_prompts(Path("p.xlsx"), book, Intent.ALLOW)
    assert prompts.frame["line"].to_list() == [4, 6, 7]
    assert prompts.expected.tolist() == [True, False, True]


def test_distant_cell_is_an_error_without_a_crash(tmp_path: Path) -> None:
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    sheet = book.add_worksheet()
    sheet.write_string(0, 0, "prompt")
    sheet.write_string(1_048_575, 16_383, "x")  # a dense sheet would take 400 GB
    book.close()
    with pytest.raises(FileError, match="not an Excel workbook"):
        parse_prompts(Path("p.xlsx"), stream.getvalue(), Intent.BLOCK)


def test_workbook_that_unpacks_to_too_much_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardtui.files.workbooks._UNPACKED", 2000)
    with pytest.raises(FileError, match="more than the 0 MiB allowed"):
        parse_prompts(Path("p.xlsx"), FORMS["p.xlsx"])


def test_workbook_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardtui.files.workbooks.find_spec", lambda name: None)
    with pytest.raises(FileError, match=r"pip install 'guardtui\[excel\]'"):
        parse_prompts(Path("p.xlsx"), FORMS["p.xlsx"])


def test_gzip_is_unpacked_up_to_a_limit() -> None:
    bomb = gzip.compress(b"\0" * 1_000_000)
    with pytest.raises(FileError, match="unpacks to more than"):
        unpack(Path("p.csv.gz"), bomb, limit=10_000)
    assert unpack(Path("p"), pack(b"ab") + pack(b"cd") + b"\0\0") == b"abcd"


def test_intent_of_the_topic_applies_without_a_column() -> None:
    text = b"prompt,expected\na,1\nb,0\n"
    prompts = parse_prompts(Path("p.csv"), text, Intent.ALLOW)
    assert (prompts.intent, prompts.intent_given) == (Intent.ALLOW, False)
    with pytest.raises(PromptSetError, match="the column intent is missing"):
        parse_prompts(Path("p.csv"), text)
    # A column that is there goes before the topic.
    parsed = parse_prompts(Path("p.csv"), delimited(","), Intent.ALLOW)
    assert (parsed.intent, parsed.intent_given) == (Intent.BLOCK, True)


def test_outputs_are_read_in_every_table_format() -> None:
    text = "input;target;output\nq;yes, no;yes\n"
    for content in (text.encode(), gzip.compress(text.encode())):
        assert parse_outputs(Path("o.csv"), content).targets[0] == ("yes, no",)
    array = json.dumps([{"input": "q", "target": ["a", "b"], "output": "a"}])
    assert parse_outputs(Path("o.json"), array.encode()).targets[0] == ("a", "b")


BYTES = st.one_of(
    st.binary(max_size=60),
    st.text(st.sampled_from('{}[]",:;\n\r\t ab\\/u0d1"promptexpected'), max_size=80).map(
        str.encode
    ),
    st.sampled_from([form for name, form in FORMS.items() if "xlsx" not in name]),
)


@settings(deadline=None, max_examples=up_to(150))
@given(
    st.sampled_from(["a.csv", "a.tsv", "a.json", "a.jsonl", "a.csv.gz", "a.json.gz", "-"]),
    BYTES,
    st.booleans(),
    st.sampled_from([None, Intent.BLOCK]),
    st.integers(0, 2**32),
)
@example("a.csv", b"\v", False, None, 0)
@example("a.json", b"[", False, None, 0)
@example("a.csv.gz", b"\x1f\x8b", False, None, 0)
def test_any_bytes_are_read_or_reported(
    name: str, content: bytes, packed: bool, intent: Intent | None, seed: int
) -> None:
    if content.startswith((b"PK", b"PAR1")):
        content = content[:-1]  # a whole one needs a process, and is tried elsewhere
    elif content and seed % 3 == 0:
        generator = random.Random(seed)
        changed = bytearray(content)
        changed[generator.randrange(len(changed))] = generator.randrange(256)
        content = bytes(changed)
    content = gzip.compress(content) if packed else content
    with suppress(FileError, PromptSetError):
        assert len(parse_prompts(Path(name), content, intent)) > 1
