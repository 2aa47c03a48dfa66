"""Output files: columns in any order, several targets, epochs, and every error with its line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.files.output_files import OutputFileError, OutputSet, load_outputs, parse_outputs
from guardtui.files.problems import FileError

pytestmark = pytest.mark.usefixtures("no_trial_reads")

CSV = Path("outputs.csv")
JSONL = Path("outputs.jsonl")
SAMPLE = Path(__file__).parents[2] / "sample_data" / "outputs.csv"


def read(text: str, path: Path = CSV) -> OutputSet:
    return parse_outputs(path, text.encode())


def errors(text: str, path: Path = CSV) -> list[str]:
    with pytest.raises(OutputFileError) as caught:
        read(text, path)
    return str(caught.value).splitlines()


def json_lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_sample_outputs_are_read() -> None:
    outputs = load_outputs(SAMPLE)
    assert len(outputs) == outputs.samples == 30
    assert outputs.targets[1] == ("Danube", "Donau")
    assert list(outputs.metadata) == ["category", "difficulty"]
    assert not outputs.findings


def test_columns_are_read_in_any_order_and_case_with_bom_and_crlf() -> None:
    outputs = parse_outputs(
        CSV,
        b'\xef\xbb\xbf OUTPUT ,Target, input,Level\r\n"it is\r\n""4""",4,2+2,easy\r\n,5,2+3,\r\n',
    )
    assert list(outputs.outputs) == ['it is\r\n"4"', ""]
    assert list(outputs.targets) == [("4",), ("5",)]
    assert list(outputs.inputs) == ["2+2", "2+3"]
    assert outputs.metadata == {"Level": ["easy", None]}
    assert list(outputs.lines) == [2, 4]
    assert list(outputs.ids) == ["1", "2"]
    assert list(outputs.epochs) == [1, 1]
    assert outputs.location(1) == "outputs.csv:4"


def test_several_targets_and_choices_are_arrays() -> None:
    outputs = read(
        'input,target,output,choices\nq,"[""a"", ""b"", 3]",o,"[""x"", ""y""]"\nq,plain,o,\n'
    )
    assert list(outputs.targets) == [("a", "b", "3"), ("plain",)]
    assert list(outputs.choices) == [("x", "y"), ()]


def test_text_of_json_lines_is_one_target_even_if_it_looks_like_an_array() -> None:
    outputs = read(
        json_lines(
            {"input": "q", "target": '["a"]', "output": "o", "n": 3, "more": {"deep": [1]}},
            {"input": "q", "target": ["a", "b"], "output": None, "epoch": None, "n": 0.5},
        ).replace(', "epoch": null', ""),
        JSONL,
    )
    assert list(outputs.targets) == [('["a"]',), ("a", "b")]
    assert list(outputs.outputs) == ["o", ""]
    assert outputs.metadata == {"n": [3, 0.5], "more": [{"deep": [1]}, None]}


def test_numbers_become_texts_as_written() -> None:
    outputs = read(json_lines({"input": 1, "target": 42, "output": True}), JSONL)
    assert (outputs.inputs[0], outputs.targets[0], outputs.outputs[0]) == ("1", ("42",), "true")


def test_parquet_lists_and_numbers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "outputs.parquet"
    pl.DataFrame(
        {
            "input": ["q", "r"], "Target ": [["a", "b"], ["c"]], "output": ["o", None],
            "epoch": [1, 2], "id": [7, 7], "weight": [0.5, None],
        }
    ).write_parquet(path)  # fmt: skip
    outputs = load_outputs(path)
    assert list(outputs.targets) == [("a", "b"), ("c",)]
    assert (list(outputs.ids), list(outputs.epochs), outputs.samples) == (["7", "7"], [1, 2], 1)
    assert outputs.metadata == {"weight": [0.5, None]}
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(FileError, match="not a Parquet file, or a damaged one"):
        load_outputs(path)


def test_columns_are_found_in_any_case() -> None:
    outputs = read("input,target,output,Topic,topic\nq,t,o,A,b\n")
    assert outputs.column("topic") == ("topic", ["b"])
    assert outputs.column("TOPIC") == ("Topic", ["A"])
    assert outputs.column("id") == ("id", ["1"])
    assert outputs.column("nothing") is None


def test_empty_target_is_reported() -> None:
    (finding,) = read("input,target,output\nq,,o\nq,t,o\nq, ,o\n").findings
    assert finding.lines == (2, 4)
    assert "2 rows have an empty target" in finding.message


def test_all_errors_of_a_file_are_reported_with_lines() -> None:
    problems = errors(
        'id,epoch,input,target,output\n'
        'a,1,q,t,o\n'
        'a,1,q,t,o\n'
        'b,zero,q,"[1, null]",o\n'
        ',2,q,"[broken",o\n'
        'c,1,q,t\n'
    )  # fmt: skip
    assert [one.split(": ")[0] for one in problems] == [
        "outputs.csv:3", "outputs.csv:4", "outputs.csv:4", "outputs.csv:5", "outputs.csv:5",
        "outputs.csv:6",
    ]  # fmt: skip
    text = "\n".join(problems)
    assert "the id 'a' is already on line 2: with the same epoch, 1" in text
    assert "the epoch is 'zero': write a whole number from 1 on" in text
    assert "the target holds 'null', which is not text" in text
    assert "begins with a bracket but is not a JSON array" in text
    assert "the id is empty" in text
    assert "4 fields where the header has 5" in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("input,answer\nq,o\n", "the columns target, output are missing"),
        ("input,target,output\n", "no rows below the header"),
        ("Input,input,target,output\nq,q,t,o\n", "two columns are named input"),
        ("epoch,input,target,output\n1,q,t,o\n", "add the column id"),
        ("id,input,target,output\na,q,t,o\na,q,t,o\n", "number the epochs of one sample"),
        ('input,target,output\nq,"[[""a""]]",o\n', "which is not text"),
    ],
)
def test_errors_have_a_remedy(text: str, told: str) -> None:
    assert told in "\n".join(errors(text))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"input": "q", "target": {"a": 1}, "output": "o"}, "the target is an object"),
        ({"input": "q", "target": ["a", {}], "output": "o"}, "the target holds '{}'"),
        ({"input": ["q"], "target": "t", "output": "o"}, "input: message 1 is not an object"),
        ({"input": [], "target": "t", "output": "o"}, "input: it has no messages"),
        ({"input": "q", "target": "t", "output": "o", "messages": "[{"}, "messages: this is not a"),
        (
            {"input": "q", "target": "t", "output": "o", "messages": [{"role": "x"}]},
            "the unknown role 'x'",
        ),
        ({"input": "q", "target": "t", "output": {}}, "the output is not text but an object"),
        ({"input": "q", "target": "t", "output": "\ud800"}, "half of a surrogate pair"),
        ({"input": "q", "target": "t", "output": "o", " output": "p"}, "duplicate key"),
        ([], "not a JSON object"),
        ({"input": "q", "target": "t", "output": "o", "id": [1]}, "neither text nor number"),
        ({"input": "q", "target": "t", "output": "o", "id": 1, "epoch": 1.5}, "epoch is '1.5'"),
        ({"input": "q", "target": "t", "output": "o", "id": 1, "epoch": True}, "epoch is 'true'"),
    ],
)
def test_unusable_json_line_is_reported(row: object, told: str) -> None:
    good = {"input": "q", "target": "t", "output": "o", "id": "x", "epoch": 1}
    assert any(
        error.startswith("outputs.jsonl:3: ") and told in error
        for error in errors("\n" + json_lines(good, row), JSONL)
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"input,target,output\nq,t,\xff\n", "not UTF-8"),
        (b'input,target,output\nq,t,"o\n', "never closed"),
        (b"input,target,output\rq,t,o\r", "carriage returns only"),
        ("input,target,output\nq,t,o\n".encode("utf-16"), "the file is UTF-16"),
    ],
)
def test_invalid_csv_is_reported(content: bytes, told: str) -> None:
    with pytest.raises(FileError, match=told):
        parse_outputs(CSV, content)


def test_many_errors_are_counted() -> None:
    rows = "".join(f"x{number},{number},q,t,o\n" for number in [0] * 50)
    assert errors("id,epoch,input,target,output\n" + rows)[-1] == "… and 30 errors more"


cells = st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
def test_csv_writer_output_is_read_back(rows: list[tuple[str, str, str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["input", "target", "output"])
    for text, target, output in rows:
        writer.writerow([text, json.dumps([target]), output])
    outputs = read(stream.getvalue())
    result = zip(outputs.inputs, outputs.targets, outputs.outputs, strict=True)
    assert [(text, *target, output) for text, target, output in result] == rows


@given(st.lists(st.tuples(cells, st.lists(cells, max_size=3), cells), min_size=1, max_size=6))
def test_json_values_are_read_back(rows: list[tuple[str, list[str], str]]) -> None:
    names = ("input", "target", "output")
    outputs = read(json_lines(*(dict(zip(names, row, strict=True)) for row in rows)), JSONL)
    result = zip(outputs.inputs, map(list, outputs.targets), outputs.outputs, strict=True)
    assert list(result) == rows
