"""Names of edits: the words that changed, short and inert."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.edit_names import edit_names
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic

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
