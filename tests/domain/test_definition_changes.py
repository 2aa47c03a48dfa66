"""Changes of a definition: differences, names, pairs of examples, and merges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.definition_changes import (
    DiffKind,
    definition_edits,
    edit_names,
    merge_topics,
    word_diff,
)
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent, Topic

TEXT = st.lists(st.sampled_from(["tax", "pay", " ", ",", "\n", "é", "less"]), max_size=12).map(
    "".join
)


@given(TEXT, TEXT)
def test_both_texts_can_be_read_off(old: str, new: str) -> None:
    result = word_diff(old, new)
    assert "".join(text for kind, text in result if kind is not DiffKind.ADDED) == old
    assert "".join(text for kind, text in result if kind is not DiffKind.REMOVED) == new
    assert all(text for _, text in result)
    assert all(kind is DiffKind.SAME for kind, _ in result) == (old == new)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("pay less tax", "pay more tax", "pay [-less][+more] tax"),
        ("tax", "tax, fees", "tax[+, fees]"),
        ("", "new", "[+new]"),
        ("कर सलाह में मदद करें", "कर सलाह से मदद करें", "कर सलाह [-में][+से] मदद करें"),
        ("same", "same", "same"),
        ("Can I deduct it?", "How should I report this money?", "[-…][+…]"),
    ],
)
def test_reads_as_an_author_would_mark_it(old: str, new: str, shown: str) -> None:
    signs = {DiffKind.SAME: "{}", DiffKind.ADDED: "[+{}]", DiffKind.REMOVED: "[-{}]"}
    shown = shown.replace("-…", f"-{old}").replace("+…", f"+{new}")
    assert "".join(signs[kind].format(text) for kind, text in word_diff(old, new)) == shown


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


def test_removed_examples_are_last_with_their_old_numbers() -> None:
    before = Topic(name="n", description="d", examples=("a", "b", "c"))
    after = before.model_copy(update={"examples": ("c",)})
    fields = definition_edits(before, after)
    assert fields[2:5] == (("example 1", "c", "c"), ("example 1", "a", ""), ("example 2", "b", ""))
    assert all(old == new for _, old, new in definition_edits(before, before))


TOPIC = Topic(name="Tax", description="how to lower a tax bill", examples=("a", "b"))


def described(after: str) -> tuple[str, ...]:
    return edit_names(TOPIC, TOPIC.model_copy(update={"description": after}))


@pytest.mark.parametrize(
    ("after", "name"),
    [
        ("how to lower a tax invoice", "description “bill” → “invoice”"),
        ("how to lower a tax", "description −“bill”"),
        ("how to lower a tax bill at home", "description +“at home”"),
        ("how  to lower a tax bill", "description with other blanks"),
        ("how best to cut a large tax bill", "description +“best” “lower” → “cut” …"),
        (
            "how to lower a tax bill by means of every trick there is",
            "description +“by means of every trick…”",
        ),
        ("how to lower a tax\x1b] bill", "description +“␛]”"),
        ("", "description −“how to lower a tax bill”"),
    ],
)
def test_an_edit_of_the_description_is_named_by_its_words(after: str, name: str) -> None:
    assert described(after) == (name,)


def test_other_changes_keep_their_names() -> None:
    after = TOPIC.model_copy(update={"description": "tax", "examples": ("a",), "name": "Taxes"})
    assert edit_names(TOPIC, after)[1:] == ("name changed", "example 2 removed")
    assert edit_names(TOPIC, TOPIC) == ()


@given(st.text(max_size=60))
def test_a_name_is_one_line_that_controls_nothing(after: str) -> None:
    for name in described(after):
        assert name == display_text(name)
        assert len(name) < 400


TOPICS = st.builds(
    Topic,
    name=st.sampled_from(["a", "b", "c"]),
    description=st.sampled_from(["a", "b", "c"]),
    examples=st.sampled_from([(), ("a",), ("a", "b")]),
    intent=st.sampled_from(Intent),
)


@given(TOPICS, TOPICS, TOPICS)
def test_each_field_is_of_whoever_changed_it(base: Topic, mine: Topic, theirs: Topic) -> None:
    merge = merge_topics(base, mine, theirs)
    for name in Topic.model_fields:
        old, own, other = (getattr(topic, name) for topic in (base, mine, theirs))
        result = getattr(merge.topic, name)
        if name in merge.conflicts:
            assert len({old, own, other}) == 3
            assert result == own
        else:
            assert result == (own if own != old else other)


@given(TOPICS, TOPICS)
def test_one_edit_alone_is_that_edit(base: Topic, edited: Topic) -> None:
    assert merge_topics(base, base, edited).topic == edited
    assert merge_topics(base, edited, base).topic == edited
    assert merge_topics(base, edited, edited).conflicts == ()
