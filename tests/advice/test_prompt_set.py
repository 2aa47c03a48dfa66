"""The survey of a prompt set: near-duplicates, and where to label next."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice import prompt_set
from guardtui.advice.duplicates import StoppedError
from guardtui.advice.prompt_set import (
    Survey,
    labels_nearby,
    spot_scores,
    survey,
    survey_of,
)
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner
from tests.guardrails import engine_settings

TOPIC = Topic(name="Tax", description="Personal tax advice", examples=("pay less tax", "deduct"))

MATTERS = {
    "tax": "how can i deduct my {} from my income tax",
    "cooking": "give me a recipe for {} soup with onions",
    "travel": "book a cheap flight with {} to Rome",
    "football": "who won the football match against {} yesterday",
}
THINGS = ("car", "shoes", "lentils", "camera", "dog", "house", "bike", "lamp", "chair", "garden")


def prompt_set_of(prompts: list[str], labels: list[bool]) -> PromptSet:
    raw = pl.DataFrame(
        {
            "prompt": prompts,
            "expected": ["true" if label else "false" for label in labels],
            "intent": ["block"] * len(prompts),
        }
    )
    return build_prompt_set(raw, np.arange(2, len(prompts) + 2, dtype=np.uint32), "test.csv")


def evaluation_of(prompts: PromptSet, triggered: np.ndarray) -> Evaluation:
    number = len(prompts)
    verdicts = Verdicts(
        triggered.astype(np.int8),
        np.full(number, np.nan, np.float32),
        np.full(number, -1, np.int16),
    )
    settings = engine_settings("test")
    topic = TOPIC.model_copy(update={"intent": Intent.BLOCK})
    return Evaluation(
        topic, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )


def matters() -> tuple[PromptSet, Evaluation, list[str]]:
    """Return four matters of ten prompts: tax belongs, half of the verdicts on travel are wrong."""
    texts, labels, triggered, matter_of = [], [], [], []
    for matter, sentence in MATTERS.items():
        for index, thing in enumerate(THINGS):
            texts.append(sentence.format(thing))
            labels.append(matter == "tax")
            triggered.append(matter == "tax" or (matter == "travel" and index % 2 == 0))
            matter_of.append(matter)
    prompts = prompt_set_of(texts, labels)
    return prompts, evaluation_of(prompts, np.array(triggered)), matter_of


def surveyed(prompts: PromptSet, evaluation: Evaluation) -> Survey:
    survey_result = survey(LocalScanner("static"), prompts, evaluation)
    assert survey_result is not None
    return survey_result


def test_the_same_set_gives_the_same_survey() -> None:
    prompts, evaluation, _ = matters()
    first, second = surveyed(prompts, evaluation), surveyed(prompts, evaluation)
    assert first.spots == second.spots
    assert first.duplicates == second.duplicates


def test_a_survey_refuses_other_prompts_and_can_be_stopped() -> None:
    prompts, evaluation, _ = matters()
    fewer = prompt_set_of(["one", "two"], [True, False])
    with pytest.raises(ValueError, match="other prompts"):
        survey(LocalScanner("static"), fewer, evaluation)
    scanner = LocalScanner("static")
    assert survey(scanner, prompts, evaluation, lambda: True) is None
    assert survey(scanner, prompts, evaluation) is not None  # from here on vectors are cached
    asked = count()
    assert survey(scanner, prompts, evaluation, lambda: next(asked) < 0) is not None
    for limit in range(next(asked)):
        stopped = partial(next, iter([False] * limit), True)
        assert survey(scanner, prompts, evaluation, stopped) is None


@given(
    st.lists(
        st.tuples(st.floats(-8, 8), st.floats(0, 20), st.floats(0, 20)), min_size=1, max_size=20
    )
)
def test_suggestion_score_rises_with_uncertainty_and_density_and_falls_with_known_labels(
    spots: list[tuple[float, float, float]],
) -> None:
    margin, belong, others = (np.array(column) for column in zip(*spots, strict=True))
    scores = spot_scores(margin, belong, others)
    assert ((scores >= 0) & (scores <= 1)).all()
    np.testing.assert_allclose(scores, spot_scores(-margin, others, belong))
    assert (spot_scores(margin * 2, belong, others) <= scores + 1e-12).all()
    more, fewer = np.maximum(belong, others), np.minimum(belong, others)
    assert (spot_scores(margin, more + 1, fewer) >= scores - 1e-12).all()
    p = 1 / (1 + np.exp(-margin))
    by_hand = 4 * p * (1 - p) * (belong + others) / (belong + others + 2) / (1 + fewer)
    np.testing.assert_allclose(scores, by_hand, atol=1e-12)


def test_labels_nearby_are_weighted_sums_without_the_prompt_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(2)
    vectors = random.normal(size=(60, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = random.random(60) < 0.4
    matrix = PromptMatrix.empty(60, 4)
    matrix.put(slice(None), vectors)
    rows = np.array([3, 17, 59])
    monkeypatch.setattr(prompt_set, "_BLOCK", 7)
    belong, others = labels_nearby(matrix, rows, labels, lambda: False)
    for index, row in enumerate(rows.tolist()):
        weights = [max(0.0, (float(vectors[row] @ vector) - 0.5) / 0.5) for vector in vectors]
        weights[row] = 0.0
        yes = sum(weight for weight, label in zip(weights, labels, strict=True) if label)
        assert belong[index] == pytest.approx(yes, abs=0.25)
        assert others[index] == pytest.approx(sum(weights) - yes, abs=0.25)
    with pytest.raises(StoppedError):
        labels_nearby(matrix, rows, labels, lambda: True)


def test_suggestions_are_where_the_engine_is_uncertain_and_one_label_is_rare() -> None:
    random = np.random.default_rng(5)
    directions = np.eye(6, dtype=np.float32)[:3]
    vectors = np.repeat(directions, 30, axis=0) + 0.1 * random.normal(size=(90, 6))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    labels = np.zeros(90, bool)
    labels[:29] = True  # the first group: nearly all belong
    labels[30:60:2] = True  # the second: half and half, and well known
    margin = np.full(90, 6.0, np.float32)
    margin[:60] = random.normal(0, 0.3, 60)  # the engine hesitates on the first two
    prompts = prompt_set_of([f"prompt {row}" for row in range(90)], labels.tolist())
    matrix = PromptMatrix.empty(90, 6)
    matrix.put(slice(None), vectors)
    survey_result = survey_of(prompts, evaluation_of(prompts, labels), matrix, margin)
    best = survey_result.spots[0]
    assert all(row < 30 for row in best.rows)
    assert best.wanted is False
    assert best.score > 2 * max(
        (spot.score for spot in survey_result.spots if min(spot.rows) >= 30), default=0.0
    )
    near = np.abs(margin[:30]) <= prompt_set.UNSURE
    assert best.near_threshold == near.sum()
    # One suggestion for a matter: no prompt of one is like those of another.
    for spot in survey_result.spots:
        assert len({row // 30 for row in spot.rows}) == 1
    assert len({spot.rows[0] // 30 for spot in survey_result.spots}) == len(survey_result.spots)


def test_near_duplicates_of_a_large_set_are_those_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"COMPARED": 60, "_NEIGHBOURS": 40, "_BLOCK": 16}.items():
        monkeypatch.setattr(prompt_set, name, value)
    random = np.random.default_rng(1)
    vectors = np.repeat(np.eye(5, dtype=np.float32), 40, axis=0)
    vectors = vectors + 0.02 * random.normal(size=vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    prompts = prompt_set_of([f"prompt {row}" for row in range(200)], [True, False] * 100)
    matrix = PromptMatrix.empty(200, 5)
    matrix.put(slice(None), vectors)
    triggered = np.zeros(200)
    survey_result = survey_of(
        prompts, evaluation_of(prompts, triggered), matrix, np.zeros(200, np.float32)
    )
    assert survey_result.duplicates.among == 60
    assert all(pair.first // 40 == pair.second // 40 for pair in survey_result.duplicates.pairs)
    assert survey_result.duplicates.total > 100


def test_a_set_of_two_has_a_survey() -> None:
    prompts = prompt_set_of(["only one", "and another"], [True, False])
    survey_result = surveyed(prompts, evaluation_of(prompts, np.array([1, 0])))
    assert (survey_result.duplicates.total, survey_result.spots) == (0, ())
