"""An author opens, makes and leaves topics, writes reports, and meets what cannot be read."""

from __future__ import annotations

import json
import re

import pytest

from tests.journeys.author import Author
from tests.journeys.shell import Shell

START = "Personal tax advice"


async def test_another_topic_is_opened_and_the_edit_of_the_first_waits(author: Author) -> None:
    await (
        author.opens("tax")
        .types(" half")
        .does("open_topic")
        .fills(path=str(author.folder / "tax-advice.yaml"))
        .presses("enter")
        .sees("200 prompts")
        .sees_no("half")
        .does("open_topic")
        .fills(path=str(author.folder / "tax.yaml"))
        .presses("enter")
        .sees("8 prompts")
        .sees_definition(description=f"{START} half")
    )


async def test_a_topic_that_cannot_be_read_is_reported_on_screen_and_by_command(
    author: Author, shell: Shell
) -> None:
    (author.folder / "bad.yaml").write_text("name: [x\n", "utf-8")
    await (
        author.opens("tax")
        .types(" half")
        .does("open_topic")
        .fills(path=str(author.folder / "bad.yaml"))
        .presses("enter")
        .sees("2: expected ',' or ']'")
        .answers("escape")
        .sees_definition(description=f"{START} half")
    )
    shell.runs("check", "bad.yaml").exits(2).prints("bad.yaml:2: expected")
    shell.runs("eval", "gone.yaml", "--prompts", "tax.csv").exits(2).prints("gone.yaml")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("prompt,expected\nsoup,perhaps\n", "bad.csv:2"),
        ("prompt,expected\n,true\n", "bad.csv:2"),
        ("question,label\nsoup,true\n", "bad.csv"),
        ("", "bad.csv"),
    ],
)
def test_prompts_that_cannot_be_read_name_file_and_line(
    shell: Shell, rows: str, problem: str
) -> None:
    (shell.folder / "bad.csv").write_text(rows, "utf-8")
    for command in ("eval", "check", "refine"):
        shell.runs(command, "tax.yaml", "--prompts", "bad.csv").exits(2).prints(problem)


async def test_a_new_topic_is_written_opened_and_found_by_command(
    author: Author, shell: Shell
) -> None:
    await (
        author.opens("tax")
        .does("new_topic")
        .presses("ctrl+s")
        .sees("New topic")
        .presses(*"Bread", "tab", "tab", *"About bread", "tab")
        .presses(*"How", "tab", *"What")
        .answers("ctrl+s")
        .sees("bread.yaml")
        .sees_definition(name="Bread", description="About bread", examples=("How", "What"))
        .finds("bread.yaml", "name: Bread")
    )
    shell.runs("check", "bread.yaml", "--prompts", "bread.csv").exits(0)
    shell.runs("new", "--help").exits(0)


async def test_the_app_and_the_command_write_the_same_reports(author: Author, shell: Shell) -> None:
    author.opens("tax").types(" on money").keeps()
    for form in ("json", "csv", "md"):
        author.does("export").chooses(form).presses("enter")
        author.sees(f"tax-report-1.{form}").answers("escape")
    await author
    written = {}
    for form in ("json", "csv", "md"):
        shell.runs("export", "tax.yaml", "--iteration", "1", "-o", f"by-command.{form}").exits(0)
        names = (f"tax-report-1.{form}", f"by-command.{form}")
        written[form] = [(author.folder / name).read_text("utf-8") for name in names]
    by_app, by_command = map(json.loads, written.pop("json"))
    same = ("metrics", "results", "definition", "comparison")
    assert [by_app[name] for name in same] == [by_command[name] for name in same]
    assert all(of_app == of_command for of_app, of_command in written.values())


async def test_a_report_never_replaces_the_prompts(author: Author) -> None:
    before = (author.folder / "tax.csv").read_bytes()
    await (
        author.opens("tax")
        .does("export")
        .chooses("csv")
        .fills(export_name="tax.csv")
        .presses("enter")
        .sees("✗")
        .answers("escape")
    )
    assert (author.folder / "tax.csv").read_bytes() == before


async def test_a_picture_of_the_screen_is_written(author: Author) -> None:
    await author.opens("tax").does("screenshot").is_told("Picture: /")
    (picture,) = author.folder.glob("*.svg")
    texts = re.sub("<[^>]+>", "", picture.read_text("utf-8")).replace("&#160;", " ")
    assert "Personal tax advice" in texts


async def test_a_theme_is_chosen_and_there_tomorrow(author: Author, shell: Shell) -> None:
    await (
        author.opens("tax")
        .does("settings")
        .presses("enter")
        .sees("Theme")
        .presses("down")
        .answers("enter")
    )
    shell.runs("config", "show").exits(0).prints("theme")
