"""An author asks what to change: measured ideas, what each part does, a search by command."""

from __future__ import annotations

from tests.journeys.author import Author
from tests.journeys.shell import Shell


async def test_the_best_idea_is_taken_and_undone(author: Author) -> None:
    await (
        author.opens("tax-advice")
        .is_advised("example")
        .does("take_idea")
        .sees("Enter takes")
        .answers("enter")
        .sees("fixed", "● unsaved")
        .does("undo")
        .sees("unchanged: no edit to judge yet")
    )


async def test_an_idea_is_chosen_from_the_page_or_discarded_for_good(author: Author) -> None:
    await (
        author.opens("tax-advice")
        .is_advised("example")
        .does("ideas")
        .sees("Ideas", "Enter previews")
        .presses("d")
        .sees("Ideas")
    )


async def test_a_search_by_command_writes_a_better_topic_that_the_app_opens(
    author: Author, shell: Shell
) -> None:
    shell.runs(
        "refine",
        "tax-advice.yaml",
        *("--prompts", "tax-advice.csv", "--set", "encoder=static", "--single"),
        *("--write-topic", "better.yaml", "--threshold", "built-in"),
    ).exits(0).prints("Replace example 3")
    (author.folder / "better.csv").write_bytes((author.folder / "tax-advice.csv").read_bytes())
    await author.opens("better").sees("coverage").sees_better_than(0.41)


async def test_the_effect_of_each_part_is_measured(author: Author) -> None:
    await author.opens("tax").does("show_effects").sees("without", "example 1").answers("escape")


async def test_advice_on_the_definition_is_read_in_full(author: Author, shell: Shell) -> None:
    await (
        author.opens("tax-advice")
        .sees("description weaker than examples")
        .does("show_lint")
        .sees("Advice on the definition")
        .answers("escape")
    )
