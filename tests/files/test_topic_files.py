"""Topic files: read safely, and saved so that only what differs changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.domain.topic import Intent, Topic
from guardtui.files.problems import FileError
from guardtui.files.topic_files import (
    ChangedOnDiskError,
    PromptsGivenError,
    SeveralTopicsError,
    TopicFile,
    load_topic,
    load_topics,
    save_topic,
)
from tests.examples import up_to

TEXT = """\
# the head
owner: "me"  # kept
name: 'Tax'  # a name
description: Advice
examples:  # a few
  - one  # first
  - "two"
# between
intent: block
more: {a: [1, 2]}
"""
TOPIC = Topic(name="Tax", description="Advice", examples=("one", "two"))
ODD = st.text(st.sampled_from([*"ab:#'\"-?{[&*!|>%@`~ \\\n\té", "\U0001f600", "\x07", "\u2028"]))
SHARED = settings(
    max_examples=up_to(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def problem(path: Path, text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        load_topic(write(path, text))
    return caught.value


def test_topic_file_is_read(tmp_path: Path) -> None:
    file = load_topic(write(tmp_path / "t.yaml", TEXT))
    assert (file.topic, file.intent_given) == (TOPIC, True)


def test_intent_is_optional(tmp_path: Path) -> None:
    text = TEXT.replace("intent: block\n", "")
    assert not load_topic(write(tmp_path / "t.yaml", text)).intent_given


def test_json_topic_is_read(tmp_path: Path) -> None:
    document = {"more": [1], **TOPIC.model_dump(mode="json")}
    path = write(tmp_path / "t.json", json.dumps(document))
    file = load_topic(path)
    assert file.topic == TOPIC
    saved = save_topic(file, TOPIC.model_copy(update={"name": "é\n"}))
    assert load_topic(path) == saved
    assert json.loads(path.read_text("utf-8")) == document | {"name": "é\n"}


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Other: advice"},
        {"examples": ("one", "deux")},
        {"examples": ("one", "two", "three")},
        {"intent": Intent.ALLOW},
    ],
    ids=str,
)
def test_saving_changes_only_what_differs(tmp_path: Path, change: dict[str, object]) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    topic = TOPIC.model_copy(update=change)
    saved = save_topic(load_topic(path), topic)
    assert load_topic(path) == saved
    assert saved.topic == topic
    before, after = TEXT.splitlines(), path.read_text("utf-8").splitlines()
    assert len([line for line in before if line not in after]) <= 1
    assert len([line for line in after if line not in before]) <= 1


@SHARED
@given(name=ODD, description=ODD, examples=st.lists(ODD, min_size=2, max_size=3).map(tuple))
def test_odd_texts_survive(
    tmp_path: Path, name: str, description: str, examples: tuple[str, ...]
) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    topic = Topic(name=name, description=description, examples=examples)
    save_topic(load_topic(path), topic)
    assert load_topic(path).topic == topic
    text = path.read_text("utf-8")
    assert all(part in text for part in ("# the head", "# kept", "# between", "more:"))


def test_lone_surrogate_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    with pytest.raises(FileError):
        save_topic(load_topic(path), TOPIC.model_copy(update={"name": "\ud800"}))
    assert path.read_text("utf-8") == TEXT


def test_foreign_change_is_not_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    file = load_topic(path)
    write(path, TEXT + "# theirs\n")
    topic = TOPIC.model_copy(update={"name": "Mine"})
    with pytest.raises(ChangedOnDiskError):
        save_topic(file, topic)
    assert path.read_text("utf-8") == TEXT + "# theirs\n"
    save_topic(file, topic, force=True, backup_folder=tmp_path / "backups")
    assert load_topic(path).topic == topic
    assert "# theirs" in path.read_text("utf-8")
    assert (tmp_path / "backups" / "t.yaml.1.bak").read_text("utf-8") == TEXT + "# theirs\n"


BAD = {
    "unclosed": ('name: a\ndescription: "b\n', None),
    "tag": ("name: a\ndescription: !!python/object/apply:os.system [ls]\n", 2),
    "list": ("- a\n- b\n", 1),
    "deep": ("name: " + "[" * 1500, None),
    "control": ("name: a\x07\n", None),
}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.exhaustive if name == "deep" else ())
        for name, case in BAD.items()
    ],
)
def test_invalid_topic_error_names_line_and_remedy(
    tmp_path: Path, text: str, line: int | None
) -> None:
    result = problem(tmp_path / "t.yaml", text)
    assert result.remedy
    if line is not None:
        assert result.line == line


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    text = str(problem(tmp_path / "t.yaml", "name: 1\ndescription: 2\nexamples: x\nintent: y\n"))
    assert all(f"t.yaml:{line}: " in text for line in (1, 2, 3, 4))


def test_aliases_do_not_explode(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x]"]
    levels += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, 12)]
    path = write(tmp_path / "t.yaml", TEXT + "\n".join(levels) + "\n")
    file = load_topic(path)
    save_topic(file, TOPIC.model_copy(update={"name": "New"}))
    assert path.stat().st_size < 10_000


@pytest.mark.parametrize("left", [b"", b"\xff\xfe\x00", b"name: [half", b"na\xefve: 1", b"\0"])
def test_file_that_is_no_longer_a_topic_is_overwritten_only_on_request(
    tmp_path: Path, left: bytes
) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    file, new = load_topic(path), TOPIC.model_copy(update={"name": "New"})
    path.write_bytes(left)
    with pytest.raises(FileError) as caught:
        save_topic(file, new, backup_folder=tmp_path / "backups")
    assert caught.value.can_force
    assert path.read_bytes() == left
    save_topic(file, new, force=True, backup_folder=tmp_path / "backups")
    assert load_topic(path).topic == new
    assert (tmp_path / "backups" / "t.yaml.1.bak").read_bytes() == left


def test_folder_at_the_path_is_not_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    file = load_topic(path)
    path.unlink()
    path.mkdir()
    for force in (False, True):
        with pytest.raises(FileError, match="is a folder") as caught:
            save_topic(file, TOPIC, force=force)
        assert not caught.value.can_force


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.yaml", "# only\n# comments\n", "only comments"),
        ("t.yaml", "name: a\ndescription: \x07\n", ":2: this YAML contains an invalid character"),
        ("t.yaml", "# c\nname: 2020-99-99\n", ":2: this YAML contains an unreadable value"),
        ("t.yaml", "more: [2,\n  !!int ]\n", "contains an unreadable value"),
        ("t.yaml", "# c\n!!set more: {a: 1}\n", "contains an unreadable value"),
        ("t.yaml", f"name: a\nn: {'9' * 5000}\n", ":2: this YAML contains an unreadable value"),
        ("t.json", f'{{"n": {"9" * 5000}}}', "this JSON holds a number that cannot be read"),
        ("t.json", "null", ":1: not a mapping"),
        ("num.json", "12", ":1: not a mapping"),
        (
            "t.json",
            '{"name": "a",\n}',
            "json:1: invalid JSON: Illegal trailing comma (column 13)\n",
        ),
        (
            "t.json",
            '{"examples": [1,\n\n]}',
            ":1: invalid JSON: Illegal trailing comma (column 16)\n",
        ),
        ("t.json", '{"name":\n"a" 1}', ":2: invalid JSON: Expecting ',' delimiter (column 5)\n"),
        ("t.json", '{"name": "a",\n "more": {"name": 1},\n "intent": 7}', ":3: intent is '7'"),
        ("t.json", "[" * 100_000, "this JSON is nested too deeply"),
        ("t.yaml", "name: a\rb]\n", "could not find expected ':'"),
        ("t.csv", "name,\rdescription\na,b\n", "a file of prompts"),
        ("t.json", '{"name": "a\\ud800"}', ":1: name holds half of a character"),
        ("t.json", '{\n"examples": ["a\\ud800"]}', ":2: example 1 holds half of a character"),
        ("t.yaml", "", "the file is empty\n  write name, description"),
    ],
)
def test_unreadable_file_error_is_plain(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert said in str(problem(tmp_path / name, text))


MARKS = st.sampled_from([*"[]{}|>\"'~:#,\n\x07\u2028"])
WORDS = st.sampled_from(
    [
        "!!",
        "!!int",
        "!!set",
        "!!omap",
        "!!binary",
        "*a",
        "&a",
        "<<:",
        "?",
        "-",
        "%YAML",
        "2020-99-99",
    ]
)
PIECES = st.one_of(
    MARKS,
    WORDS.map(lambda word: f"{word} "),
    st.sampled_from(["---\n", "...\n", "\\ud800", "9" * 5000]),
)
ODD_TEXT = TEXT.replace("more: {a: [1, 2]}", "more: {a: &a [1, 2020-01-01, 0x1f, 1e3], b: *a}")


@SHARED
@given(
    ending=st.sampled_from(["yaml", "json", "csv"]),
    edits=st.lists(
        st.tuples(st.floats(0, 1), PIECES, st.sampled_from([0, 1, 20])), min_size=1, max_size=4
    ),
)
def test_mutated_file_is_read_or_reported(
    tmp_path: Path, ending: str, edits: list[tuple[float, str, int]]
) -> None:
    text = ODD_TEXT
    if ending == "json":
        text = json.dumps(TOPIC.model_dump(mode="json") | {"more": [1, 2.5e3, None]})
    if ending == "csv":
        text = "topic_name,description,example_1,intent,more\nTax,Advice,one,block,x\n"
    for at, piece, length in edits:
        place = int(at * len(text))
        text = text[:place] + piece + text[place + length :]
    path = write(tmp_path / f"t.{ending}", text)
    try:
        file = load_topic(path)
    except FileError:
        new = TOPIC.model_copy(update={"name": "New"})
        file = TopicFile(path, TOPIC, "")
        save_topic(file, new, force=True)
        assert load_topic(path).topic == new
    else:
        new = file.topic.model_copy(update={"name": "New"})
        try:
            save_topic(file, new)
        except FileError as problem:  # odd, and left alone unless it is asked for
            assert problem.can_force  # noqa: PT017
            assert path.read_text("utf-8") == text
            save_topic(file, new, force=True)
        assert load_topic(path).topic == new


def test_long_text_is_not_folded(tmp_path: Path) -> None:
    long = f"one  {'9' * 5000}  two"
    path = write(tmp_path / "t.yaml", TEXT.replace("- one ", f"- {long} "))
    new = load_topic(path).topic.model_copy(update={"name": "New"})
    assert new.examples[0] == long
    save_topic(load_topic(path), new)
    assert load_topic(path).topic == new


def test_pipe_is_rejected_as_topic_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.yaml")
    with pytest.raises(FileError, match="not a regular file"):
        load_topic(tmp_path / "t.yaml")


# --- lines --------------------------------------------------------------------------------


def test_fields_have_their_lines(tmp_path: Path) -> None:
    text = (
        "# first\nname: n\ndescription: >\n  long\n  text\nexamples:\n  - one\n\n"
        '  # a comment\n  - "two\n    lines"\nintent: allow\n'
    )
    assert load_topic(write(tmp_path / "t.yaml", text)).lines == {
        "name": 2,
        "description": 3,
        "examples": 6,
        "examples.1": 7,
        "examples.2": 10,
        "intent": 12,
    }
    text = '{\n "name": "n",\n "examples": [\n  "one",\n  "two"\n ],\n "intent": "block"\n}\n'
    lines = load_topic(write(tmp_path / "t.json", text)).lines
    assert (lines["name"], lines["examples.2"], lines["intent"]) == (2, 5, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\nexamples:\n  - b\n  - 2026\n", ":4: example 2 is a number, not text"),
        ("name: a\nexamples:\n  - b\n  -\n", ":4: example 2 is nothing, not text"),
        ("name: a\nexamples:\n  - null\n", ":3: example 1 is nothing, not text"),
        ("name: a\nexamples:\n  - Save: tax\n", ":3: example 1 is a mapping, not text"),
        ("name: a\nexamples:\n  - [b]\n", ":3: example 1 is a list, not text"),
        ("name: a\nexamples:\n  - 2020-01-01\n", ":3: example 1 is a date, not text"),
        ("name: a\nexamples:\n  - true\n", ":3: example 1 is true or false, not text"),
        ("name: a\nexamples:\n  - !x b\n", ":3: example 1 is a value with a tag, not text"),
        ("name: [a]\n", ":1: name is a list, not text"),
        ("name: a\ndescription: {b: c}\n", ":2: description is a mapping, not text"),
        ("name: a\nexamples: b\n", ":2: examples is a text, not a list"),
        ("name: a\nexamples: {b: c}\n", ":2: examples is a mapping, not a list"),
        ("name: a\nintent: {b: c}\n", ":2: intent is a mapping"),
        ("name: a\nname: b\n", ":2: the key 'name' is given twice, first in line 1\n  remove"),
        ("name: a\nexamples:\n\t- b\n", ":3: this line is indented with a tab"),
        ("name: a\n\tmore: b\n", ":2: this line is indented with a tab"),
    ],
)
def test_wrong_value_is_told_in_plain_words_at_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    message = str(problem(tmp_path / "t.yaml", text))
    assert f"t.yaml{said}" in message
    assert not any(word in message for word in ("Commented", "NoneType", "Scalar"))


def test_repeated_key_of_json_is_told(tmp_path: Path) -> None:
    text = '{"name": "a",\n "description": "b",\n "name": "c"}'
    assert ":3: the key 'name' is given twice, first in line 1" in str(
        problem(tmp_path / "t.json", text)
    )


# --- what a saved file keeps --------------------------------------------------------------

COMMENTED = """examples:
  # about first
  - How do I pay less?  # 1
  # about second
  - Must I declare it?

  # apart

  # about third
  - Is a gift taxed?
intent: block
name: A
"""
FIRST, SECOND, THIRD = "How do I pay less?", "Must I declare it?", "Is a gift taxed?"


def saved_with(path: Path, text: str, **changes: object) -> str:
    """The text of a topic file after a change of its definition, which it reads back as."""
    file = load_topic(write(path, text))
    topic = file.topic.model_copy(update=changes)
    save_topic(file, topic)
    assert load_topic(path).topic == topic
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("examples", "kept"),
    [
        ((SECOND, THIRD), "# about second - S # apart # about third - T"),
        ((FIRST, THIRD), "# about first - F # 1 # apart # about third - T"),
        ((FIRST, SECOND), "# about first - F # 1 # about second - S # apart"),
        (
            (THIRD, FIRST, SECOND),
            "# apart # about third - T # about first - F # 1 # about second - S",
        ),
        (
            (FIRST, "Must I declare it now?", THIRD),
            "# about first - F # 1 # about second - Must I declare it now? # apart"
            " # about third - T",
        ),
        ((SECOND, "new"), "# about second - S - new # apart"),
        ((), "# apart"),
    ],
)
def test_comment_goes_with_its_example(
    tmp_path: Path, examples: tuple[str, ...], kept: str
) -> None:
    text = saved_with(tmp_path / "t.yaml", COMMENTED, examples=examples)
    body = text.removeprefix("examples:").removeprefix(" []").partition("intent")[0]
    for letter, example in zip("FST", (FIRST, SECOND, THIRD), strict=True):
        body = body.replace(example, letter)
    assert " ".join(body.split()) == kept


def test_mark_line_ends_and_layout_of_other_keys_stay(tmp_path: Path) -> None:
    text = (
        "\ufeffother:\n    deep: [1,  2]\nname:  'A'\ndescription: >-\n  folded\n  text\n"
        "examples:\n    - >-\n      one\n      two\n    - b\n"
    ).replace("\n", "\r\n")
    after = saved_with(tmp_path / "t.yaml", text, examples=("one two", "c"))
    assert after == text.replace("- b", "- c")


def test_unchanged_definition_is_saved_byte_for_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", "name:   A\nexamples: [ b,c ]")
    file = load_topic(path)
    save_topic(file, file.topic)
    assert path.read_text("utf-8") == "name:   A\nexamples: [ b,c ]"


def test_text_that_an_alias_repeats_changes_in_one_place_only(tmp_path: Path) -> None:
    text = "name: &n A\ndescription: b\nother: [*n, *n]\n"
    assert saved_with(tmp_path / "t.yaml", text, name="B").endswith("other: [A, A]\n")


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """A topic file in one of many layouts, with comments."""
    indent = " " * draw(st.sampled_from([0, 2, 4]))
    gaps = ["", "{i}# about it\n", "\n", "# far\n", "\n# apart\n\n"]
    texts = ["one", "'two'  # c", '"three"', ">-\n{i}  fol\n{i}  ded", "|\n{i}  li\n\n{i}  teral"]
    examples = "examples: []\n"
    if rows := draw(st.lists(st.tuples(st.sampled_from(gaps), st.sampled_from(texts)), max_size=4)):
        lines = (f"{gap}{{i}}- {text}\n" for gap, text in rows)
        examples = f"examples:  # all\n{''.join(lines)}".replace("{i}", indent)
    parts = [
        draw(st.sampled_from(["name: A\n", "name: 'A'  # n\n", "name: >-\n  A b\n  c\n"])),
        draw(st.sampled_from(["description: D\n", "description: |\n  D e\n\n", ""])),
        examples,
        draw(st.sampled_from(["", "intent: block\n", "intent: allow  # i\n"])),
        "other:\n    deep: [1,  2]  # keep\n",
        "# foot\n",
    ]
    text = "".join(draw(st.permutations(parts)))
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


PRINTED = st.text(st.sampled_from([*"ab:#'\"-?{[&*!|>%@`~ ,é"]), min_size=1).filter(str.strip)


@SHARED
@given(text=laid_out(), data=st.data())
def test_saved_file_reads_back_and_other_lines_stay(
    tmp_path: Path, text: str, data: st.DataObject
) -> None:
    path = tmp_path / "t.yaml"
    old = load_topic(write(path, text)).topic
    changes: dict[str, object] = data.draw(
        st.fixed_dictionaries(
            {},
            optional={"name": PRINTED, "description": PRINTED, "intent": st.sampled_from(Intent)},
        )
    )
    if data.draw(st.booleans()):
        kept = data.draw(st.permutations(old.examples))[: data.draw(st.integers(0, 4))]
        changes["examples"] = (*kept, *data.draw(st.lists(PRINTED, max_size=2)))
    after = saved_with(path, text, **changes)
    assert all(line in after for line in ("other:", "    deep: [1,  2]  # keep", "# foot"))
    assert ("\r\n" in text) == ("\r\n" in after)
    if old.model_copy(update=changes) == old:
        assert after == text


# --- files of other tools -----------------------------------------------------------------

LISTED = {"topic_name": "Tax", "description": "Advice", "examples": ["one", "two"]}
SHAPES = {
    "name.json": json.dumps(LISTED | {"revision": 3}),
    "camel.json": json.dumps({"topicName": "Tax", **LISTED}).replace('"topic_name": "Tax", ', ""),
    "list.json": json.dumps([LISTED]),
    "topics.json": json.dumps({"category": "x", "topics": [LISTED]}, indent=4),
    "airs.json": json.dumps({"custom_topics": [LISTED], "next_offset": 1}),
    "name.yaml": "topic_name: Tax\ndescription: Advice\nexamples: [one, two]\n",
    "topics.yaml": "topics:\n- topic_name: Tax\n  description: Advice\n"
    "  examples:\n  - one\n  - two\n",
    "one.csv": "topic_name,description,example_1,example_2,example_3\nTax,Advice,one,two,\n",
    "cell.csv": "Topic Name;Description;Examples\nTax;Advice;one | two\n",
    "json.csv": 'name,description,examples\nTax,Advice,"[""one"", ""two""]"\n',
}


@pytest.mark.parametrize("name", SHAPES)
def test_topic_of_another_tool_is_read_and_saved_in_its_shape(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, SHAPES[name])
    file = load_topic(path)
    assert (file.topic, file.intent_given) == (TOPIC, False)
    topic = TOPIC.model_copy(update={"name": "Taxes", "examples": ("two", "one", "three")})
    saved = save_topic(file, topic)
    assert load_topic(path) == saved
    assert saved.topic == topic
    before, after = SHAPES[name], path.read_text("utf-8")
    assert "intent" not in after
    assert (
        before.replace("Tax", "").split("Advice")[0]
        == after.replace("Taxes", "").split("Advice")[0]
    )
    allowed = topic.model_copy(update={"intent": Intent.ALLOW})
    assert save_topic(saved, allowed).intent_given
    assert load_topic(path).topic == allowed


def test_file_of_several_topics_names_them_and_the_remedy(tmp_path: Path) -> None:
    text = json.dumps({"topics": [LISTED, LISTED | {"topic_name": "Loans"}]})
    path = write(tmp_path / "t.json", text)
    assert [file.topic.name for file in load_topics(path)] == ["Tax", "Loans"]
    with pytest.raises(SeveralTopicsError) as caught:
        load_topic(path)
    assert "2 topics, and one is needed: Tax, Loans" in str(caught.value)
    assert f"guardtui new --from '{path}#Tax'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.json", '[{"topic_name": 1}, {"name": "b"}]', ":1: topic 1: name is a number"),
        ("t.json", '[{"topic_name": "a"},\n 3]', ":2: entry 2 of its list is not a topic"),
        ("t.json", '{"topics": [{"a": 1}]}', "its list has no topics"),
        ("t.json", '[{"prompt": "a", "expected": true}]', "a file of prompts"),
        ("t.yaml", "topics:\n  - tax.yaml\n", "not a topic: it has none of its keys"),
        ("t.csv", "prompt,expected\na,true\n", "a file of prompts"),
        ("t.csv", "topic_name,description\n", "the table has no topics"),
        ("t.csv", 'name,description\na,"b\n', ":2: not valid CSV"),
        ("t.csv", "name,description\na,b,c\n", ":2: 3 fields where the header has 2"),
        ("t.csv", "name,description,intent\na,b,no\n", ":2: intent is 'no'"),
    ],
)
def test_unusable_list_of_topics_is_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert said in str(problem(tmp_path / name, text))


def test_prompt_file_is_told_from_a_table_of_topics(tmp_path: Path) -> None:
    for ending in ("csv", "jsonl", "parquet", "csv.gz"):
        with pytest.raises(PromptsGivenError):
            load_topic(write(tmp_path / f"t.{ending}", "name,prompt,expected\na,b,true\n"))
