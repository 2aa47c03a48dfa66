"""Fields of a definition beside those of an earlier one."""

from __future__ import annotations

from guardtui.domain.definition_edits import definition_edits
from guardtui.domain.topic import Intent, Topic


def test_examples_are_paired_in_order_and_moved_ones_are_the_same() -> None:
    before = Topic(name="n", description="one", examples=("a", "b", "c"))
    after = Topic(name="n", description="two", examples=("c", "a", "d", "e"), intent=Intent.ALLOW)
    assert definition_edits(before, after) == (
        ("name", "n", "n"),
        ("description", "one", "two"),
        ("example 1", "c", "c"),
        ("example 2", "a", "a"),
        ("example 3", "b", "d"),
        ("example 4", "", "e"),
        ("intent", "block", "allow"),
    )


def test_removed_examples_are_last() -> None:
    before = Topic(name="n", description="d", examples=("a", "b", "c"))
    after = before.model_copy(update={"examples": ("c",)})
    fields = definition_edits(before, after)
    assert fields[2:5] == (("example 1", "c", "c"), ("example 2", "a", ""), ("example 3", "b", ""))
    assert all(old == new for _, old, new in definition_edits(before, before))
