"""Files with wordings: lines of text and lists of JSON, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.app.advice.wordings import read_wordings
from guardtui.domain.topic import Topic, byte_length
from guardtui.files.problems import FileError

TOPIC = Topic(
    name="Tax", description="Tax advice", examples=("Is rent deductible?", "When is tax due?")
)
LONG = "x" * 251


def written(folder: Path, content: object, name: str = "mine.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_entries_are_descriptions_or_have_examples(tmp_path: Path) -> None:
    texts = {"description": " Taxes ", "examples": ["One a?", "Two b?"]}
    path = written(tmp_path, [texts, "Returns", {"description": "Taxes"}], "Mine.JSON")
    first, second, third = read_wordings(path, TOPIC)
    assert (first.topic.description, first.topic.examples) == ("Taxes", ("One a?", "Two b?"))
    assert (second.topic.description, second.topic.examples) == ("Returns", TOPIC.examples)
    assert third.topic == TOPIC.model_copy(update={"description": "Taxes"})
    assert [one.origin for one in (first, third)] == [
        "entry 1 of Mine.JSON",
        "entry 3 of Mine.JSON",
    ]


def test_lines_are_descriptions(tmp_path: Path) -> None:
    path = written(tmp_path, '# mine\n\n Taxes\n["a"]\n', "mine.txt")
    assert [(one.topic.description, one.origin) for one in read_wordings(path, TOPIC)] == [
        ("Taxes", "line 3 of mine.txt"),
        ('["a"]', "line 4 of mine.txt"),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('[{"description": "a"},\n oops]', "mine.json:2: not JSON: Expecting value"),
        ("[" * 100_000, "not JSON that can be read"),
        ("[1" + "0" * 5000 + "]", "not JSON that can be read"),
        ({"description": "Taxes"}, "not a list"),
        ([], "no wordings in it"),
        ("", "not JSON"),
        (["Taxes", 7], "entry 2: not a description, nor an object with one"),
        ([{"examples": ["a", "b"]}], "entry 1: not a description"),
        ([{"description": ["Taxes"]}], "entry 1: not a description"),
        ([{"description": "a", "examples": "b"}], "entry 1: its examples are not a list of texts"),
        ([{"description": "a", "examples": ["b", 1]}], "entry 1: its examples are not a list"),
        ([{"description": "a", "exmples": []}], "entry 1: unknown key exmples"),
        ([{"description": "a", "examples": ["b"]}], "entry 1: 1 example: at least 2 are needed"),
        ([{"description": "a", "examples": ["b", LONG]}], "entry 1: example 2 has 251 bytes"),
        (["Taxes", LONG], "entry 2: description has 251 bytes, 1 more than the 250 allowed"),
        (["ä" * 126], "entry 1: description has 126 characters, 252 bytes"),
        ([" "], "entry 1: description is empty"),
        (["tax \ud800"], "entry 1: it holds half of a surrogate pair"),
        ([{"description": "a", "examples": ["b", "\ud800"]}], "entry 1: it holds half of a"),
        (["two\nlines"], "entry 1: description holds a line break"),
        (
            ["Taxes", LONG, "Taxes "],
            "251 bytes, 1 more than the 250 allowed; entry 3: the same as ",
        ),
        ([LONG + str(n) for n in range(8)], "; and 3 more"),
    ],
)
def test_invalid_lists_name_the_entry_and_a_remedy(
    tmp_path: Path, content: object, problem: str
) -> None:
    with pytest.raises(FileError) as error:
        read_wordings(written(tmp_path, content), TOPIC)
    first, *rest = str(error.value).splitlines()
    assert problem in first
    assert first.startswith(str(tmp_path / "mine.json"))
    assert rest == ['  write [{"description": "…", "examples": ["…", "…"]}, "another description"]']


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"Taxes\n{LONG}\n", "line 2: description has 251 bytes"),
        ("Taxes\n# other\n Taxes\n", "line 3: the same as line 1"),
        ("# none\n\n", "no wordings in it"),
    ],
)
def test_invalid_lines_are_named(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(FileError, match=problem):
        read_wordings(written(tmp_path, content, "mine.txt"), TOPIC)


def test_limits_that_the_definition_exceeds_itself_are_no_fault_of_a_wording(
    tmp_path: Path,
) -> None:
    topic = TOPIC.model_copy(update={"examples": ("one", LONG)})
    (one,) = read_wordings(written(tmp_path, ["Taxes"]), topic)
    assert byte_length(one.topic.examples[1]) == 251
