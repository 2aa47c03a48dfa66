"""An author works on the prompts: examples, labels, texts, and all of it undone."""

from __future__ import annotations

from tests.journeys.author import Author
from tests.journeys.shell import Shell
from tests.tui.tax_app import ROWS

MISSED = "keep more of my bonus from the state"
FALSE_ALARM = "When was income tax introduced?"
FIRST, SECOND = "How can I pay less tax?", "Can I deduct my home office?"


async def test_a_missed_prompt_becomes_an_example_and_leaves_the_set(author: Author) -> None:
    await (
        author.opens("tax")
        .shows("fn")
        .does("use_as_example")
        .sees("1 prompt of the set is now an example")
        .answers("y")
        .sees_definition(examples=(FIRST, SECOND, MISSED))
        .counts(prompts=len(ROWS) - 1)
        .does("undo")
        .sees_definition(examples=(FIRST, SECOND))
        .counts(prompts=len(ROWS))
        .does("redo")
        .counts(prompts=len(ROWS) - 1)
        .does("undo_prompts")
        .counts(prompts=len(ROWS))
    )


async def test_a_wrong_label_is_flipped_and_the_file_and_figures_follow(
    author: Author, shell: Shell
) -> None:
    await (
        author.opens("tax")
        .shows("fp")
        .does("relabel")
        .sees_coverage(0.8)
        .sees("1 missed · 0 wrongly stopped")
        .finds("tax.csv", f'"{FALSE_ALARM}",true,block')
        .does("undo_prompts")
        .finds("tax.csv", f'"{FALSE_ALARM}",false,block')
        .does("relabel")
    )
    shell.measures("tax").exits(0).reports("metrics", "tp", value=4)


async def test_a_label_is_confirmed_without_a_change(author: Author) -> None:
    before = (author.folder / "tax.csv").read_bytes()
    await author.opens("tax").shows("fp").does("confirm_labels").is_told("The label is confirmed")
    assert (author.folder / "tax.csv").read_bytes() == before


async def test_a_prompt_is_added_rewritten_doubled_and_removed(author: Author) -> None:
    await (
        author.opens("tax")
        .shows("all")
        .does("add_prompt")
        .answers(*"a tax on dogs", "ctrl+s")
        .counts(prompts=9)
        .finds("tax.csv", "a tax on dogs,true")
        .goes_to("a tax on dogs")
        .does("edit_prompt")
        .answers(*" and cats", "ctrl+s")
        .finds("tax.csv", "a tax on dogs and cats")
        .goes_to("and cats")
        .does("duplicate_prompts")
        .counts(prompts=10)
        .does("remove_prompts")
        .counts(prompts=9)
        .does("undo_prompts")
        .does("undo_prompts")
        .does("undo_prompts")
        .does("undo_prompts")
        .counts(prompts=8)
    )
    assert "dogs" not in (author.folder / "tax.csv").read_text("utf-8")


async def test_many_prompts_are_removed_only_after_a_question(author: Author) -> None:
    await (
        author.opens("tax")
        .shows("all")
        .does("mark_all")
        .does("remove_prompts")
        .sees("8 prompts?")
        .answers("escape")
        .counts(prompts=8)
    )


async def test_an_empty_prompt_is_refused_and_nothing_is_written(author: Author) -> None:
    before = (author.folder / "tax.csv").read_bytes()
    await (
        author.opens("tax")
        .does("add_prompt")
        .presses("ctrl+s")
        .sees("! empty prompt")
        .answers("escape")
    )
    assert (author.folder / "tax.csv").read_bytes() == before


async def test_prompts_that_another_program_changed_are_not_overwritten(
    author: Author, shell: Shell
) -> None:
    await author.opens("tax").shows("fp").does("relabel")
    path = author.folder / "tax.csv"
    path.write_text(path.read_text("utf-8") + "a new one,false,block\n", "utf-8")
    await (
        author.opens("tax")
        .counts(prompts=9)
        .shows("all")
        .goes_to("a new one")
        .does("relabel")
        .finds("tax.csv", "a new one,true,block", f'"{FALSE_ALARM}",true,block')
    )


def test_plain_lists_become_a_prompt_set_that_can_be_checked(shell: Shell) -> None:
    (shell.folder / "in.txt").write_text("How do I file my taxes?\nlower my tax\n", "utf-8")
    (shell.folder / "out.txt").write_text("soup\n", "utf-8")
    shell.runs("convert", "--positive", "in.txt", "--negative", "out.txt", "-o", "new.csv").exits(0)
    shell.finds("new.csv", "How do I file my taxes?,true", "soup,false")
    shell.runs("check", "tax.yaml", "--prompts", "new.csv").exits(0)
