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
from guardtui.files.topic_files import ChangedOnDiskError, TopicFile, load_topic, save_topic
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
LAYOUT = "a saved file is laid out anew: lists lose their indent"
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


def test_removing_the_last_example_keeps_the_comment_below(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    topic = TOPIC.model_copy(update={"examples": ("one",)})
    save_topic(load_topic(path), topic)
    assert load_topic(path).topic == topic
    assert "# between" in path.read_text("utf-8")


def test_all_examples_can_be_removed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.yaml", TEXT)
    topic = TOPIC.model_copy(update={"examples": ()})
    save_topic(load_topic(path), topic)
    assert load_topic(path).topic == topic


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
    "duplicate key": ("name: a\ndescription: b\nname: c\n", 3),
    "number": ("name: a\ndescription: 12\n", 2),
    "mapping": ("name: a\nexamples:\n  - How: to\n", None),
    "no list": ("name: a\nexamples: one\n", 2),
    "intent": ("name: a\n\nintent: maybe\n", 3),
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
        ("t.json", f'{{"n": {"9" * 5000}}}', "this JSON contains an unreadable value"),
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
    ending=st.sampled_from(["yaml", "json"]),
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
