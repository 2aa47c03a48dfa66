"""Scores of many definitions at once equal those of the scanner for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.advice.engine_scores import EngineScores, open_scores, z_cut
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability
from tests.examples import up_to

from .conftest import TOPIC, Bench, bench_of

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "Tax",
        "weather in Paris",
        "How do I pay less tax?",
        "réclamer ça",
        "Can I deduct it?",
    ]
)
TOPICS = st.builds(
    Topic,
    name=TEXTS,
    description=TEXTS,
    examples=st.lists(TEXTS, max_size=6).map(tuple),
    intent=st.sampled_from(Intent),
)
SOME = [
    TOPIC,
    Topic(name="Tax"),
    Topic(),
    *(TOPIC.model_copy(update={"description": f"tax {number}"}) for number in range(20)),
]


def z_of(scores: EngineScores, topics: list[Topic], rows: np.ndarray | None = None) -> np.ndarray:
    every = np.arange(len(scores.prompts))
    z = scores.z(topics, every if rows is None else rows)
    assert z is not None
    return z


def z_alone(bench: Bench, topic: Topic) -> np.ndarray:
    z = bench.scanner.z(topic, bench.prompts, lambda _: None)
    assert z is not None
    return z[0]


@settings(max_examples=up_to(60), deadline=None)
@given(st.lists(TOPICS, min_size=1, max_size=8))
def test_z_is_that_of_the_scanner_for_any_definitions(bench: Bench, topics: list[Topic]) -> None:
    for batch, topic in zip(z_of(bench.scores, topics), topics, strict=True):
        np.testing.assert_allclose(batch, z_alone(bench, topic), atol=2e-4)


@pytest.mark.parametrize("encoder", ["static", "pair"])
def test_matches_are_those_of_a_scan(prompts: PromptSet, encoder: str) -> None:
    bench = bench_of(prompts, LocalScanner(encoder))
    matches = bench.scores.verdicts(SOME[:8])
    assert matches is not None
    for row, topic in zip(matches, SOME[:8], strict=True):
        evaluation = bench.scanner.evaluate_now(topic, prompts)
        assert evaluation is not None
        np.testing.assert_array_equal(row, evaluation.verdicts.triggered.astype(bool))


def test_matches_follow_a_threshold_by_hand(prompts: PromptSet) -> None:
    bench = bench_of(prompts)
    bench.scanner.use_threshold(0.9)
    evaluation = bench.scanner.evaluate_now(TOPIC, prompts)
    matches = bench.scores.verdicts([TOPIC])
    assert evaluation is not None
    assert matches is not None
    np.testing.assert_array_equal(matches[0], evaluation.verdicts.triggered.astype(bool))
    assert bench.scores.settings.threshold == 0.9


def test_scores_do_not_depend_on_blocks_or_rows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = z_of(bench.scores, SOME)
    rows = np.array([3, 77, 5, 199])
    np.testing.assert_allclose(z_of(bench.scores, SOME, rows), whole[:, rows], atol=1e-5)
    monkeypatch.setattr("guardtui.advice.engine_scores._PROMPTS", 7)
    monkeypatch.setattr("guardtui.advice.engine_scores._TOPICS", 11)
    monkeypatch.setattr("guardtui.scanners.local.scoring._TOPICS", 13)
    np.testing.assert_allclose(z_of(bench.scores, SOME), whole, atol=1e-5)


def test_the_last_topic_of_the_scanner_is_unchanged(bench: Bench) -> None:
    before = z_alone(bench, TOPIC)
    z_of(bench.scores, SOME[1:])
    np.testing.assert_array_equal(z_alone(bench, TOPIC), before)


def test_scoring_stops_between_blocks(bench: Bench, prompts: PromptSet) -> None:
    rows = bench.rows.chosen_on
    assert bench.scores.z([TOPIC], rows, lambda: True) is None
    assert bench.scores.verdicts([TOPIC], lambda: True) is None
    assert bench.scores.learn([Topic(name="new to it")], lambda: True) is None
    assert open_scores(LocalScanner("static"), prompts, stopped=lambda: True) is None


def test_texts_are_forgotten_when_there_are_too_many(
    prompts: PromptSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.advice.engine_scores._TEXTS", 6)
    scores = bench_of(prompts).scores
    first = [scores.verdicts([topic]) for topic in SOME]
    again = [scores.verdicts([topic]) for topic in SOME]
    np.testing.assert_array_equal(first, again)
    assert len(scores._indexes) <= 6


@given(st.floats(0.001, 0.999))
def test_the_cut_is_the_first_z_that_reaches_the_threshold(threshold: float) -> None:
    cut = z_cut(threshold)
    wanted = np.float32(threshold)
    assert probability(cut) >= wanted
    assert probability(np.nextafter(cut, np.float32(-50))) < wanted
