"""`guardtui new`: asked on a real terminal, and with options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.app.editing.new_topic import CATEGORY, first_rows, slug
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent, Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic

from .conftest import Run
from .terminal import Terminal

pytest.importorskip("pty")

OPTIONS = ("--description", "About tea", "--intent", "allow", "--example", "a", "--example", "b")
QUESTIONS = ("name of the topic?", "in a sentence?", "(block)", "one a line")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def terminal(here: Path, environment: dict[str, str]) -> Iterator[Terminal]:
    opened = Terminal(here, environment, "new")
    yield opened
    opened.close()


@pytest.mark.process
def test_four_questions_make_two_files(terminal: Terminal, here: Path) -> None:
    terminal.expect(QUESTIONS[0])
    terminal.type("Tax: advice\r")
    terminal.expect(QUESTIONS[1])
    terminal.type("Advice on # taxes\r")
    terminal.expect(QUESTIONS[2])
    terminal.type("perhaps\r")
    terminal.expect("write block or allow")
    terminal.type("Allow\r")
    terminal.expect(QUESTIONS[3])
    terminal.type("\r", "1> ")
    terminal.expect("at least 2 are needed")
    terminal.type('How, "exactly"?\r', "1> ")
    terminal.type('How, "exactly"?\r', "2> ")
    terminal.expect("there already")
    terminal.type("=cmd\r", "2> ")
    terminal.type("\r", "3> ")
    assert "guardtui tax-advice.yaml --prompts tax-advice.csv\n" in terminal.rest()
    assert terminal.process.returncode == 0
    topic = Topic(
        name="Tax: advice",
        description="Advice on # taxes",
        examples=('How, "exactly"?', "=cmd"),
        intent=Intent.ALLOW,
    )
    assert load_topic(here / "tax-advice.yaml").topic == topic
    prompts = load_prompts(here / "tax-advice.csv")
    assert not set(prompts.prompts) & set(topic.examples)
    assert prompts.expected.tolist() == [True, True, False, False, False]
    assert prompts.intent is Intent.ALLOW
    assert set(prompts.frame["category"]) == {CATEGORY}
    assert len(list(here.iterdir())) == 2


@pytest.mark.process
def test_an_exceeded_limit_is_named_and_the_question_repeated(
    terminal: Terminal, here: Path
) -> None:
    terminal.type("ä" * 51 + "\r")
    terminal.expect("name has 51 characters, 102 bytes: 2 bytes more than the 100 allowed")
    terminal.type("\r")
    terminal.expect("name is empty")
    terminal.type("Tea\r")
    terminal.expect(QUESTIONS[1])
    terminal.type("d" * 251 + "\r")
    terminal.expect("description has 251 bytes, 1 more than the 250 allowed")
    terminal.type("d" * 250 + "\r")
    terminal.type("b\r")
    for number, sign in enumerate("xy", start=1):
        terminal.type(sign * 250 + "\r", f"{number}> ")
    terminal.type("z" * 248 + "\r", "3> ")
    terminal.expect("1001 bytes together, 1 more than the 1000 allowed")
    terminal.type("z" * 2 + "\r", "3> ")
    terminal.type("four\r", "4> ")
    terminal.type("five\r", "5> ")  # the fifth is the last, without an empty line
    terminal.rest()
    assert terminal.process.returncode == 0
    assert len(load_topic(here / "tea.yaml").topic.examples) == 5


@pytest.mark.process
def test_hostile_answers_are_inert(terminal: Terminal, here: Path) -> None:
    terminal.type("x" * 3000 + "\r")  # a terminal without readline takes 4095 bytes in a line
    terminal.expect("name has 3000 bytes")
    terminal.type("a\x16\x1b]52;c;eA==\x16\x07\r")  # ^V has the line take the next key as it is
    terminal.expect("holds a control character ('\\x1b')")
    terminal.leave("\x03")
    assert terminal.process.returncode == 130
    assert list(here.iterdir()) == []


@pytest.mark.process
@pytest.mark.parametrize("answers", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_cancel_at_any_question_writes_nothing(
    terminal: Terminal, here: Path, answers: int, key: str
) -> None:
    for answer in ("Tea", "About tea", "block", "first")[:answers]:
        terminal.type(f"{answer}\r")
    assert "interrupted\n" in terminal.leave(key)
    assert terminal.process.returncode == 130
    assert list(here.iterdir()) == []


@pytest.mark.process
def test_only_missing_values_are_asked(here: Path, environment: dict[str, str]) -> None:
    terminal = Terminal(here, environment, "new", "Tea", *OPTIONS[:4])
    terminal.type("green\r", "1> ")
    terminal.type("black\r", "2> ")
    terminal.type("\x04", "3> ")  # the end of input ends the examples too
    output = terminal.rest()
    os.close(terminal.handle)
    assert terminal.process.returncode == 0, output
    assert load_topic(here / "tea.yaml").topic.examples == ("green", "black")


@pytest.mark.process
def test_an_existing_file_is_reported_after_the_first_answer(
    terminal: Terminal, here: Path
) -> None:
    (here / "tea.yaml").write_text("mine", "utf-8")
    terminal.type("Tea\r")
    assert "tea.yaml: the file exists" in terminal.rest()
    assert terminal.process.returncode == 2
    assert [path.name for path in here.iterdir()] == ["tea.yaml"]


@pytest.mark.process
def test_prompts_that_exist_are_used_after_the_first_answer(terminal: Terminal, here: Path) -> None:
    write_prompts(here / "tea.csv")
    terminal.type("Tea\r")
    assert "Wrote tea.yaml" in terminal.rest()
    assert terminal.process.returncode == 0
    assert len(load_topic(here / "tea.yaml").topic.examples) == 2


def test_options_alone(run: Run, folder: Path) -> None:
    (folder / "-my topics").mkdir()
    result = run("new", "Tea", *OPTIONS, "--folder=-my topics")
    assert result.code == 0, result.err
    words = shlex.split(result.out)
    assert words[0] == "guardtui"
    assert words[1:] == ["./-my topics/tea.yaml", "--prompts", "./-my topics/tea.csv"]
    check = run("check", *words[1:], "--format", "json")
    assert (check.code, '"errors": 0' in check.out) == (0, True)
    assert run("eval", *words[1:], "--set", "encoder=static").code == 0
    again = run("new", "Tea", *OPTIONS, "--folder=-my topics")
    assert (again.code, again.out) == (2, "")
    assert "tea.yaml: the file exists" in again.err


def test_a_link_that_leads_nowhere_is_not_followed(run: Run, folder: Path) -> None:
    (folder / "tea.yaml").symlink_to(folder / "elsewhere.yaml")
    assert run("new", "Tea", *OPTIONS).code == 2
    assert not (folder / "elsewhere.yaml").exists()
    assert not (folder / "tea.csv").exists()


def test_both_files_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guardtui.app.editing import new_topic
    from guardtui.cli.main import cli

    def interrupted(path: Path) -> None:
        assert path.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(new_topic, "load_prompts", interrupted)
    before = sorted(folder.iterdir())
    with pytest.raises(click.exceptions.Abort):
        cli.main(["new", "Tea", *OPTIONS, "--folder", str(folder)], standalone_mode=False)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Tax Advice", "tax-advice"),
        ("../../etc/passwd", "etc-passwd"),
        ("税務 相談", "税務-相談"),
        ("कर सलाह", "कर-सलाह"),
        ("...", "topic"),
        ("Aux", "topic-aux"),
        ("-rf\u202e *", "rf"),
        ("ﷺ" * 33, slug("ﷺ" * 33)),
    ],
)
def test_slug(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(st.text(max_size=100))
def test_a_slug_is_always_a_file_name(name: str) -> None:
    made = slug(name)
    assert made
    assert len(made.encode()) <= 200
    assert not set(made) & set('/\\:*?"<>|. \n')
    assert not made.startswith("-")
    assert display_text(made) == made
    assert slug(made) == made or len(made) >= 50


def test_first_rows_are_never_examples() -> None:
    usual = first_rows(Topic(name="Tea", examples=("a", "b"))).splitlines()[1:]
    examples = tuple(row.split(",")[0].upper() for row in usual)
    rows = first_rows(Topic(name="Tea", examples=examples)).splitlines()[1:]
    texts = [row.split(",")[0].casefold() for row in rows]
    assert len({*texts, *(text.casefold() for text in examples)}) == 10
    assert [row.split(",")[1] for row in rows] == ["true"] * 2 + ["false"] * 3


# --- prompts and topics that exist --------------------------------------------------------


def write_prompts(path: Path, positives: int = 5, intent: str = "allow") -> list[str]:
    """Write prompts about tea, and as many about other things; return those about tea."""
    sorts = ("green", "black", "white", "herbal", "iced", "spiced", "smoked")
    tea = [f"How do I make {sort} tea?" for sort in sorts[:positives]]
    others = ["What is the time?", "Who wrote Hamlet?", "Is it raining?"]
    rows = [f"{text},true,{intent}" for text in tea] + [f"{text},false,{intent}" for text in others]
    path.write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    return tea


@pytest.mark.parametrize("word", ["Green tea", "green-tea", "green-tea.csv"])
def test_topic_is_made_for_prompts_that_exist(run: Run, folder: Path, word: str) -> None:
    tea = write_prompts(folder / "green-tea.csv")
    result = run("new", word)
    assert result.code == 0, result.err
    assert result.out == "guardtui green-tea.yaml --prompts green-tea.csv\n"
    assert (
        "Wrote green-tea.yaml. Examples 1 and 2 are central prompts taken out of green-tea.csv (its"
        in result.err
    )
    assert "description is still empty" in result.err
    topic = load_topic(folder / "green-tea.yaml").topic
    assert (topic.name, topic.description, topic.intent) == ("Green tea", "", Intent.ALLOW)
    assert set(topic.examples) < set(tea)
    left = load_prompts(folder / "green-tea.csv").prompts.to_list()
    assert sorted([*left[:3], *topic.examples]) == sorted(tea)
    assert len(left) == 6
    backups = list((folder / ".guardtui").rglob("*.bak"))
    assert any("How do I make black tea?" in path.read_text("utf-8") for path in backups)
    again = run("new", word)
    assert (again.code, "green-tea.yaml: the file exists" in again.err) == (2, True)


def test_options_apply_to_prompts_that_exist(run: Run, folder: Path) -> None:
    tea = write_prompts(folder / "tea.csv")
    before = (folder / "tea.csv").read_text("utf-8")
    assert run("new", "Tea", "--intent", "block").code == 2
    result = run("new", "Tea", "--description", "About tea", "--example", "a", "--example", "b")
    assert result.code == 0, result.err
    assert (folder / "tea.csv").read_text("utf-8") == before
    topic = load_topic(folder / "tea.yaml").topic
    assert (topic.description, topic.examples) == ("About tea", ("a", "b"))
    assert tea


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "tea.csv: the file is empty"),
        ("prompt,expected\na,false\nb,false\n", "tea.csv"),
        ("prompt,expected\na,perhaps\n", "tea.csv:2: "),
        ("a,b\n1,2\n", "tea.csv:1: the column prompt is missing"),
    ],
)
def test_unusable_prompts_make_no_topic(run: Run, folder: Path, content: str, said: str) -> None:
    (folder / "tea.csv").write_text(content, "utf-8")
    before = sorted(folder.iterdir())
    result = run("new", "Tea")
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert sorted(folder.iterdir()) == before
    assert (folder / "tea.csv").read_text("utf-8") == content


LISTED = (
    '{"topics": [{"topic_name": "Tea", "description": "About tea", "examples": ["a", "b"]},'
    ' {"topic_name": "Rum", "description": "' + "—" * 84 + '", "examples": ["c", "d"]}]}'
)


def test_topic_is_taken_from_a_file_of_several(run: Run, folder: Path) -> None:
    (folder / "all.json").write_text(LISTED, "utf-8")
    several = run("new", "--from", "all.json")
    assert (several.code, "Tea, Rum" in several.err) == (2, True)
    unknown = run("new", "--from", "all.json#Gin")
    assert (unknown.code, "no topic is called 'Gin'" in unknown.err) == (2, True)
    result = run("new", "--from", "all.json#tea")
    assert result.code == 0, result.err
    assert "all.json gives no intent" in result.err
    assert load_topic(folder / "tea.yaml").topic == Topic(
        name="Tea", description="About tea", examples=("a", "b")
    )
    assert len(load_prompts(folder / "tea.csv")) == 5
    assert run("new", "--from", "all.json#tea").code == 2
    write_prompts(folder / "rum.csv")
    before = (folder / "rum.csv").read_text("utf-8")
    result = run("new", "--from", "all.json#Rum", "--intent", "allow")
    assert result.code == 0, result.err
    assert "84 characters, 252 bytes: 2 bytes more than the 250 allowed" in result.err
    assert load_topic(folder / "rum.yaml").topic.intent is Intent.ALLOW
    assert (folder / "rum.csv").read_text("utf-8") == before
    assert (folder / "all.json").read_text("utf-8") == LISTED


def test_all_topics_of_a_file_are_checked(run: Run, folder: Path) -> None:
    (folder / "all.json").write_text(LISTED.replace("}, {", "},\n {"), "utf-8")
    result = run("check", "--for", "airs", "all.json")
    assert result.code == 2
    assert "error: all.json:2: Rum: description has 84 characters, 252 bytes" in result.out
    assert run("eval", "all.json", "--prompts", "prompts.csv").code == 2
