"""Epochs are reduced, unscored samples are counted, and metrics of all kinds give named numbers."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

import pytest

from guardtui.scorer import (
    Metric,
    SampleScore,
    Score,
    Value,
    accuracy,
    includes,
    match,
    mean,
    metric,
    stderr,
)
from guardtui.scorer.aggregate import (
    reduce_epochs,
    scorer_names,
    summarise,
    takes_plain_scores,
)
from guardtui.scorer.reducers import reducer_by_name


def scores(*values: Any, epochs: int = 1) -> list[SampleScore]:
    return [
        SampleScore(
            score=Score(value=value), sample_id=index // epochs, sample_metadata={"place": index}
        )
        for index, value in enumerate(values)
    ]


def numbers(*args: Any, **kwargs: Any) -> list[dict[str, float]]:
    return [
        {name: one.value for name, one in summary.metrics.items()}
        for summary in summarise(*args, **kwargs)
    ]


def test_epochs_become_one_score_by_the_mean() -> None:
    (summary,) = summarise(scores("C", "I", "C", "C", epochs=2), [accuracy(), stderr()])
    assert summary.scored == 2
    assert summary.reducer is None
    assert summary.metrics["accuracy"].value == 0.75
    assert summary.metrics["stderr"].value == pytest.approx(0.25)


def test_the_reduced_score_keeps_the_first_epochs_id_and_metadata() -> None:
    reduced = reduce_epochs(scores("C", "I", "C", "C", epochs=2), reducer_by_name("max"))
    assert [(one.sample_id, one.sample_metadata, one.score.value) for one in reduced] == [
        (0, {"place": 0}, "C"),
        (1, {"place": 2}, "C"),
    ]


def test_each_reducer_is_a_view_of_its_own() -> None:
    result = summarise(scores("C", "I", epochs=2), [accuracy()], ["mean", "at_least_2"], scorer="s")
    assert [(one.name, one.reducer, one.metrics["accuracy"].value) for one in result] == [
        ("s", "mean", 0.5),
        ("s", "at_least_2", 0.0),
    ]


def test_without_reducers_every_epoch_counts() -> None:
    (summary,) = summarise(scores("C", "I", "C", epochs=3), [accuracy()], [])
    assert (summary.scored, summary.metrics["accuracy"].value) == (3, pytest.approx(2 / 3))


def test_a_reducer_that_nobody_knows() -> None:
    with pytest.raises(LookupError, match="nonsense"):
        summarise(scores("C"), [accuracy()], "nonsense")


def test_unscored_samples_are_counted_and_stand_in_no_rate() -> None:
    (summary,) = summarise(scores("C", math.nan, "I", math.nan), [accuracy()])
    assert (summary.scored, summary.unscored) == (2, 2)
    assert summary.metrics["accuracy"].value == 0.5


def test_metric_without_scores_is_nan() -> None:
    (summary,) = summarise(scores(math.nan), [accuracy()])
    assert (summary.scored, summary.unscored) == (0, 1)
    assert math.isnan(summary.metrics["accuracy"].value)


@metric
def counted() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return {"n": len(scores), "nothing": None}

    return measure


@metric
def in_a_row() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return [len(scores), 0.5]

    return measure


@metric(scores="unreduced")
def every_epoch() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return len(scores)

    return measure


@metric(scores="reduced")
def every_sample() -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        return len(scores)

    return measure


@metric
def without_annotation() -> Metric:
    def measure(scores):  # type: ignore[no-untyped-def]
        return float(all(isinstance(score, Score) for score in scores))

    return measure  # type: ignore[return-value]


def test_several_values_of_a_metric_get_names() -> None:
    assert numbers(scores("C", "I"), [counted(), in_a_row(), accuracy(), accuracy()]) == [
        {"n": 2.0, "in_a_row-1": 2.0, "in_a_row-2": 0.5, "accuracy": 0.5, "accuracy2": 0.5}
    ]
    assert numbers(scores({"a": 1}), {"a": [counted(), in_a_row()]}) == [
        {"counted_n": 1.0, "in_a_row_0": 1.0, "in_a_row_1": 0.5}
    ]
    assert numbers(scores(math.nan), [counted()]) == [{"n": 0.0}]


def test_metrics_say_which_epochs_they_see() -> None:
    result = summarise(
        scores("C", "I", "C", "C", epochs=2), [accuracy(), every_epoch(), every_sample()]
    )
    assert [(one.reducer, dict.fromkeys(one.metrics), one.scored) for one in result] == [
        ("mean", {"accuracy": None, "every_sample": None}, 2),
        (None, {"every_epoch": None}, 4),
    ]
    with pytest.raises(ValueError, match="name a reducer"):
        summarise(scores("C", "I", epochs=2), [every_sample()], [])


def test_keys_may_be_globs() -> None:
    values = scores({"a": 1, "ab": 0, "c": "C"}, {"a": 0, "ab": math.nan, "c": "I"})
    result = summarise(values, {"a*": [mean()], "*": [accuracy(), mean()]}, scorer="s")
    assert [(one.name, one.scorer, list(one.metrics)) for one in result] == [
        ("a", "s", ["mean", "accuracy"]),
        ("ab", "s", ["mean", "accuracy"]),
        ("c", "s", ["accuracy", "mean"]),
    ]
    assert [(one.scored, one.unscored) for one in result] == [(2, 0), (1, 1), (2, 0)]


@pytest.mark.parametrize("values", [({"a": 1}, {"b": 1}), ({"a": 1}, "C"), ("C",)])
def test_metrics_by_key_need_dicts_with_that_key(values: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="sample"):
        summarise(scores(*values), {"a": [mean()]}, [])


def test_metrics_do_not_change_what_they_see() -> None:
    given = scores({"a": 1}, math.nan)
    before = [one.model_dump_json() for one in given]
    summarise(given, [{"a": [mean()]}])
    assert [one.model_dump_json() for one in given] == before


def test_metrics_of_the_old_style_get_scores_and_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "guardtui.scorer.aggregate"):
        for _ in range(3):
            assert numbers(scores("C"), [without_annotation()]) == [{"without_annotation": 1.0}]
    assert [record.getMessage() for record in caplog.records] == [
        "without_annotation sees scores only: let it take a list[SampleScore]"
    ]


def test_an_annotation_that_cannot_be_read_is_of_the_new_style() -> None:
    def measure(scores: list[Score]) -> Value:
        return 1.0

    assert takes_plain_scores(measure)
    measure.__annotations__["scores"] = "list[NobodyKnows]"
    assert not takes_plain_scores(measure)


def test_an_object_is_of_the_new_style() -> None:
    @dataclass
    class Scaled:
        factor: float = 2.0

        def __call__(self, scores: list[SampleScore]) -> Value:
            return self.factor * len(scores)

    assert not takes_plain_scores(Scaled())


def test_scorers_of_one_name_are_numbered() -> None:
    made = [match(), includes(), match("any"), "match1", match()]
    assert scorer_names(made) == ["match", "includes", "match1", "match11", "match2"]
