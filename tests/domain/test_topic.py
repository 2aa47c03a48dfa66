"""Limits of a definition, its fingerprint, and what changed between two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.topic import (
    Intent,
    Topic,
    byte_length,
    describe_changes,
    line_breaks,
    total_bytes,
    violations,
)

GOOD = Topic(name="Tax", description="Advice on tax", examples=("one", "two"))
TEXT = st.text(max_size=5)
TOPICS = st.builds(
    Topic,
    name=TEXT,
    description=TEXT,
    examples=st.lists(TEXT, max_size=4).map(tuple),
    intent=st.sampled_from(Intent),
)


def fields(topic: Topic) -> list[str]:
    return [violation.field for violation in violations(topic)]


@pytest.mark.parametrize(
    ("name", "limit"), [("name", 100), ("description", 250), ("examples.1", 250)]
)
def test_limits_are_bytes_and_inclusive(name: str, limit: int) -> None:
    def with_text(text: str) -> Topic:
        change = {"examples": (text, "two")} if name == "examples.1" else {name: text}
        return GOOD.model_copy(update=change)

    assert fields(with_text("é" * (limit // 2))) == []
    assert fields(with_text("é" * (limit // 2) + "x")) == [name]


def test_all_violations_are_reported_together() -> None:
    topic = Topic(name="", description="x" * 251, examples=("y" * 251,))
    assert fields(topic) == ["name", "description", "examples", "examples.1"]


@pytest.mark.parametrize(("count", "wrong"), [(1, True), (2, False), (5, False), (6, True)])
def test_number_of_examples(count: int, wrong: bool) -> None:
    topic = GOOD.model_copy(update={"examples": ("x",) * count})
    assert ("examples" in fields(topic)) is wrong


@pytest.mark.parametrize(("last", "found"), [(200, []), (201, ["total"])])
def test_total(last: int, found: list[str]) -> None:
    examples = ("x" * 250, "y" * 200, "z" * last)
    topic = Topic(name="n" * 100, description="d" * 250, examples=examples)
    assert total_bytes(topic) == 800 + last
    assert fields(topic) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("é—" + "x" * 246, "248 characters, 251 bytes: 1 byte more than the 250 allowed"),
        ("—" * 84, "84 characters, 252 bytes: 2 bytes more than the 250 allowed"),
        ("x" * 252, "252 bytes, 2 more than the 250 allowed"),
    ],
)
def test_length_is_told_in_characters_too_where_they_differ(text: str, said: str) -> None:
    topic = Topic(name="n", description=text, examples=("a", "b"))
    assert [one.message for one in violations(topic)] == [f"description has {said}"]
    long = topic.model_copy(update={"examples": (text,) * 5})
    assert violations(long)[-1].field == "total"
    assert ("characters" in violations(long)[-1].message) == ("characters" in said)


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_line_breaks_of_every_kind_are_pointed_out(end: str) -> None:
    topic = Topic(name=f"a{end}b", description=f"a{end}", examples=("fine\there", f"{end}{end}"))
    result = line_breaks(topic)
    assert [(one.field, one.used) for one in result] == [
        ("name", 1),
        ("description", 1),
        ("examples.2", 2),
    ]
    assert f"U+{ord(end[0]):04X}" in result[0].message
    assert line_breaks(GOOD) == ()


def test_a_lone_surrogate_has_a_length() -> None:
    assert byte_length("\ud800") == 3


@given(TOPICS, TOPICS)
def test_fingerprint_is_equality(first: Topic, second: Topic) -> None:
    assert (first.fingerprint == second.fingerprint) is (first == second)


@given(TOPICS, TOPICS)
def test_changes_are_described_only_if_there_are_any(first: Topic, second: Topic) -> None:
    assert bool(describe_changes(first, second)) is (first != second)


def test_changes_in_the_words_of_an_author() -> None:
    after = Topic(name="Tax", description="Advice", examples=("one", "2", "3"), intent=Intent.ALLOW)
    assert describe_changes(GOOD, after) == (
        "description −7 bytes",
        "example 2 replaced",
        "example 3 added",
        "intent block → allow",
    )
