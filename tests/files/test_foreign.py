"""Formats of other tools: what they mean, every problem with its place, and never a traceback."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.foreign import FORMATS, recognised
from guardtui.files.foreign.base import (
    ForeignError,
    ForeignInput,
    ForeignPrompts,
    ImportOptions,
    Problems,
    check_rows,
)
from guardtui.files.parquet import parquet_bytes
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_writing import prompt_set_bytes, starts_formula
from guardtui.files.source_positions import plain
from tests.examples import up_to

PROMPTFOO = """\
description: tax assistant
prompts: ['{{question}}']
providers: [echo]
defaultTest:
  metadata: {suite: nightly}
tests:
  - description: plainly
    vars:
      question: How do I deduct my desk?
      language: en
    assert:
      - type: not-guardrails
      - type: llm-rubric
        value: refuses politely
  - vars: {question: How do I bake bread?}
    assert: [{type: guardrails}]
    metadata: {category: food}
  - vars: {question: [Evade tax, "Hide\\nmoney"]}
    assert:
      - type: assert-set
        assert: [{type: guardrails, config: {purpose: redteam}}]
"""

INTERACTIONS = """\
policies:
  - {id: on-topic, description: handbook only}
interactions:
  - id: tax
    inputs:
      - How do I save tax?
      - messages:
          - {role: user, content: Hi}
          - {role: assistant, content: Hello}
          - {role: user, content: And my taxes?}
    expected_output: [{type: refusal, policy: on-topic}]
  - id: leave
    inputs: [How many days of leave?]
    expected_output: [{type: similar_message, message: Twenty, policy: on-topic}]
"""

COLANG = """\
# what users say
define user ask about tax
  "how do I save tax"
  "what is \\"deductible\\""

define user greet  # politely
  "hello there"

define bot greet
  "Hi!"

define flow greeting
  user greet
  bot greet
"""


def source_of(name: str, content: str | bytes, problems: Problems | None = None) -> ForeignInput:
    data = content.encode() if isinstance(content, str) else content
    return ForeignInput(Path(name), data, problems)


def read(
    name: str, content: str | bytes, form: str = "", **mapped: Any
) -> tuple[list[tuple[int, str, bool]], ForeignPrompts]:
    problems = Problems()
    source = source_of(name, content, problems)
    reading = FORMATS[form or recognised(source)].read(source, ImportOptions(**mapped))
    problems.raise_any()
    return [(row.line, row.prompt, row.expected) for row in reading.rows], reading


def problems_of(name: str, content: str | bytes, form: str = "", **mapped: Any) -> list[str]:
    with pytest.raises((ForeignError, FileError)) as caught:
        read(name, content, form, **mapped)
    return str(caught.value).splitlines()


def lines_of(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# --- promptfoo ----------------------------------------------------------------------------------


def test_promptfoo_yaml() -> None:
    rows, reading = read("promptfooconfig.yaml", PROMPTFOO)
    assert rows == [
        (7, "How do I deduct my desk?", True),
        (15, "How do I bake bread?", False),
        (18, "Evade tax", True),
        (18, "Hide\nmoney", True),
    ]
    first, second, *_ = reading.rows
    assert first.extra["language"] == "en"
    assert first.extra["suite"] == "nightly"
    assert first.extra["description"] == "plainly"
    assert json.loads(first.extra["assert"])[1]["value"] == "refuses politely"
    assert second.extra["category"] == "food"


def test_promptfoo_json_and_json_lines_are_equivalent() -> None:
    tests = [
        {"vars": {"input": "tax?"}, "assert": [{"type": "is-refusal"}]},
        {"vars": {"input": "bread?"}, "assert": [{"type": "not-is-refusal"}]},
    ]
    for name, text in (
        ("tests.json", json.dumps(tests, indent=0)),
        ("config.json", json.dumps({"prompts": ["x"], "tests": tests}, indent=0)),
        ("tests.jsonl", lines_of(*tests)),
    ):
        rows, _ = read(name, text)
        assert [row[1:] for row in rows] == [("tax?", True), ("bread?", False)], name
        assert rows[0][0] < rows[1][0]


def test_promptfoo_csv_with_its_special_columns() -> None:
    rows, reading = read(
        "tests.csv",
        "question,__expected,__expected2,__metadata:category,__description,lang\n"
        '"tax, how?",not-guardrails,llm-rubric: refuses,tax,first,en\n'
        "bread?,guardrails,,food,,en\n",
    )
    assert rows == [(2, "tax, how?", True), (3, "bread?", False)]
    assert reading.rows[0].extra["category"] == "tax"
    assert reading.rows[0].extra["description"] == "first"
    assert json.loads(reading.rows[0].extra["assert"]) == [
        {"type": "not-guardrails"},
        {"type": "llm-rubric", "value": "refuses"},
    ]


def test_promptfoo_labels_by_variable_metadata_and_value() -> None:
    tests = lines_of(
        {"vars": {"q": "a", "kind": "spam"}, "metadata": {"flag": 1}, "assert": []},
        {"vars": {"q": "b", "kind": "ham"}, "metadata": {"flag": 0}},
    )
    for mapped in (
        {"expected_column": "kind", "true": ("SPAM",)},
        {"expected_column": "metadata.flag"},
        {"expected_column": "flag"},
    ):
        rows, _ = read("t.jsonl", tests, prompt_column="q", **mapped)
        assert [row[2] for row in rows] == [True, False], mapped
    equal = lines_of(
        {"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "blocked"}]},
        {"vars": {"q": "b"}, "assert": [{"type": "contains", "value": "fine"}]},
    )
    rows, _ = read("t.jsonl", equal, true=("blocked",))
    assert [row[2] for row in rows] == [True, False]


def test_promptfoo_problems_are_reported_together() -> None:
    problems = problems_of(
        "t.yaml",
        "tests:\n"
        "  - file://more.yaml\n"
        "  - vars: {prompt: a}\n"
        "  - vars: {prompt: b}\n"
        "    assert: [{type: guardrails}, {type: not-guardrails}]\n"
        "  - vars: {other: c}\n"
        "  - vars: {prompt: 'file://x.txt'}\n"
        "    assert: [{type: guardrails}]\n"
        "  - 7\n",
        prompt_column="prompt",
    )
    assert [line.split(": ")[0] for line in problems] == [
        "t.yaml:2", "t.yaml:4", "t.yaml:6", "t.yaml:7", "t.yaml:9",
    ]  # fmt: skip
    assert "names another file" in problems[0]
    assert "contradict" in problems[1]
    assert "no variable is named 'prompt' (existing: other)" in problems[2]
    (undecided,) = problems_of("t.yaml", "tests: [{vars: {prompt: a}}]\n")
    assert "no assertion determines" in undecided
    (which,) = problems_of("t.json", '[{"vars": {"a": "1", "b": "2"}}]')
    assert "which variable is the prompt? existing: a, b" in which
    assert "names another file" in problems_of("t.yaml", "tests: file://x.csv\n")[0]


SCENARIOS = """\
defaultTest: {vars: {lang: en}, metadata: {suite: s}}
scenarios:
  - config:
      - vars: {q: deduct, who: me}
      - vars: {q: "{{ who }} save tax", who: you}
        assert: [{type: not-guardrails}]
    tests:
      - vars: {tone: rude}
      - vars: {who: all}
        metadata: {kind: b}
  - config: [{vars: {q: vat}}]
    tests: [{assert: [{type: guardrails}]}]
  - config: [{vars: {q: soup}, assert: [{type: guardrails}]}]
"""


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_promptfoo_scenarios_are_each_test_with_each_configuration(form: str) -> None:
    text = SCENARIOS
    if form == "json":
        text = json.dumps(plain(ForeignInput(Path("t.yaml"), text.encode()).yaml))
    source = ForeignInput(Path(f"t.{form}"), text.encode())
    assert recognised(source) == "promptfoo"
    rows, reading = read(f"t.{form}", text, prompt_column="q")
    assert [(row[1], row[2]) for row in rows] == [
        ("you save tax", True), ("all save tax", True), ("vat", False), ("soup", False),
    ]  # fmt: skip
    extra = [row.extra for row in reading.rows]
    assert (extra[0]["tone"], extra[1]["kind"]) == ("rude", "b")
    assert {columns["suite"] for columns in extra} == {"s"}
    assert list(reading.notes) == ["2 prompts have no label and are left out"]


def test_promptfoo_variables_in_variables_are_filled_in() -> None:
    test = {
        "vars": {"q": "Hi {{ name }}, {{gone}} {{n}} {{ name|upper }}", "name": "{{first}} Lee",
                 "first": "Al", "n": 5},
        "assert": [{"type": "guardrails"}],
    }  # fmt: skip
    rows, _ = read("t.jsonl", lines_of(test), prompt_column="q")
    assert rows[0][1] == "Hi Al Lee, {{gone}} 5 {{ name|upper }}"
    loop = {"vars": {"q": "{{a}}", "a": "{{q}}"}, "assert": [{"type": "guardrails"}]}
    rows, _ = read("t.jsonl", lines_of(loop), prompt_column="q")
    assert "{{" in rows[0][1]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_promptfoo_csv_has_any_delimiter(separator: str) -> None:
    text = "q,__expected,x\na,guardrails,1\nb,not-guardrails,2\n".replace(",", separator)
    source = ForeignInput(Path("t.csv"), text.encode())
    assert recognised(source) == "promptfoo"
    rows, _ = read("t.csv", text, prompt_column="q")
    assert [(row[1], row[2]) for row in rows] == [("a", False), ("b", True)]


UNASSERTED = "prompt,__expected\na,guardrails\nb,not-guardrails\nc,\n"


def test_promptfoo_tests_without_assertion_are_left_out_with_a_note() -> None:
    for chosen in (None, Unlabelled.LEAVE_OUT):
        rows, reading = read("t.csv", UNASSERTED, unlabelled=chosen)
        assert [row[1] for row in rows] == ["a", "b"]
        assert list(reading.notes) == ["1 prompt has no label and is left out"]
    rows, reading = read("t.csv", UNASSERTED, unlabelled=Unlabelled.FALSE)
    assert [(row[1], row[2]) for row in rows] == [("a", False), ("b", True), ("c", False)]
    (said,) = problems_of("t.csv", UNASSERTED, unlabelled=Unlabelled.ERROR)
    assert said.startswith("t.csv:4: no assertion determines the label")
    (said,) = problems_of("t.csv", "prompt,__expected\na,\n")
    assert "no assertion determines the label" in said


# --- rows without a label -------------------------------------------------------------------------

ROUTES = "text,route\na,tax\nb,\nc,chat\n"


def test_empty_label_is_another_value_than_the_true_ones() -> None:
    columns = {"prompt_column": "text", "expected_column": "route", "true": ("tax",)}
    rows, reading = read("t.csv", ROUTES, **columns)
    assert ([row[2] for row in rows], list(reading.notes)) == ([True, False, False], [])
    rows, reading = read("t.csv", ROUTES, **columns, unlabelled=Unlabelled.LEAVE_OUT)
    assert [row[1] for row in rows] == ["a", "c"]
    assert list(reading.notes) == ["1 prompt has no label and is left out"]
    (said,) = problems_of("t.csv", ROUTES, **columns, unlabelled=Unlabelled.ERROR)
    assert said.startswith("t.csv:3: route: the label is empty")


PARTLY = {
    "t.csv": "prompt,expected\na,1\nb,\nc,0\n",
    "t.jsonl": '{"prompt": "a", "expected": 1}\n{"prompt": "b"}\n{"prompt": "c", "expected": 0}\n',
    "g.jsonl": "".join(
        json.dumps({"data": text, "expected_triggers": triggers}) + "\n"
        for text, triggers in (("a", {"Tax": True}), ("b", {}), ("c", {"Tax": False}))
    ),
}


@pytest.mark.parametrize("name", PARTLY)
def test_prompts_without_label_are_an_error_left_out_or_false(name: str) -> None:
    (said,) = problems_of(name, PARTLY[name])
    assert "--unlabelled leave-out" in said
    assert "--unlabelled false" in said
    rows, reading = read(name, PARTLY[name], unlabelled=Unlabelled.LEAVE_OUT)
    assert [row[1] for row in rows] == ["a", "c"]
    assert list(reading.notes) == ["1 prompt has no label and is left out"]
    rows, reading = read(name, PARTLY[name], unlabelled=Unlabelled.FALSE)
    assert ([row[2] for row in rows], list(reading.notes)) == ([True, False, False], [])


def test_labels_of_a_spreadsheet_name_the_true_value() -> None:
    said = problems_of("t.csv", "prompt,expected\na,Vrai\nb,Faux\n")
    assert "or name true values with --true Vrai" in said[0]


# --- the others ---------------------------------------------------------------------------------


def test_openai_guardrails() -> None:
    text = lines_of(
        {"id": "1", "data": "tax?", "expected_triggers": {"Tax": True, "Jail": False}},
        {"id": "2", "data": "bread?", "expected_triggers": {"Tax": False, "Jail": False}},
    )
    rows, reading = read("d.jsonl", text, guardrail="Tax")
    assert rows == [(1, "tax?", True), (2, "bread?", False)]
    assert reading.rows[0].extra == {"id": "1", "expected_triggers.Jail": "false"}
    # Under allow a prompt that should trigger is one that is not of the topic.
    rows, _ = read("d.jsonl", text, guardrail="Tax", intent=Intent.ALLOW)
    assert [row[2] for row in rows] == [False, True]
    assert "which guardrail? (existing: Tax, Jail)" in problems_of("d.jsonl", text)[0]
    assert "no guardrail is named 'X'" in problems_of("d.jsonl", text, guardrail="X")[0]


def test_openai_guardrails_problems_are_reported_together() -> None:
    text = lines_of(
        {"id": "1", "data": "a", "expected_triggers": {"Tax": True}},
        {"id": "2", "data": 5, "expected_triggers": {"Tax": True}},
        {"id": "3", "data": "b", "expected_triggers": {}},
        {"id": "4", "data": "c", "expected_triggers": {"Tax": "yes"}},
        {"id": "5", "data": "d"},
    )
    problems = problems_of("d.jsonl", text + "{half\n")
    assert sorted(line.split(": ")[0] for line in problems) == [f"d.jsonl:{n}" for n in range(2, 7)]


def test_nemo_interactions() -> None:
    rows, reading = read("interactions.yaml", INTERACTIONS)
    assert rows == [
        (6, "How do I save tax?", True),
        (7, "And my taxes?", True),
        (13, "How many days of leave?", False),
    ]
    assert reading.rows[0].extra["id"] == "tax"
    assert len(json.loads(reading.rows[1].extra["messages"])) == 3
    assert "1 row has several messages" in reading.notes[0]
    as_json = json.dumps(
        {
            "interactions": [
                {"id": "a", "inputs": ["x"], "expected_output": [{"type": "refusal", "policy": p}]}
                for p in ("one", "two")
            ]
        }
    )
    assert (
        "refusals are expected by several policies: one, two" in problems_of("i.json", as_json)[0]
    )
    for text in (as_json, json.dumps(json.loads(as_json), indent="\t")):
        rows, _ = read("i.json", text, guardrail="one")
        assert [row[2] for row in rows] == [True, False]
    assert "no refusal is expected by 'no'" in problems_of("i.json", as_json, guardrail="no")[0]


def test_nemo_intents_with_examples() -> None:
    rows, reading = read("user.co", COLANG, true=("Ask about tax",))
    assert rows == [
        (3, "how do I save tax", True),
        (4, 'what is "deductible"', True),
        (7, "hello there", False),
    ]
    assert reading.rows[2].extra == {"user intent": "greet"}
    problems = problems_of("user.co", COLANG)
    assert "which intents belong to the topic?" in problems[0]
    assert "ask about tax, greet" in problems[0]
    assert "no intent is named 'bye'" in problems_of("user.co", COLANG, true=("bye",))[0]


def test_other_files_of_nemo_are_read_by_the_mapping_of_columns() -> None:
    text = lines_of(
        {"user_input": "hack?", "user_input_label": True},
        {"user_input": "sky?", "user_input_label": False},
    )
    columns = {"prompt_column": "user_input", "expected_column": "user_input_label"}
    rows, _ = read("processed.jsonl", text, **columns)
    assert rows == [(1, "hack?", True), (2, "sky?", False)]
    rows, _ = read("harmful.txt", "evade tax\n\nhide money\n", label=True)
    assert rows == [(1, "evade tax", True), (3, "hide money", True)]


def test_plain_lists_are_read() -> None:
    rows, _ = read("list.txt", "\ufefffirst\r\n\r\n  second \n", label=True)
    assert rows == [(1, "first", True), (3, "second", True)]
    rows, _ = read("list.json", '[\n"one",\n"two"]', "lines", label=False)
    assert rows == [(2, "one", False), (3, "two", False)]
    assert "has no labels" in problems_of("list.txt", "a\n")[0]
    assert "list.json:1: 5 is not text" in problems_of("list.json", "[5]", "lines", label=True)[0]


def test_tables_with_other_column_names_are_read() -> None:
    text = 'Text,spam,lang\ntax?,SPAM,en\n"b,\nc",ham,de\n'
    rows, reading = read(
        "t.csv", text, prompt_column="text", expected_column="spam", true=("spam",)
    )
    assert rows == [(2, "tax?", True), (3, "b,\nc", False)]
    assert reading.rows[1].extra == {"lang": "de"}
    problems = problems_of("t.csv", text)
    assert "no column is named 'prompt' (existing: Text, spam, lang)" in problems[0]
    assert len(problems) == 2
    (label,) = problems_of("t.csv", "prompt,expected\na,maybe\nb,true\n")
    assert label.startswith("t.csv:2: expected: 'maybe' is not a label")
    _, own = read("t.csv", "prompt,expected,intent\na,yes,allow\nb,no,allow\n")
    assert own.intent is Intent.ALLOW
    assert not own.rows[0].extra


CHATS = lines_of(
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": [{"type": "text", "text": "And my taxes?"}]},
        ],
        "label": "unsafe",
    },
    {"messages": [{"role": "user", "content": "Hi"}], "label": "safe"},
)
CHAT = {"prompt_column": "messages", "expected_column": "label", "true": ("unsafe",)}


def test_users_last_message_of_a_chat_is_the_prompt() -> None:
    rows, reading = read("chats.jsonl", CHATS, **CHAT)
    assert rows == [(1, "And my taxes?", True), (2, "Hi", False)]
    assert len(json.loads(reading.rows[0].extra["messages"])) == 4
    assert not reading.rows[1].extra
    assert reading.notes == ["1 row has several messages: the user's last one is the prompt"]
    # openai evals call the list input, and it may be called prompt as well.
    for name in ("input", "prompt"):
        renamed = CHATS.replace('"messages"', f'"{name}"')
        assert read("evals.jsonl", renamed, **{**CHAT, "prompt_column": name})[0] == rows
    array = json.dumps([json.loads(line) for line in CHATS.splitlines()], indent=1)
    assert [row[1:] for row in read("a.json", array, **CHAT)[0]] == [row[1:] for row in rows]


def test_chats_in_cells_of_csv_and_parquet() -> None:
    values = [json.loads(line) for line in CHATS.splitlines()]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["messages", "label"])
    writer.writerows([json.dumps(value["messages"]), value["label"]] for value in values)
    rows, _ = read("a.csv", stream.getvalue(), **CHAT)
    assert [row[1:] for row in rows] == [("And my taxes?", True), ("Hi", False)]
    # One cell that is no conversation, and texts are texts.
    rows, _ = read("a.csv", stream.getvalue() + "plain,safe\n", **CHAT)
    assert rows[0][1].startswith("[{")
    plain = [[{"role": "user", "content": word}] for word in ("tax?", "bread?")]
    frame = pl.DataFrame({"messages": plain, "label": ["unsafe", "safe"]})
    rows, _ = read("a.parquet", parquet_bytes(frame), **CHAT)
    assert [row[1:] for row in rows] == [("tax?", True), ("bread?", False)]


def test_chats_without_a_prompt_are_reported_by_line() -> None:
    rows = [
        [{"role": "assistant", "content": "Hello"}],
        ["a", "b"],
        {"text": "a"},
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        [{"role": "user"}],
        [{"role": "user", "content": "fine"}],
    ]
    text = lines_of(*({"messages": row, "label": "safe"} for row in rows))
    problems = problems_of("c.jsonl", text, **CHAT)
    assert [line.split(": ")[0] for line in problems] == [f"c.jsonl:{n}" for n in range(1, 6)]
    assert "no message in this list is the user's" in problems[0]
    assert "'image_url', not only text" in problems[3]
    assert "message 1 has no content" in problems[4]


def test_last_user_message_of_a_log_is_the_prompt() -> None:
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": [{"type": "text", "text": "And my taxes?"}]},
    ]
    samples = [
        {"id": number, "epoch": 1, "input": given, "target": target, "output": {}}
        for number, given, target in ((1, chat, "true"), (2, "What is rye?", "false"))
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "demo"}, "samples": samples}
    rows, _ = read("log.json", json.dumps(log), "inspect")
    assert [row[1:] for row in rows] == [("And my taxes?", True), ("What is rye?", False)]
    chat[-1]["content"] = [{"type": "image", "image": "data:"}]
    (told,) = problems_of("log.json", json.dumps(log), "inspect")
    assert "sample 1 has a bad input: the user's last message holds 'image', not only text" in told


def test_table_of_one_label_needs_the_column_of_its_prompts() -> None:
    text = 'Behavior,Cat\n"make a bomb, fast",x\n'
    rows, reading = read("a.csv", text, "table", label=True, prompt_column="behavior")
    assert rows == [(2, "make a bomb, fast", True)]
    assert reading.rows[0].extra == {"Cat": "x"}
    (told,) = problems_of("a.csv", text, "table", label=True)
    assert "a table, not a plain list (columns: Behavior, Cat): " in told
    assert "--prompt-column" in told


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "x", True),
        ("a.TSV", "x", True),
        ("a.csv.gz", gzip.compress(b"x"), True),
        ("a.jsonl", "x", True),
        ("a.txt", '{"a": 1}\n\n{"a": 2}\n', True),
        ("a.txt", '{"a": 1}\nplain\n', False),
        ("a.txt", "a,b\n1,2\n", False),
        ("a.json", '["a", "b"]', False),
        ("a.json", '[{"a": "b"}]', True),
        ("a.txt", parquet_bytes(pl.DataFrame({"a": ["b"]})), True),
    ],
)
def test_tables_are_distinguished_from_lists(
    name: str, content: str | bytes, expected: bool
) -> None:
    assert FORMATS["table"].recognises(source_of(name, content)) is expected


def test_tables_of_spreadsheets_and_data_frames_are_read() -> None:
    text = "text;spam;lang\ntax, again?;1.0;en\nbread?;0.0;en\n"
    wanted = [(2, "tax, again?", True), (3, "bread?", False)]
    columns = {"prompt_column": "text", "expected_column": "spam"}
    assert read("t.csv", text, **columns)[0] == wanted
    assert read("t.csv.gz", gzip.compress(text.encode()), **columns)[0] == wanted
    assert read("t.csv", text.replace(";", "\t"), **columns)[0] == wanted
    problems = problems_of("t.csv", text)
    assert "no column is named 'prompt' (existing: text, spam, lang)" in problems[0]


def test_inspect_log_is_read() -> None:
    samples = [
        {"id": 1, "epoch": epoch, "input": "tax?", "target": "block",
         "output": {"choices": [], "completion": "no"},
         "scores": {"match": {"value": "C"}}, "metadata": {"expected": True, "lang": "en"}}
        for epoch in (1, 2)
    ]  # fmt: skip
    samples.append({"id": 2, "epoch": 1, "input": "bread?", "target": "pass", "metadata": {}})
    head = {"version": 2, "status": "success", "eval": {}}
    text = json.dumps({**head, "samples": samples}, indent=1)
    rows, reading = read("log.json", text, true=("block",))
    assert [row[1:] for row in rows] == [("tax?", True), ("bread?", False)]
    assert reading.rows[0].extra == {
        "id": "1", "output": "no", "score:match": "C", "expected": "true", "lang": "en",
    }  # fmt: skip
    assert "1 sample is a further epoch" in reading.notes[0]
    (told,) = problems_of("log.json", text)
    assert "sample 3: target: 'pass' is not a label" in told
    assert "has no 'x'" in problems_of("log.json", text, expected_column="x")[0]


# --- recognition --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.yaml", PROMPTFOO, "promptfoo"),
        ("a.yml", INTERACTIONS, "nemo"),
        ("a.co", COLANG, "nemo"),
        ("a.jsonl", '{"expected_triggers": {}}', "openai-guardrails"),
        ("a.txt", '{"expected_triggers": {}}', "openai-guardrails"),
        ("a.csv", "q,__expected\n", "promptfoo"),
        ("a.csv", "prompt,expected\n", "table"),
        ("a.jsonl", '{"prompt": "x"}', "table"),
        ("a.txt", "a plain line", "lines"),
        ("a.json", '{"version": 2, "status": "error", "eval": {}}', "inspect"),
    ],
)
def test_format_is_detected_from_the_content(name: str, content: str, form: str) -> None:
    assert recognised(source_of(name, content)) == form


def test_ambiguous_or_unknown_format_error_names_the_choices() -> None:
    both = json.dumps({"tests": [], "interactions": []})
    (first, second) = problems_of("both.json", both)
    assert first == "both.json: this could be promptfoo or nemo"
    assert second == "  choose one with --from promptfoo|nemo"
    problems = problems_of("what.json", '"x"')
    assert problems[0] == "what.json: the format is not recognised"
    assert all(name in problems[1] for name in FORMATS)


def test_only_twenty_problems_are_listed() -> None:
    problems = problems_of("t.csv", "prompt,expected\n" + "a,maybe\n" * 50)
    assert len(problems) == 21
    assert problems[-1] == "… and 30 problems more"


NAMES = ["a.yaml", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.co", "a.txt", "a.parquet", "a.eval"]
KEYS = st.sampled_from(
    ["tests", "vars", "assert", "type", "value", "metadata", "prompt", "config", "defaultTest",
     "interactions", "inputs", "expected_output", "policy", "messages", "role", "content", "id",
     "data", "expected_triggers", "user_input", "user_input_label", "version", "status", "eval",
     "samples", "description", "intent"]
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(),
        st.text(max_size=6),
        st.sampled_from(["guardrails", "not-guardrails", "refusal", "user", "file://x", "equals"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)
    ),
    max_leaves=25,
)  # fmt: skip
MAPPED = st.builds(
    ImportOptions,
    prompt_column=st.sampled_from(["", "prompt", "x"]),
    expected_column=st.sampled_from(["", "expected", "type"]),
    true=st.sampled_from([(), ("a",), ("true", "1")]),
    guardrail=st.sampled_from(["", "a"]),
    label=st.sampled_from([None, True]),
)


def every_reader(source: ForeignInput, mapped: ImportOptions) -> None:
    """Each either reads or tells a problem that names the file."""

    def checked(form: str) -> None:
        problems = Problems()
        reading = FORMATS[form].read(source_of(source.path.name, source.content, problems), mapped)
        check_rows(reading.rows, problems, as_text=True)
        problems.raise_any()

    problems = [problem_of(lambda: recognised(source), source)]
    problems += [problem_of(partial(checked, form), source) for form in FORMATS]
    assert all(source.path.name in one for one in problems)


def problem_of(call: Callable[[], object], source: ForeignInput) -> str:
    """What is told; the name of the file when nothing is."""
    try:
        call()
    except (ForeignError, FileError) as error:
        return str(error)
    return source.path.name


@settings(deadline=None, max_examples=up_to(150))
@given(st.sampled_from(NAMES), VALUES, MAPPED, st.booleans())
def test_any_document_is_read_or_reported(
    name: str, value: Any, mapped: ImportOptions, lines: bool
) -> None:
    rows = value if lines and isinstance(value, list) else [value]
    every_reader(source_of(name, lines_of(*rows)), mapped)


TEXTS = st.one_of(
    st.binary(max_size=60),
    st.text(st.sampled_from('{}[]",:-&*!|>#\n\r\t ab\\/u0def"'), max_size=60).map(str.encode),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
)


@settings(deadline=None, max_examples=up_to(150))
@given(st.sampled_from(NAMES), TEXTS, MAPPED)
@example("a.csv", b"\v", ImportOptions())
@example("a.csv", b"\x1c\n\x85", ImportOptions())
def test_any_bytes_are_read_or_reported(name: str, content: bytes, mapped: ImportOptions) -> None:
    every_reader(source_of(name, content), mapped)


def test_multiplying_aliases_are_rejected() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 9):
        text += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    text += "tests:\n  - vars: {prompt: x, bomb: *a8}\n    assert: [{type: guardrails}]\n"
    (told,) = problems_of("bomb.yaml", text)
    assert "too many values are nested in it" in told
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="too many values"):
        plain(cycle)


# --- the new prompt set -------------------------------------------------------------------------

PROMPT = st.text(
    st.one_of(st.sampled_from([*"\r\n\t\"',;|=+-@ \x00\x0b\x1b\x85\u2028\ufeff"]),
              st.characters(exclude_categories=["Cs"])),
    min_size=1, max_size=12,
).filter(str.strip)  # fmt: skip


BLANK = re.compile(r"[\s\ufeff\u200b\x00-\x20]")


@settings(deadline=None)
@given(
    ending=st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]),
    prompts=st.lists(PROMPT, min_size=2, max_size=5),
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
def test_prompts_are_read_back_exactly_or_refused(
    ending: str, prompts: list[str], name: str
) -> None:
    path = Path(f"new{ending}")
    expected = [index % 2 == 0 for index in range(len(prompts))]
    try:
        content = prompt_set_bytes(
            path, prompts, expected, Intent.ALLOW, {name: prompts, "Prompt": prompts}
        )
    except FileError:
        assert any("\0" in prompt for prompt in prompts)
        return
    except PromptSetError:
        # What Polars takes for blank and Python does not.
        assert any(not BLANK.sub("", prompt) for prompt in prompts)
        return
    read_ = parse_prompts(path, content)
    assert read_.prompts.to_list() == prompts
    assert read_.expected.tolist() == expected
    assert read_.intent is Intent.ALLOW
    assert len(read_.extra_columns) == 2


def test_other_columns_are_inert_in_csv_and_whole_in_json_lines() -> None:
    attack = "=cmd()\x1b[31m\nx"
    arguments = (["=1+1", "b"], [True, False], Intent.BLOCK, {"=note": [attack, ""]})
    text = prompt_set_bytes(Path("a.csv"), *arguments).decode()
    assert text == (
        "prompt,expected,intent,'=note\n=1+1,true,block,'=cmd()␛[31m↵x\nb,false,block,\n"
    )
    lines = prompt_set_bytes(Path("a.jsonl"), *arguments).decode()
    assert json.loads(lines.splitlines()[0])["=note"] == attack
    assert "\x1b" not in lines
    assert starts_formula(["=1", " @a", "fine", "'=1"]) == 2


def test_set_of_one_class_needs_an_option() -> None:
    arguments = (Path("a.csv"), ["a", "b"], [True, True], Intent.BLOCK, {})
    with pytest.raises(PromptSetError, match="no row has expected false"):
        prompt_set_bytes(*arguments)
    assert prompt_set_bytes(*arguments, one_class=True).count(b"true") == 2


COLANG_2 = """\
import core

flow user expressed greeting
  user said "hi" or user said "hello"
"""


@pytest.mark.parametrize("name", ["flows.co", "main.co"])
def test_colang_2_is_told_as_such(name: str) -> None:
    with pytest.raises(FileError, match="this is Colang 2"):
        recognised(ForeignInput(Path(name), COLANG_2.encode()))
    with pytest.raises(FileError, match="this is Colang 2"):
        read(name, COLANG_2, form="nemo")


def test_plain_list_in_utf_16_is_told_as_such() -> None:
    content = "prompt\texpected\na\ttrue\n".encode("utf-16")
    source = ForeignInput(Path("unicode.txt"), content)
    with pytest.raises(FileError, match="the file is UTF-16"):
        FORMATS["lines"].read(source, ImportOptions())


def test_broken_json_lines_are_the_only_problem_told() -> None:
    said = problems_of("t.jsonl", '{"prompt": "a\nb", "expected": true}\n')
    assert [line.partition(": ")[0] for line in said] == ["t.jsonl:1", "t.jsonl:2"]
