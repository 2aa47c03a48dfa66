"""Rows without a label: an error, left out, or false; edits keep them in the file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

from guardtui.domain.prompt_edit import Add, Duplicate, PromptEdit, Relabel, Remove, Rewrite
from guardtui.domain.prompt_reading import Reading, Unlabelled
from guardtui.domain.prompts import (
    PromptSetError,
    check_prompt_set,
    prompt_keys,
    waiting_text,
)
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_edits import edit_prompts
from guardtui.files.prompt_files import load_prompts, parse_prompts

pytestmark = pytest.mark.usefixtures("no_trial_reads")

LEAVE_OUT, FALSE = Reading(Unlabelled.LEAVE_OUT), Reading(Unlabelled.FALSE)
ERROR = Reading(Unlabelled.ERROR)

CSV = 'prompt,expected,note\na,true,1\nb,,2\nc,false,3\nd," ",4\ne,True,5\n'
ROWS = [
    {"prompt": "a", "expected": True, "note": "1"},
    {"prompt": "b", "expected": None, "note": "2"},
    {"prompt": "c", "expected": False, "note": "3"},
    {"prompt": "d", "note": "4"},
    {"prompt": "e", "expected": True, "note": "5"},
]


def forms() -> dict[str, bytes]:
    parquet = io.BytesIO()
    pl.DataFrame(
        ROWS, {"prompt": pl.String, "expected": pl.Boolean, "note": pl.String}
    ).write_parquet(parquet)
    return {
        "p.csv": CSV.encode(),
        "p.tsv": CSV.replace(",", "\t").encode(),
        "p.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
        "p.json": json.dumps(ROWS, indent=1).encode(),
        "p.parquet": parquet.getvalue(),
    }


@pytest.mark.parametrize("name", forms())
def test_rows_without_label_are_an_error_that_names_lines_and_switch(name: str) -> None:
    with pytest.raises(PromptSetError) as caught:
        parse_prompts(Path(name), forms()[name], Intent.BLOCK, ERROR)
    (finding,) = caught.value.findings
    assert len(finding.lines) == 2
    first, second = finding.lines
    said = str(caught.value)
    assert said.startswith(f"{name}:{first}: expected is empty in 2 rows")
    assert "--unlabelled inbox" in said
    assert "--unlabelled false" in said
    assert f"(lines {first}, {second})" in said


@pytest.mark.parametrize("name", forms())
def test_rows_without_label_are_left_out_and_counted(name: str) -> None:
    prompts = parse_prompts(Path(name), forms()[name], Intent.BLOCK, LEAVE_OUT)
    assert prompts.prompts.to_list() == ["a", "c", "e"]
    for findings in (prompts.findings, check_prompt_set(prompts, None)):
        assert findings[0].message == (
            "2 rows without a label are left out (--unlabelled leave-out)"
        )
        assert len(findings[0].lines) == 2


@pytest.mark.parametrize("name", forms())
def test_rows_without_label_wait_in_the_inbox_by_default(name: str) -> None:
    prompts = parse_prompts(Path(name), forms()[name], Intent.BLOCK)
    assert prompts.prompts.to_list() == ["a", "c", "e"]
    assert prompts.waiting == frozenset(prompt_keys(["b", "d"]).tolist())
    assert waiting_text(prompts) == "2 unlabelled prompts are in no figure"
    assert prompts.findings[0].message == (
        "2 rows without a label are in the inbox, and in no figure (--unlabelled inbox)"
    )


def test_rows_whose_text_has_a_label_elsewhere_do_not_wait() -> None:
    content = b"prompt,expected\na,1\nb,0\nb,\nc,\nc,\n,\n"
    prompts = parse_prompts(Path("p.csv"), content, Intent.BLOCK)
    assert waiting_text(prompts) == "1 unlabelled prompt is in no figure"


@pytest.mark.parametrize("name", forms())
def test_rows_without_label_are_taken_as_not_expected(name: str) -> None:
    prompts = parse_prompts(Path(name), forms()[name], Intent.BLOCK, FALSE)
    assert prompts.expected.tolist() == [True, False, False, False, True]
    assert prompts.findings[0].message == (
        "2 rows without a label are taken as not expected (--unlabelled false)"
    )


def test_set_without_any_label_is_an_error() -> None:
    with pytest.raises(PromptSetError, match="no row has a label"):
        parse_prompts(Path("p.csv"), b"prompt,expected\na,\nb,\n", Intent.BLOCK, LEAVE_OUT)


def test_rows_left_out_may_have_other_errors() -> None:
    content = b"prompt,expected,intent\na,1,block\nb,0,block\n,,allow\n"
    prompts = parse_prompts(Path("p.csv"), content, None, LEAVE_OUT)
    assert prompts.prompts.to_list() == ["a", "b"]


EDITS = {
    "relabel": lambda keys: Relabel(frozenset({keys["e"]})),
    "remove": lambda keys: Remove(frozenset({keys["a"]})),
    "duplicate": lambda keys: Duplicate(frozenset({keys["c"], keys["e"]})),
    "rewrite": lambda keys: Rewrite(keys["e"], "new", False, {"note": "9"}),
    "add": lambda keys: Add("new", False, {"note": "9"}),
}
AFTER = {
    "relabel": ["a+1", "b 2", "c-3", "d 4", "e-5"],
    "remove": ["b 2", "c-3", "d 4", "e+5"],
    "duplicate": ["a+1", "b 2", "c-3", "c-3", "d 4", "e+5", "e+5"],
    "rewrite": ["a+1", "b 2", "c-3", "d 4", "new-9"],
    "add": ["a+1", "b 2", "c-3", "d 4", "e+5", "new-9"],
}


def shown(path: Path) -> list[str]:
    """Return all rows of a file, those without a label too."""
    if path.suffix == ".parquet":
        rows = pl.read_parquet(path).to_dicts()
    elif path.suffix == ".json":
        rows = json.loads(path.read_text())
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        separator = "\t" if path.suffix == ".tsv" else ","
        rows = pl.read_csv(path, separator=separator, infer_schema=False).to_dicts()
    signs = {"true": "+", "false": "-", "": " ", "none": " "}
    return [
        f"{row['prompt']}{signs[str(row.get('expected')).strip().lower()]}{row['note']}"
        for row in rows
    ]


@pytest.mark.parametrize("reading", [LEAVE_OUT, FALSE], ids=["left out", "false"])
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", forms())
def test_edits_keep_the_rows_without_label(
    tmp_path: Path, name: str, edit: str, reading: Reading
) -> None:
    path = tmp_path / name
    path.write_bytes(forms()[name])
    prompts = load_prompts(path, Intent.BLOCK, reading)
    keys = dict(zip(prompts.prompts, prompts.keys.tolist(), strict=True))
    wanted: PromptEdit = EDITS[edit](keys)
    result = edit_prompts(path, prompts, wanted, reading=reading)
    assert shown(path) == AFTER[edit]
    assert result.prompts.prompts.to_list() == [
        row[:-2] for row in AFTER[edit] if reading is FALSE or row[-2] != " "
    ]


@pytest.mark.parametrize("name", forms())
def test_empty_label_that_counts_as_false_is_turned_into_true(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(forms()[name])
    prompts = load_prompts(path, Intent.BLOCK, FALSE)
    keys = dict(zip(prompts.prompts, prompts.keys.tolist(), strict=True))
    result = edit_prompts(path, prompts, Relabel(frozenset({keys["b"], keys["d"]})), reading=FALSE)
    assert shown(path) == ["a+1", "b+2", "c-3", "d+4", "e+5"]
    edit_prompts(path, result.prompts, Rewrite(keys["b"], "b", False, {}), reading=FALSE)
    assert shown(path) == ["a+1", "b-2", "c-3", "d+4", "e+5"]


@pytest.mark.parametrize("expected", [True, False])
def test_new_prompt_is_labelled_where_no_label_is_written_so(
    tmp_path: Path, expected: bool
) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prompt,expected\na,YES\nb,\n")
    prompts = load_prompts(path, Intent.BLOCK, FALSE)
    edit_prompts(path, prompts, Add("c", expected, {}), reading=FALSE)
    assert path.read_text() == f"prompt,expected\na,YES\nb,\nc,{'YES' if expected else 'NO'}\n"


def test_edit_read_otherwise_than_the_prompts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    prompts = load_prompts(path, Intent.BLOCK, LEAVE_OUT)
    with pytest.raises(FileError, match="changed by another program"):
        edit_prompts(path, prompts, Remove(frozenset({int(prompts.keys[0])})), reading=FALSE)
    assert path.read_text() == CSV


# --- labels of spreadsheets in other languages ----------------------------------------------------


@pytest.mark.parametrize(("true", "false"), [("WAHR", "FALSCH"), ("VRAI", "FAUX")])
def test_labels_in_another_language_name_the_way_to_convert(true: str, false: str) -> None:
    content = f"prompt,expected\na,{true}\nb,{false}\nc,{true}\n".encode()
    with pytest.raises(PromptSetError) as caught:
        parse_prompts(Path("my p.csv"), content, Intent.BLOCK)
    said = str(caught.value)
    assert f"no label is true or false (yes/no, 1/0, t/f, y/n), but '{true}', '{false}'" in said
    assert f"guardtui convert 'my p.csv' --true {true}" in said


def test_other_labels_name_the_way_to_convert() -> None:
    content = b"prompt,expected\na,unsafe\nb,safe\nc,unsafe\n"
    with pytest.raises(PromptSetError, match=r"'unsafe', 'safe': .* --true VALUE"):
        parse_prompts(Path("p.csv"), content, Intent.BLOCK)
