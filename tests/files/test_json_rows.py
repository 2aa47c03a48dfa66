"""Rows inside of a JSON object, in the forms that pandas and web services write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from guardtui.domain.prompts import PromptSet, PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_rows import read_rows

ROWS: list[dict[str, Any]] = [
    {"prompt": "Can I deduct my desk?", "expected": True, "note": "é"},
    {"prompt": "What is VAT?", "expected": False, "note": "2"},
    {"prompt": "Where is my payslip?", "expected": False, "note": "3"},
]


def parsed(text: str) -> PromptSet:
    return parse_prompts(Path("p.json"), text.encode(), Intent.BLOCK)


def problem(text: str, name: str = "p.json") -> str:
    with pytest.raises((FileError, PromptSetError)) as caught:
        parse_prompts(Path(name), text.encode(), Intent.BLOCK)
    return str(caught.value)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "table"])
@pytest.mark.parametrize("named", [False, True], ids=["numbered", "named"])
def test_forms_of_pandas_are_read(orient: Any, indent: int | None, named: bool) -> None:
    frame = pd.DataFrame(ROWS, index=["a", "b", "c"] if named else None)
    prompts = parsed(frame.to_json(orient=orient, indent=indent))
    assert prompts.prompts.to_list() == [row["prompt"] for row in ROWS]
    assert prompts.expected.tolist() == [True, False, False]
    assert prompts.frame["note"].to_list() == ["é", "2", "3"]


def test_rows_of_pandas_without_names_are_refused_with_a_remedy() -> None:
    said = problem(pd.DataFrame(ROWS).to_json(orient="values"))
    assert "its rows are lists without the names of the columns" in said
    assert "orient='records'" in said


def page(rows: list[dict[str, Any]], truncated: list[str]) -> str:
    return json.dumps(
        {
            "features": [{"feature_idx": 0, "name": "prompt", "type": {"dtype": "string"}}],
            "rows": [
                {"row_idx": index, "row": row, "truncated_cells": truncated}
                for index, row in enumerate(rows)
            ],
            "num_rows_total": len(rows),
        }
    )


def test_rows_of_hugging_face_are_read_unless_cut_off() -> None:
    assert parsed(page(ROWS, [])).frame["note"].to_list() == ["é", "2", "3"]
    assert "row 1 is cut off" in problem(page(ROWS, ["prompt"]))


@pytest.mark.parametrize(
    "document",
    [
        {"data": ROWS},
        {"version": 1, "meta": {"a": [1]}, "prompts": ROWS},
        {"result": {"page": {"items": ROWS}}},
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
    ],
    ids=["data", "beside others", "nested", "columns as lists"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_only_list_of_objects_is_read(document: object, indent: int | None) -> None:
    assert parsed(json.dumps(document, indent=indent)).frame["note"].to_list() == ["é", "2", "3"]


def test_lines_of_a_wrapped_list_are_those_of_the_file() -> None:
    assert parsed(json.dumps({"data": ROWS}, indent=1)).frame["line"].to_list() == [3, 8, 13]


def test_several_lists_are_named() -> None:
    said = problem(json.dumps({"train": ROWS, "test": ROWS}))
    assert "an object with several lists of objects (train, test)" in said


def test_object_without_rows_is_refused_with_a_remedy() -> None:
    said = problem(json.dumps({"a": 1, "b": {"c": 2}}, indent=1))
    assert "this is one JSON object, where rows are expected" in said
    assert "an object with one list of objects in it" in said


@pytest.mark.parametrize("cut", [10, 40, 90])
def test_damaged_object_error_names_the_place(cut: int) -> None:
    said = problem(json.dumps({"data": ROWS}, indent=1)[:cut])
    assert "the JSON breaks off or is damaged" in said


def test_single_row_of_json_lines_is_a_row() -> None:
    for row in (
        {"prompt": "a", "tags": [1, 2]},
        {"prompt": "a", "messages": [{"role": "user", "content": "b"}]},
    ):
        found = read_rows(Path("p.jsonl"), b"\n\n" + json.dumps(row).encode())
        assert (found.raw["prompt"].to_list(), found.lines.tolist()) == (["a"], [3])


def test_broken_json_line_is_told_once() -> None:
    text = '{"prompt": "a", "expected": true}\n{"prompt": "b\nc", "expected": false}\n'
    said = problem(text, "p.jsonl").splitlines()
    assert [line.partition(": ")[0] for line in said] == ["p.jsonl:2", "p.jsonl:3"]


@pytest.mark.parametrize(
    ("value", "kind"), [("{}", "an object"), ("null", "null"), ("5", "a number"), ("true", "true")]
)
def test_prompt_that_is_not_text_is_called_as_in_json(value: str, kind: str) -> None:
    said = problem(f'[{{"prompt": {value}, "expected": true}}]')
    assert f"the prompt is {kind}" in said
