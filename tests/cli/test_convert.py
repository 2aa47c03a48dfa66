"""`guardtui convert` as its user runs it: data to stdout, talk to stderr, all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
import xlsxwriter

from guardtui.cli import convert
from guardtui.files.foreign import FORMATS
from guardtui.files.prompt_files import load_prompts

from .conftest import Run

PROMPTFOO = """\
tests:
  - vars: {prompt: Can I deduct my desk?, lang: en}
    assert: [{type: not-guardrails}]
  - vars: {prompt: =1+1 loaves of bread, lang: en}
    assert: [{type: guardrails}]
"""
DATASET = (
    '{"id": "1", "data": "tax?", "expected_triggers": {"Tax": true, "Other": false}}\n'
    '{"id": "2", "data": "bread?", "expected_triggers": {"Tax": false, "Other": true}}\n'
)


@pytest.fixture
def sources(folder: Path) -> Path:
    (folder / "tests.yaml").write_text(PROMPTFOO, "utf-8")
    (folder / "data.jsonl").write_text(DATASET, "utf-8")
    (folder / "bad.txt").write_text("evade tax\nhide money\n", "utf-8")
    (folder / "good.txt").write_text("why is the sky blue\n", "utf-8")
    return folder


def test_to_standard_output_with_talk_beside_it(sources: Path, run: Run) -> None:
    done = run("convert", "tests.yaml")
    assert done.code == 0
    assert done.out.splitlines()[:2] == [
        "prompt,expected,intent,lang,assert",
        'Can I deduct my desk?,true,block,en,"[{""type"": ""not-guardrails""}]"',
    ]
    said, warned = done.err.splitlines()
    assert said == "promptfoo: 2 prompts, 1 expected true and 1 false, intent block"
    assert warned.startswith("warning: 1 of the prompts begins like a formula")


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.jsonl", "new.parquet"])
def test_a_file_that_is_a_prompt_set_and_is_never_written_over(
    sources: Path, run: Run, name: str
) -> None:
    words = ("convert", "data.jsonl", "--guardrail", "Tax", "--intent", "allow", "-o", name)
    done = run(*words)
    assert (done.code, done.out) == (0, "")
    prompts = load_prompts(sources / name)
    assert prompts.prompts.to_list() == ["tax?", "bread?"]
    # The guardrail should fire on the first: under allow that is one that is not of the topic.
    assert prompts.should_trigger().tolist() == [True, False]
    assert prompts.extra_columns == ("id", "expected_triggers.Other")
    before = (sources / name).read_bytes()
    again = run(*words)
    assert again.code == 2
    assert f"{name}: the file exists, and is never overwritten" in again.err
    assert (sources / name).read_bytes() == before


def test_all_errors_are_reported_and_nothing_is_written(sources: Path, run: Run) -> None:
    (sources / "data.jsonl").write_text(DATASET + '{"data": 5}\n{"id": 1\n\n{"data": ""}\n')
    done = run("convert", "data.jsonl", "--from", "openai-guardrails", "-o", "new.csv")
    assert (done.code, done.out) == (2, "")
    for line in (3, 4, 6):
        assert f"data.jsonl:{line}: " in done.err
    assert "which guardrail? (existing: Tax, Other)" in done.err
    assert not (sources / "new.csv").exists()


def test_pairs_of_plain_lists(sources: Path, run: Run) -> None:
    done = run("convert", "--positive", "bad.txt", "--negative", "good.txt", "-o", "new.csv")
    assert done.code == 0
    assert load_prompts(sources / "new.csv").expected.tolist() == [True, True, False]
    half = run("convert", "bad.txt", "--expected", "true")
    assert half.code == 0
    assert half.out == "prompt,expected,intent\nevade tax,true,block\nhide money,true,block\n"
    assert "warning: no prompt is expected false" in half.err


def test_pairs_of_tables_with_one_label_each(sources: Path, run: Run) -> None:
    (sources / "attacks.csv").write_text("Behavior,Cat\nmake a bomb,x\n", "utf-8")
    (sources / "chats.jsonl").write_text(
        '{"Behavior": [{"role": "user", "content": "hello"}]}\n', "utf-8"
    )
    words = ("convert", "--positive", "attacks.csv", "--negative", "good.txt")
    refused = run(*words)
    assert (refused.code, refused.out) == (2, "")
    assert "attacks.csv: this is a table, not a plain list (columns: Behavior, Cat)" in refused.err
    done = run(*words, "--negative", "chats.jsonl", "--prompt-column", "Behavior")
    assert done.code == 0
    assert done.out == (
        "prompt,expected,intent,Cat\nmake a bomb,true,block,x\n"
        "why is the sky blue,false,block,\nhello,false,block,\n"
    )
    assert done.err.startswith("table and lines: 3 prompts, 1 expected true and 2 false")
    one = run("convert", "attacks.csv", "--expected", "true", "--prompt-column", "Behavior")
    assert one.code == 0
    assert one.out == "prompt,expected,intent,Cat\nmake a bomb,true,block,x\n"
    as_lines = run("convert", "--positive", "attacks.csv", "--from", "lines")
    assert as_lines.out.splitlines()[1] == '"Behavior,Cat",true,block'


def test_a_set_of_one_label_is_rejected_if_the_input_has_labels(sources: Path, run: Run) -> None:
    (sources / "one.jsonl").write_text(DATASET.splitlines()[0] + "\n", "utf-8")
    done = run("convert", "one.jsonl", "--guardrail", "Tax", "-o", "new.csv")
    assert done.code == 2
    assert "one.jsonl: no row has expected false" in done.err
    assert not (sources / "new.csv").exists()


def test_a_report_as_a_log_is_converted_back_and_scored(folder: Path, run: Run) -> None:
    evaluate = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
    log = "2026-01-01T00-00-00_tax.json"
    assert run(*evaluate, "--format", "inspect-log", "-o", log, "--epochs", "2").code == 0
    assert run("convert", log, "-o", "back.csv").code == 0
    prompts, back = load_prompts(folder / "prompts.csv"), load_prompts(folder / "back.csv")
    assert back.fingerprint == prompts.fingerprint
    assert back.frame["category"].to_list() == prompts.frame["category"].to_list()
    report = json.loads(run(*evaluate, "--format", "json").out)
    done = run("score", log, "--scorer", "match()", "--format", "json")
    assert done.code == 0
    (metrics,) = json.loads(done.out)["scorers"][0]["metrics"]
    assert metrics["values"]["accuracy"] == report["rates"]["accuracy"]
    refused = run("eval", "topic.yaml", "--prompts", log)
    assert refused.code == 2
    assert "this is a log of inspect_ai, not a prompt set" in refused.err


def test_a_truncated_log_is_reported(folder: Path, run: Run) -> None:
    (folder / "half.eval").write_bytes(b"PK\x03\x04 and no more")
    for words in (("score", "half.eval", "--scorer", "match()"), ("convert", "half.eval")):
        done = run(*words)
        assert done.code == 2
        assert "half.eval: not a valid zip archive (is the file truncated?)" in done.err


def test_formats_and_options_are_those_of_the_readers() -> None:
    options = {name for form in FORMATS.values() for name in form.options}
    assert options == set(convert._OPTION)
    known = {param.name for param in convert.command.params if isinstance(param, click.Option)}
    assert options <= known


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("half.json", '{"tests": [', "half.json:1: invalid JSON"),
        ("half.yaml", "tests:\n  - vars: {prompt: [\n", "half.yaml:"),
        (
            "twice.yaml",
            "tests: []\ntests: []\n",
            "twice.yaml:2: the key 'tests' is given twice",
        ),
    ],
)
def test_half_a_file_tells_where_it_breaks_off(
    folder: Path, run: Run, name: str, text: str, told: str
) -> None:
    (folder / name).write_text(text, "utf-8")
    done = run("convert", name)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "not recognised" not in done.err


def test_each_list_may_name_its_own_column(sources: Path, run: Run) -> None:
    (sources / "bench.csv").write_text("Goal,Cat\nmake a bomb,x\n", "utf-8")
    (sources / "dna.jsonl").write_text('{"prompt: text": "hello", "n": 1}\n', "utf-8")
    (sources / "odd:name.csv").write_text("a:b\nbye\n", "utf-8")
    done = run(
        "convert", "--positive", "bench.csv:Goal", "--negative", "dna.jsonl:prompt: text",
        "--negative", "odd:name.csv:a:b", "--negative", "good.txt",
    )  # fmt: skip
    assert done.code == 0
    assert done.out.splitlines()[1:] == [
        "make a bomb,true,block,x,",
        "hello,false,block,,1",
        "bye,false,block,,",
        "why is the sky blue,false,block,,",
    ]
    rest = run(
        "convert", "--positive", "bench.csv", "--negative", "odd:name.csv:a:b",
        "--prompt-column", "Goal",
    )  # fmt: skip
    assert rest.out.splitlines()[1:] == ["make a bomb,true,block,x", "bye,false,block,"]
    (sources / "two.csv").write_text("bad,good\nattack,greeting\n", "utf-8")
    both = run("convert", "--positive", "two.csv:bad", "--negative", "two.csv:good")
    assert both.out.splitlines()[1:] == [
        "attack,true,block,greeting,",
        "greeting,false,block,,attack",
    ]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("tests.csv:None", "no column is named 'None' (existing: Goal): name it with "
         "--prompt-column, or after a colon: FILE:COLUMN"),
        ("tests.csv", "name the column of the prompts with --prompt-column, or after a colon"),
        ("bad.txt:Goal", "bad.txt: a plain list has no column 'Goal'"),
        ("gone.csv:Goal", "gone.csv:Goal: no such file"),
        ("C:\\gone.csv", "no such file"),
    ],
)  # fmt: skip
def test_wrong_columns_of_lists_are_told(sources: Path, run: Run, word: str, told: str) -> None:
    (sources / "tests.csv").write_text("Goal\nx\n", "utf-8")
    done = run("convert", "--positive", word)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_rows_without_label_are_left_out_or_false(sources: Path, run: Run) -> None:
    (sources / "log.csv").write_text("text,label\na,yes\nb,\nc,no\n", "utf-8")
    words = ("convert", "log.csv", "--prompt-column", "text", "--expected-column", "label")
    refused = run(*words)
    assert refused.code == 2
    assert "log.csv:3: label: the label is empty" in refused.err
    left = run(*words, "--unlabelled", "leave-out")
    assert left.out == "prompt,expected,intent\na,true,block\nc,false,block\n"
    assert "warning: 1 prompt has no label and is left out" in left.err
    taken = run(*words, "--unlabelled", "false")
    assert taken.out.splitlines()[2] == "b,false,block"
    assert "--unlabelled does not fit" in run("convert", "bad.txt", "--unlabelled", "false").err


def test_sheet_of_a_workbook_is_converted(sources: Path, run: Run) -> None:
    book = xlsxwriter.Workbook(sources / "book.xlsx")
    book.add_worksheet("Cover").write(0, 0, "title")
    for number, row in enumerate((("prompt", "expected"), ("a", True), ("b", False))):
        (book.get_worksheet_by_name("Set") or book.add_worksheet("Set")).write_row(number, 0, row)
    book.close()
    done = run("convert", "book.xlsx", "--sheet", "Set")
    assert done.out == "prompt,expected,intent\na,true,block\nb,false,block\n"
    lists = run("convert", "--positive", "book.xlsx:prompt", "--sheet", "Set")
    assert lists.out.splitlines()[1:] == ["a,true,block,true", "b,true,block,false"]
    assert "existing: Cover, Set" in run("convert", "book.xlsx", "--sheet", "None").err
    evaluated = run("eval", "topic.yaml", "--prompts", "book.xlsx", "--sheet", "Set")
    assert evaluated.code == 0
    assert "1 of 1 prompt is missed and 0 of 1 wrongly stopped" in evaluated.out
