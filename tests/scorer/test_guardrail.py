"""The metrics of a guardrail: rates over labels, and what changed since the baseline."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from guardtui.domain.metrics import Metrics
from guardtui.scorer import (
    Metric,
    SampleScore,
    Score,
    coverage,
    fixes,
    guardrail_f1,
    precision,
    regressions,
    tnr,
    tpr,
    value_to_float,
)
from guardtui.scorer.aggregate import summarise

RATES = {
    "tpr": "true_positive_rate", "tnr": "true_negative_rate", "coverage": "coverage",
    "precision": "precision", "guardrail_f1": "f1",
}  # fmt: skip
METRICS = [tpr(), tnr(), coverage(), precision(), guardrail_f1()]


def sample(value: Any, **metadata: Any) -> SampleScore:
    return SampleScore(score=Score(value=value), sample_id=7, sample_metadata=metadata)


def measured(metric: Metric, *scores: SampleScore) -> Any:
    return metric(list(scores))  # type: ignore[arg-type]


def test_rates_are_those_of_the_evaluation() -> None:
    """The oracle counts outcomes; here only rightness and labels are known."""
    draw = random.Random(7)
    for _ in range(300):
        tp, tn, fp, fn = (draw.choice([0, 0, 1, 2, 9]) for _ in range(4))
        scores = [
            *[sample("C", expected="yes")] * tp, *[sample("C", expected="no")] * tn,
            *[sample("I", expected=False)] * fp, *[sample("I", expected=1)] * fn,
            sample(math.nan, expected="yes"),
        ]  # fmt: skip
        draw.shuffle(scores)
        wanted = Metrics(tp=tp, tn=tn, fp=fp, fn=fn)
        for metric, name in zip(METRICS, RATES, strict=True):
            rate = getattr(wanted, RATES[name])
            result = measured(metric, *scores)
            assert math.isnan(result) if rate is None else result == pytest.approx(rate), name


def test_scikit_learn_says_the_same() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    draw = random.Random(3)
    labels = [draw.random() < 0.4 for _ in range(200)]
    fired = [label if draw.random() < 0.8 else not label for label in labels]
    scores = [
        sample(int(label == fires), expected=label)
        for label, fires in zip(labels, fired, strict=True)
    ]
    assert measured(tpr(), *scores) == pytest.approx(sklearn.recall_score(labels, fired))
    assert measured(tnr(), *scores) == pytest.approx(
        sklearn.recall_score(labels, fired, pos_label=False)
    )
    assert measured(precision(), *scores) == pytest.approx(sklearn.precision_score(labels, fired))
    assert measured(guardrail_f1(), *scores) == pytest.approx(sklearn.f1_score(labels, fired))


def test_a_topic_that_is_allowed_turns_the_label_round() -> None:
    scores = [
        sample("C", expected="true", intent="Allow"),
        sample("I", expected="false", intent="allow"),
        sample("C", expected="false", intent="allow"),
    ]
    assert measured(tpr(), *scores) == 0.5
    assert measured(tnr(), *scores) == 1.0


@pytest.mark.parametrize("label", ["true", "YES ", "t", "Y", "1", True, 1, 1.0])
def test_labels_that_mean_yes(label: Any) -> None:
    assert measured(tpr(), sample("C", expected=label, intent=None)) == 1.0
    assert math.isnan(measured(tnr(), sample("C", expected=label)))


def test_other_names_of_columns_and_other_values() -> None:
    scores = [sample("good", label="y", kind="block"), sample("bad", label="y", kind="block")]
    metric = tpr("label", "kind", value_to_float("good", "bad"))
    assert measured(metric, *scores) == 0.5


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({}, "sample 7 has no 'expected' in its metadata: add that column"),
        ({"expected": "maybe"}, "sample 7 has 'maybe' as 'expected': write true or false"),
        ({"expected": ""}, "sample 7 has '' as 'expected'"),
        ({"expected": "yes", "intent": "deny"}, "sample 7 has 'deny' as 'intent': write block"),
    ],
)
def test_invalid_labels_are_rejected(metadata: dict[str, Any], told: str) -> None:
    for metric in METRICS:
        with pytest.raises(ValueError, match=told):
            measured(metric, sample("C", **metadata))


def test_values_have_to_be_shares() -> None:
    with pytest.raises(ValueError, match=r"sample 7 is 2: .* pass a to_float"):
        measured(tpr(), sample(2, expected="yes"))


def test_epochs_count_by_their_share() -> None:
    scores = [
        SampleScore(
            score=Score(value=value), sample_id=name, sample_metadata={"expected": expected}
        )
        for name, expected, values in (("a", "yes", "CCI"), ("b", "yes", "III"), ("c", "no", "CIC"))
        for value in values
    ]
    (summary,) = summarise(scores, [*METRICS])
    assert {name: one.value for name, one in summary.metrics.items()} == {
        "tpr": pytest.approx(1 / 3),
        "tnr": pytest.approx(2 / 3),
        "coverage": pytest.approx(1 / 3),
        "precision": pytest.approx((2 / 3) / (2 / 3 + 1 / 3)),
        "guardrail_f1": pytest.approx(2 * (2 / 3) / (2 * (2 / 3) + 1 / 3 + 4 / 3)),
    }


def test_regressions_and_fixes() -> None:
    scores = [
        sample("I", baseline="C"),
        sample("I", baseline="TP"),
        sample("C", baseline="0"),
        sample("C", baseline="fn"),
        sample("C", baseline=False),
        sample("C", baseline="TN"),
        sample("I", baseline="FP"),
        sample("I", baseline=None),
        sample("I", baseline=" "),
        sample("I", baseline="error"),
        sample(math.nan, baseline="C"),
        sample("I", baseline=math.nan),
    ]
    assert measured(regressions(), *scores) == 2
    assert measured(fixes(), *scores) == 3


def test_changes_without_any_baseline_are_undefined() -> None:
    assert math.isnan(measured(regressions(), sample("C", baseline="")))
    assert math.isnan(measured(fixes()))


def test_a_baseline_of_another_name_and_other_values() -> None:
    metric = regressions("before", value_to_float("good", "bad"))
    assert measured(metric, sample("bad", before="good"), sample("good", before="bad")) == 1


@pytest.mark.parametrize(
    ("metadata", "told"),
    [({}, "no 'baseline'"), ({"baseline": "kept"}, "'kept' as 'baseline': write the value")],
)
def test_invalid_baselines_are_rejected(metadata: dict[str, Any], told: str) -> None:
    for metric in (regressions(), fixes()):
        with pytest.raises(ValueError, match=told):
            measured(metric, sample("C", **metadata))
