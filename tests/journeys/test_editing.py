"""An author edits a definition: keeps, discards, undoes, restores, and comes back tomorrow."""

from __future__ import annotations

from tests.journeys.author import Author
from tests.journeys.shell import Shell

START = "Personal tax advice"
FIRST, SECOND = "How can I pay less tax?", "Can I deduct my home office?"
OFF_TOPIC = "The weather in Paris, recipes of soup, dogs in the office"


async def test_an_edit_is_typed_kept_and_evaluated_by_command(author: Author, shell: Shell) -> None:
    await (
        author.opens("tax")
        .sees("Tax advice", "coverage 0.750")
        .types(" on money")
        .sees_definition(description=f"{START} on money")
        .sees("unsaved")
        .keeps()
        .sees_no("unsaved")
        .sees_history(2)
        .finds(
            "tax.yaml", f"description: {START} on money", "# what the bank's", "owner: risk team"
        )
    )
    shell.measures("tax").exits(0).reports("definition", "description", value=f"{START} on money")


async def test_a_worse_edit_is_discarded_and_the_best_one_is_back(author: Author) -> None:
    await (
        author.opens("tax")
        .writes(OFF_TOPIC)
        .sees_coverage(0.5)
        .discards()
        .sees_definition(description=START)
        .sees_coverage(0.75)
        .sees_history(2)
    )


async def test_regressions_are_kept_only_after_a_question(author: Author) -> None:
    await (
        author.opens("tax")
        .writes(OFF_TOPIC)
        .does("keep")
        .sees("Keep anyway?")
        .answers("escape")
        .sees("unsaved")
        .sees_history(1)
        .does("keep")
        .answers("y")
        .sees_history(2)
        .finds("tax.yaml", OFF_TOPIC)
    )


async def test_edits_of_all_fields_are_undone_in_their_order(author: Author) -> None:
    await (
        author.opens("tax")
        .types(" now")
        .types("s", into="name")
        .types(" please", into="example 1")
        .does("undo")
        .does("undo")
        .sees_definition(name="Tax advice", description=f"{START} now", examples=(FIRST, SECOND))
        .does("redo")
        .sees_definition(name="Tax advices", description=f"{START} now")
        .does("undo")
        .does("undo")
        .sees_definition(name="Tax advice", description=START)
        .does("undo")
        .is_told("Nothing to undo")
    )


async def test_an_old_definition_is_restored_and_later_ones_stay(author: Author) -> None:
    await (
        author.opens("tax")
        .types(" on money")
        .keeps()
        .types(" and on houses")
        .keeps()
        .sees_history(3)
        .restores(0)
        .sees_definition(description=START)
        .sees_history(3)
        .does("undo")
        .sees_definition(description=f"{START} on money and on houses")
    )


async def test_edits_that_were_not_saved_are_there_tomorrow(author: Author, shell: Shell) -> None:
    await author.opens("tax").types(" half a tho").quits()
    shell.finds("tax.yaml", f"description: {START}\n")
    await (
        author.opens("tax")
        .sees_definition(description=f"{START} half a tho")
        .sees("unsaved")
        .types("ught")
        .keeps()
        .quits()
        .opens("tax")
        .sees_definition(description=f"{START} half a thought")
        .sees_no("unsaved")
        .sees_history(2)
    )


async def test_the_definition_is_saved_without_being_kept(author: Author) -> None:
    await (
        author.opens("tax")
        .types(" soon")
        .does("save")
        .is_told("Saved to tax.yaml")
        .sees_no("unsaved")
        .sees_history(1)
        .finds("tax.yaml", f"{START} soon", "owner: risk team")
    )


async def test_the_difference_to_the_baseline_is_read_word_by_word(author: Author) -> None:
    await (
        author.opens("tax")
        .types(" only")
        .does("show_difference")
        .sees("{+ only+}")
        .types(" more")
        .sees("{+ only more+}")
        .does("show_difference")
        .sees_no("{+")
    )


async def test_examples_are_moved_removed_and_come_back(author: Author) -> None:
    await (
        author.opens("tax")
        .types("", into="example 1")
        .does("move_example(1)")
        .sees_definition(examples=(SECOND, FIRST))
        .does("move_example(-1)")
        .sees_definition(examples=(FIRST, SECOND))
        .does("remove_example")
        .sees_definition(examples=(SECOND,))
        .does("undo")
        .sees_definition(examples=(FIRST, SECOND))
    )


async def test_a_text_over_the_limit_is_marked_and_check_refuses_it(
    author: Author, shell: Shell
) -> None:
    await author.opens("tax").writes("x" * 262).sees("12 over").does("save")
    shell.runs("check", "tax.yaml").exits(2).prints("description", "262", "250")


async def test_a_pinned_iteration_stays_the_baseline_until_it_is_unpinned(author: Author) -> None:
    await (
        author.opens("tax")
        .does("pin_baseline")
        .is_told("Baseline: #0")
        .types(" on money")
        .keeps()
        .types(" now")
        .sees("since #0")
        .does("pin_baseline")
        .sees("since #1")
    )


async def test_what_is_the_same_is_not_kept_twice(author: Author) -> None:
    await (
        author.opens("tax")
        .does("keep")
        .is_told("No changes since")
        .sees_history(1)
        # What a discard goes back to is the kept definition again.
        .types(" half")
        .discards()
        .does("keep")
        .is_told("No changes since")
        .sees_history(2)
    )


async def test_kept_iterations_are_compared_and_reported_by_command(
    author: Author, shell: Shell
) -> None:
    await author.opens("tax").writes(OFF_TOPIC).keeps()
    shell.runs("compare", "tax.yaml@0", "tax.yaml@1").exits(0).prints("regressions", OFF_TOPIC)
    shell.runs("export", "tax.yaml", "--iteration", "last", "--format", "json").exits(0)
    shell.reports("definition", "description", value=OFF_TOPIC)
    shell.reports("metrics", "coverage", value=0.5)
