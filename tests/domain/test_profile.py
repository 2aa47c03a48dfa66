"""A profile's verdicts: by the rules in plain words, and where some are missing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.profile import (
    BOTH_MATCHED,
    NO_ALLOW,
    StoppedBy,
    only_others,
    rows_stopped,
)
from guardtui.domain.profile_evaluation import evaluate_scans
from guardtui.domain.profile_labels import prompts_of_one
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts

BLOCK, ALLOW = Intent.BLOCK, Intent.ALLOW


def verdicts(triggered: list[int], errors: dict[int, str] | None = None) -> Verdicts:
    count = len(triggered)
    return Verdicts(
        np.array(triggered, np.int8),
        np.linspace(0, 1, count, dtype=np.float32),
        np.arange(count, dtype=np.int16),
        {row: "lost" for row, one in enumerate(triggered) if one < 0} | (errors or {}),
    )


def combine(topic: Topic, own: Verdicts, companions: Sequence[tuple[Topic, Verdicts]]) -> Verdicts:
    """Return the verdicts of the whole profile with the scores of the topic under test."""
    triggered = [own, *(verdicts for _, verdicts in companions)]
    names = [companion for companion, _ in companions]
    texts = [f"prompt {row}" for row in range(len(own))]
    frame = pl.DataFrame(
        {
            "key": prompt_keys(texts),
            "line": pl.Series(range(2, len(texts) + 2), dtype=pl.UInt32),
            "prompt": pl.Series(texts, dtype=pl.String),
            "expected": pl.Series([False] * len(texts), dtype=pl.Boolean),
        }
    )
    prompts = prompts_of_one(topic, PromptSet(frame, topic.intent, "test"), names)
    closed = topic.intent is ALLOW
    return evaluate_scans(prompts, triggered, closed=closed, under_test=topic).verdicts(own)


def member(name: str, intent: Intent, triggered: list[int]) -> tuple[Topic, Verdicts]:
    return Topic(name=name, intent=intent), verdicts(triggered)


Profile = list[tuple[Topic, Verdicts]]


@st.composite
def profiles(draw: st.DrawFn, answers: tuple[int, ...] = (-1, 0, 1)) -> Profile:
    """A topic under test and its companions, with verdicts of each by itself."""
    count = draw(st.integers(0, 6))
    size = draw(st.integers(2, 5))
    column = st.lists(st.sampled_from(answers), min_size=count, max_size=count)
    intents = st.sampled_from(list(Intent))
    return [member(f"topic {index}", draw(intents), draw(column)) for index in range(size)]


def stops(matches: list[bool], intents: list[Intent]) -> bool:
    """The rules, for one prompt: the first topic is the one under test."""
    if any(match for match, intent in zip(matches, intents, strict=True) if intent is ALLOW):
        return False
    blocked = any(match for match, intent in zip(matches, intents, strict=True) if intent is BLOCK)
    return blocked or intents[0] is ALLOW


@given(profiles())
def test_a_verdict_is_given_where_the_missing_ones_cannot_change_it(profile: Profile) -> None:
    (topic, own), *others = profile
    whole = combine(topic, own, others)
    intents = [one.intent for one, _ in profile]
    for row in range(len(own)):
        verdicts = [int(one.triggered[row]) for _, one in profile]
        possible = [
            stops([t == (i is BLOCK) for t, i in zip(filled, intents, strict=True)], intents)
            for filled in product(*([bool(t)] if t >= 0 else [False, True] for t in verdicts))
        ]
        expected = int(possible[0]) if len(set(possible)) == 1 else -1
        assert whole.triggered[row] == expected
        assert (row in whole.errors) == (expected < 0)


@given(profiles())
def test_who_stopped_a_prompt_are_the_block_topics_that_match_it(profile: Profile) -> None:
    (topic, own), *others = profile
    whole = combine(topic, own, others)
    assert set(whole.stopped_by) == set(np.flatnonzero(whole.triggered == 1).tolist())
    assert len(whole.stopped_by) == len(list(whole.stopped_by))
    for row, names in whole.stopped_by.items():
        matched = tuple(
            one.name for one, said in profile if one.intent is BLOCK and said.triggered[row] == 1
        )
        assert names == (matched or (NO_ALLOW,))
    for name in ("topic 0", "topic 1", NO_ALLOW):
        result = rows_stopped(whole, name.__eq__)
        plain = Verdicts(own.triggered, own.score, own.matched, stopped_by=dict(whole.stopped_by))
        assert np.array_equal(result, rows_stopped(plain, name.__eq__))
        assert result.tolist() == [name in whole.stopped_by.get(r, ()) for r in range(len(own))]


@given(profiles())
def test_scores_stay_and_order_does_not_matter(profile: Profile) -> None:
    (topic, own), *others = profile
    whole, turned = combine(topic, own, others), combine(topic, own, others[::-1])
    assert whole.score is own.score
    assert whole.matched is own.matched
    assert np.array_equal(whole.triggered, turned.triggered)
    alone = combine(topic, own, [])
    assert np.array_equal(alone.triggered, own.triggered)


@given(profiles(answers=(0, 1)))
def test_topics_of_one_intent(profile: Profile) -> None:
    for intent in Intent:
        (topic, own), *others = [
            (Topic(name=one.name, intent=intent), said) for one, said in profile
        ]
        columns = np.stack([own.triggered, *(one.triggered for _, one in others)])
        expected = columns.max(axis=0) if intent is BLOCK else columns.min(axis=0)
        assert np.array_equal(combine(topic, own, others).triggered, expected)


def test_an_allow_companion_wins_prompts_back_and_says_so() -> None:
    topic, own = member("weapons", BLOCK, [1, 1, 0, 0])
    kitchen = member("kitchen knives", ALLOW, [0, 1, 0, 1])  # triggered: does not match
    whole = combine(topic, own, [kitchen])
    assert whole.triggered.tolist() == [0, 1, 0, 0]
    assert dict(whole.notes) == {0: BOTH_MATCHED}
    assert dict(whole.stopped_by) == {1: ("weapons",)}


def test_reasons_name_the_topic_that_has_no_verdict() -> None:
    topic, own = Topic(name="own"), verdicts([-2, -1, 0, 1], {0: "not sent"})
    other = member("other", BLOCK, [0, 1, -1, -1])
    whole = combine(topic, own, [other])
    assert whole.errors == {0: "not sent", 2: "other: lost"}
    assert whole.triggered.tolist() == [-2, 1, -1, 1]
    assert whole.stopped_by[1] == ("other",)
    assert whole.stopped_by[3] == ("own",)


def test_who_alone_stopped_it() -> None:
    topic = Topic(name="own")
    assert only_others(topic, ("a", "b")) == ("a", "b")
    for names in ((), ("own", "a"), (NO_ALLOW,)):
        assert only_others(topic, names) == ()


def test_stopped_by_contains_only_stopped_rows() -> None:
    stopped_by = StoppedBy(["a"], np.array([[False, True]]))
    assert [row in stopped_by for row in (-2, -1, 0, 1, 2)] == [False, False, False, True, False]


def test_other_prompts_are_refused() -> None:
    topic, own = member("own", BLOCK, [1, 0])
    with pytest.raises(ValueError, match="2 and 1 prompts"):
        combine(topic, own, [member("other", BLOCK, [1])])
