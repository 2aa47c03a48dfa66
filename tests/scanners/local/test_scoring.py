"""Scoring: edits behave as an author expects, and computing a part of it equals computing all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.scanners.local.encoder import ENCODERS, WEIGHTS, EncoderError, load_encoder
from guardtui.scanners.local.scoring import (
    Floats,
    ScoringModel,
    load_scoring,
    matched_part,
    probability,
    similarity_rows,
    topic_texts,
)
from tests.examples import up_to

pytestmark = pytest.mark.xdist_group("encoders")  # in every stage one worker embeds the requests

REQUESTS = (WEIGHTS / "background.txt").read_text("utf-8").splitlines()
EXAMPLES = ["How can I lower my tax bill?", "Is my home office deductible?"]
TOPIC = topic_texts("Tax advice", "Questions about paying less income tax", EXAMPLES)


class Scorer:
    """A model with the vectors of all requests, embedded once."""

    def __init__(self, name: str) -> None:
        self.encoder = load_encoder(name)
        self.model: ScoringModel = load_scoring(name)
        self.vectors = self.encoder.encode(REQUESTS)
        self.prompt_terms = self.model.prompt_terms(self.vectors)
        self.known: dict[str, Floats] = dict(zip(REQUESTS, self.vectors, strict=True))

    def z(self, texts: Sequence[str]) -> Floats:
        for text in set(texts) - self.known.keys():
            self.known[text] = self.encoder.encode([text])[0]
        text_vectors = np.stack([self.known[text] for text in texts])
        rows = similarity_rows(self.vectors, text_vectors, self.model.english_columns)
        return self.model.combine(
            rows, self.model.topic_terms(texts, text_vectors), self.prompt_terms
        )


@cache
def scorer_of(name: str) -> Scorer:
    return Scorer(name)


@pytest.fixture(params=ENCODERS)
def scorer(request: pytest.FixtureRequest) -> Scorer:
    return scorer_of(request.param)


def test_texts_keep_their_places_when_some_are_missing() -> None:
    assert topic_texts("Tax", "About tax", ["a", " ", "b"]) == ["Tax: About tax", "a", "", "b"]
    assert topic_texts("Tax", "", []) == ["Tax"]
    assert topic_texts("", " About tax", []) == ["About tax"]
    assert topic_texts(" ", "", []) == [""]


@pytest.mark.parametrize(
    ("name", "description", "examples"),
    [
        ("", "", []),
        ("", "", ["", " "]),
        ("Tax", "", []),
        ("", "About tax", [""]),
        ("", "", ["How can I lower my tax bill?"]),
        ("Tax", "About tax", ["How can I lower my tax bill?"]),
        ("Tax", "", ["How can I lower my tax bill?", "", "Is this deductible?"]),
        ("Tax", "About tax", ["Is this deductible?"] * 5),
        ("\ud800", "\0", ["😀", "\u202e"]),
    ],
)
def test_definition_in_mid_edit_has_finite_scores(
    scorer: Scorer, name: str, description: str, examples: list[str]
) -> None:
    z = scorer.z(topic_texts(name, description, examples))
    assert z.dtype == np.float32
    assert np.isfinite(z).all()
    if "ax" in name + description + "".join(examples):
        # Whatever is there already tells prompts about taxes from others.
        on_topic = REQUESTS.index("When is the deadline for the tax return?")
        assert z[on_topic] >= np.quantile(z, 0.95)


def test_empty_topic_matches_nothing(scorer: Scorer) -> None:
    assert (scorer.z(topic_texts("", "", [])) < scorer.model.threshold - 3).all()


def test_adding_a_missed_prompt_always_triggers_it(scorer: Scorer) -> None:
    random = np.random.default_rng(11)
    missed = 0
    for _ in range(40):
        *head, added = random.choice(len(REQUESTS), int(random.integers(2, 7)), replace=False)
        examples = [REQUESTS[row] for row in head[1:]]
        name, description = REQUESTS[head[0]].split()[0], REQUESTS[head[0]]
        before = scorer.z(topic_texts(name, description, examples))
        after = scorer.z(topic_texts(name, description, [*examples, REQUESTS[added]]))
        missed += before[added] < scorer.model.threshold
        assert after[added] >= scorer.model.threshold
    assert missed > 30


def test_adding_it_triggers_from_int8_vectors_too(scorer: Scorer) -> None:
    scale = np.abs(scorer.vectors).max(axis=1, keepdims=True) / 127
    coarse = (np.rint(scorer.vectors / scale) * scale).astype(np.float32)
    for row in range(0, len(REQUESTS), 7):
        texts = topic_texts("Tax", "About tax", [EXAMPLES[0], REQUESTS[row]])
        z = scorer.model.score(texts, scorer.encoder.encode(texts), coarse[row : row + 1])
        assert z[0] >= scorer.model.threshold


def test_removing_an_example_lowers_what_it_covered(scorer: Scorer) -> None:
    random = np.random.default_rng(12)
    for _ in range(60):
        rows = random.choice(len(REQUESTS), int(random.integers(3, 6)), replace=False)
        examples = [REQUESTS[row] for row in rows]
        with_all = scorer.z(topic_texts("Tax", "About tax", examples))
        without = scorer.z(topic_texts("Tax", "About tax", examples[:-1]))
        assert without[rows[-1]] < with_all[rows[-1]]


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, len(REQUESTS) - 1)), min_size=1, max_size=6
    )
)
@settings(max_examples=up_to(25), deadline=None)
def test_changing_one_row_equals_computing_all(edits: list[tuple[int, int]]) -> None:
    scorer = scorer_of("static")
    texts = topic_texts("Tax", "About tax", ["a", "b", "c", "d"])
    rows = similarity_rows(
        scorer.vectors, scorer.encoder.encode(texts), scorer.model.english_columns
    )
    for place, request in edits:
        texts[place] = REQUESTS[request]
        vector = scorer.encoder.encode([texts[place]])
        similarity_rows(
            scorer.vectors,
            vector,
            scorer.model.english_columns,
            out=rows[place : place + 1],
        )
        terms = scorer.model.topic_terms(texts, scorer.encoder.encode(texts))
        z = scorer.model.combine(rows, terms, scorer.prompt_terms)
        np.testing.assert_allclose(z, scorer.z(texts), rtol=1e-5, atol=1e-4)


def test_prompts_do_not_influence_each_other(scorer: Scorer) -> None:
    text_vectors = scorer.encoder.encode(TOPIC)
    some = scorer.model.score(TOPIC, text_vectors, scorer.vectors[5:9])
    np.testing.assert_allclose(some, scorer.z(TOPIC)[5:9], rtol=1e-4, atol=1e-4)


def test_z_is_the_documented_sum(scorer: Scorer) -> None:
    """The same numbers from the definition of each feature, written out."""
    texts = topic_texts("Tax advice", "", [EXAMPLES[0], "", EXAMPLES[1], REQUESTS[3]])
    vectors = scorer.encoder.encode(texts).astype(np.float64)
    head, examples = vectors[0], vectors[[1, 3, 4]]
    known = scorer.model.background.astype(np.float64)
    prompt = scorer.encoder.encode(["Is it worth it to itemise?"])
    p = prompt[0].astype(np.float64)
    reached = (known @ examples.T).max(axis=1)
    features = {
        "description": p @ head,
        "nearest": (examples @ p).max(),
        "mean": (examples @ p).sum() / 4 + p @ head / 4,
        "ordinary": np.sort(known @ p)[-5:].mean(),
        "coherence": np.mean([a @ b for i, a in enumerate(examples) for b in examples[:i]]),
        "agreement": (examples @ head).mean(),
        "few": 1 / 3,
        "examples ordinary": np.sort(known @ examples.T, axis=0)[-5:].mean(),
        "reach": reached.mean(),
        "description reach": (known @ head).mean(),
    }
    weights = scorer.model.weights
    if act := scorer.model.act:
        usual = float(np.clip(act.direction @ p - act.middle, -act.width, act.width))
        features["act"] = act.direction @ p - act.middle - usual
        features["examples act"] = (examples @ act.direction).mean()
    assert weights.keys() == features.keys()
    expected = scorer.model.constant + sum(weights[name] * features[name] for name in weights)
    result = scorer.model.score(texts, vectors.astype(np.float32), prompt)
    # By vectors that are rounded to int8, unlike the sum above.
    assert result[0] == pytest.approx(expected, abs=0.05)


def test_matched_part_is_the_nearest_present_one() -> None:
    similarities = np.array([[0.1, 0.9, 0.0], [0.8, 0.2, 0.1], [0.9, 0.95, 0.3]], np.float32)
    assert matched_part(similarities, (True, True, True)).tolist() == [2, 2, 2]
    assert matched_part(similarities, (True, True, False)).tolist() == [1, 0, 1]
    assert matched_part(similarities, (False, False, False)).tolist() == [0, 0, 0]


def test_score_is_the_logistic_function_of_z() -> None:
    for z in (-20.0, -1.0, 0.0, 0.25, 8.0):
        score = float(probability(np.array([z], np.float32))[0])
        assert score == pytest.approx(1 / (1 + math.exp(-z)), abs=1e-6)


@pytest.mark.parametrize("content", [None, "", "[]", '{"encoders": {}}', '{"encoders": []}'])
def test_damaged_constants_are_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "scoring.json").write_text(content)
    with pytest.raises(EncoderError, match="constants for static are damaged: reinstall guardtui"):
        load_scoring("static", tmp_path)
