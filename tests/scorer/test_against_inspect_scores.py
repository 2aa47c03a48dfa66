"""Scores, targets, conversion, metrics and reducers give what inspect_ai's give."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

import guardtui.scorer as ours
from tests.scorer.samples import generated, outcome, plain, told

pytest.importorskip("inspect_ai", minversion="0.3.285")

import inspect_ai.scorer as theirs

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]

SIDES = (ours, theirs)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Values that cannot be converted are warned of, thousands of times in here."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


strings = st.sampled_from(
    ["C", "I", "P", "N", "c", "C ", "yes", "No", "TRUE", "false", "Yes ", "1", " 1 ", "0.5",
     "1_000", "-2", "+3", "1e3", "1e400", "nan", "inf", "１", "٣", "1,000", "50%", "½", "", "x",
     "3.7", "0x10", "False", "0"]
)  # fmt: skip
numbers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, 0.5, -1.0, 0.25, 2.0, 1e-9, 1e300, 3.9, -0.0]),
    st.booleans(),
)
odd = st.sampled_from([math.nan, math.inf, -math.inf])
scalars = st.one_of(strings, numbers, numbers, odd)
keys = st.sampled_from(["a", "b", "c", ""])
values = st.one_of(
    scalars,
    scalars,
    st.lists(scalars, max_size=3),
    st.lists(scalars, max_size=3).map(tuple),
    st.dictionaries(keys, st.one_of(scalars, st.none()), max_size=3),
)
anything = st.one_of(
    values, st.none(), st.just([[1]]), st.just([None]), st.just({"a": [1]}), st.just(b"x"),
    st.just({1: 2}), st.just(object), st.just({"x"}),
)  # fmt: skip


def agree(call: Any) -> None:
    """A call on each side gives the same: equal of equal type, or the same error."""
    mine, oracle = (outcome(lambda side=side: call(side)) for side in SIDES)
    assert mine == oracle


# --- types ------------------------------------------------------------------------------------


@generated
@given(anything)
def test_a_score_keeps_its_value(value: Any) -> None:
    agree(lambda side: side.Score(value=value).value)


READERS = ("as_str", "as_int", "as_float", "as_bool", "as_list", "as_dict")


@generated
@given(values)
@example("False")
@example("3.7")
@example((1, 2))
def test_readers_of_a_score(value: Any) -> None:
    for reader in READERS:
        agree(lambda side, reader=reader: getattr(side.Score(value=value), reader)())
    agree(lambda side: side.Score(value=value).text)


def test_fields_of_a_score() -> None:
    agree(lambda side: side.Score("C"))
    agree(lambda side: side.Score())
    agree(lambda side: side.Score(value="C", answer=1))
    agree(lambda side: side.Score(value="C", metadata=[1]))
    agree(lambda side: told(side.Score(value="C", explanation=b"x")))
    agree(lambda side: told(side.Score(value="C", metadata={"unscored_reason": "refusal"})))
    agree(lambda side: told(side.Score(value="C", metadata={"unscored_reason": None})))
    agree(lambda side: told(side.Score(value="C", metadata={"unscored_reason": 3})))
    agree(lambda side: told(side.Score(value="C", reason=None, metadata={"unscored_reason": "x"})))
    agree(lambda side: told(side.Score(value="C", reason="y", metadata={"unscored_reason": "x"})))
    agree(lambda side: told(side.Score.unscored()))
    agree(lambda side: told(side.Score.unscored(reason="x", answer="a", explanation="e")))
    agree(lambda side: told(side.Score.unscored(metadata={"unscored_reason": "x"})))
    agree(lambda side: side.Score.unscored("x"))


@generated
@given(values)
def test_scores_are_written_as_json_and_read_back(value: Any) -> None:
    def through(side: Any) -> Any:
        text = side.Score(value=value).model_dump_json(include={"value", "answer", "explanation"})
        return text, plain(side.Score.model_validate_json(text).value)

    agree(through)


def test_an_edit_leaves_everything_as_it_was() -> None:
    fields = ("value", "answer", "explanation", "metadata", "reason", "provenance")
    for side in SIDES:
        edit = side.ScoreEdit()
        assert [getattr(edit, name) for name in fields] == ["UNCHANGED"] * 5 + [None]
        first, second = side.Score(value=1), side.Score(value=1)
        assert first.history == []
        assert first.history is not second.history


class Frozen(BaseModel, frozen=True):
    number: int
    name: str = "x"


class Loose(BaseModel):
    number: int


@pytest.mark.parametrize("cls", [Frozen, Loose])
@pytest.mark.parametrize(
    "metadata", [None, {}, {"number": "42", "more": 1}, {"number": "x"}, {"name": 1}, {"number": 1}]
)
def test_metadata_as_a_model(cls: Any, metadata: Any) -> None:
    def read(side: Any) -> Any:
        score = side.SampleScore(score=side.Score(value=1), sample_metadata=metadata)
        return score.sample_metadata_as(cls)

    agree(read)


def test_fields_of_a_sample_score() -> None:
    for name in ("sample_id", "sample_metadata", "scorer"):
        agree(lambda side, name=name: getattr(side.SampleScore(score=side.Score(value=1)), name))
    agree(lambda side: side.SampleScore())
    agree(lambda side: side.SampleScore(score=1))


@generated
@given(
    st.one_of(
        st.text(max_size=3),
        st.lists(st.sampled_from(["A", "B", "", "AB"]), max_size=4),
        st.lists(st.sampled_from(["A", "B"]), max_size=3).map(tuple),
    ),
    st.integers(-5, 5),
    st.sampled_from(["A", "a", "", "AB"]),
)
def test_targets(target: Any, place: int, item: str) -> None:
    def told_of(side: Any) -> Any:
        made = side.Target(target)
        return {
            "text": made.text,
            "list": list(made),
            "len": len(made),
            "slice": made[place:],
            "in": item in made,
            "reversed": list(reversed(made)),
            "count": made.count(item),
            "target": made.target,
            "again": side.Target(made).target,
            "is text": isinstance(made, str),
            "is a sequence": isinstance(made, Sequence),
            "equal": made == side.Target(target),
        }

    agree(told_of)
    agree(lambda side: side.Target(target)[place])
    agree(lambda side: side.Target(target).index(item))


def test_a_target_is_a_copy() -> None:
    for side in SIDES:
        texts = ["A"]
        target = side.Target(texts)
        texts.append("B")
        assert list(target) == ["A"]


def test_protocols_take_callables() -> None:
    class Called:
        def __call__(self, *args: Any) -> None: ...

    for side in SIDES:
        for protocol in (side.Scorer, side.Metric, side.MetricProtocol):
            assert isinstance(Called(), protocol)
            assert isinstance(len, protocol)
            assert not isinstance(3, protocol)
        assert not isinstance(Called(), side.ScoreReducer)
        assert isinstance(len, side.ScoreReducer)


# --- conversion -------------------------------------------------------------------------------


@generated
@given(anything)
@example("1e400")
@example(True)
def test_value_to_float(value: Any) -> None:
    agree(lambda side: side.value_to_float()(value))


@generated
@given(values, st.lists(scalars, max_size=4))
@example(2.0, [2])
@example(True, ["C", 1])
def test_value_to_float_with_names_of_its_own(value: Any, named: list[Any]) -> None:
    agree(lambda side: side.value_to_float(*named)(value))
    if len(named) == 4:
        chosen = dict(zip(("noanswer", "partial", "incorrect", "correct"), named, strict=True))
        agree(lambda side: side.value_to_float(**chosen)(value))


# --- metrics ----------------------------------------------------------------------------------


def measured(side: Any, metric: Any, given_values: Sequence[Any], metadata: Any = None) -> Any:
    scores = [
        side.SampleScore(
            score=side.Score(value=value),
            sample_id=index,
            sample_metadata=metadata[index] if metadata else None,
        )
        for index, value in enumerate(given_values)
    ]
    return metric(scores)


def close(mine: Any, oracle: Any) -> bool:
    return type(mine) is type(oracle) and (
        mine == oracle
        if isinstance(mine, str)
        else bool(np.isclose(float(mine), float(oracle), rtol=1e-9, atol=1e-12, equal_nan=True))
    )


def metrics_agree(name: str, given_values: Sequence[Any], *args: Any, **kwargs: Any) -> None:
    metadata = kwargs.pop("metadata", None)
    results: list[Any] = []
    for side in SIDES:
        metric = getattr(side, name)(*args, **kwargs)
        try:
            results.append(measured(side, metric, given_values, metadata))
        except Exception as error:  # noqa: BLE001 - the type is what is compared
            results.append(type(error).__name__)
    assert close(*results), results


scored = st.one_of(
    st.sampled_from(["C", "I", "P", "N", "yes", "x", "0.5", True, False, 0, 1, 2, 0.5, -1.5, 3.25])
)


@pytest.mark.parametrize("name", ["accuracy", "mean", "std", "stderr"])
@generated
@given(st.lists(st.one_of(scored, scored, odd, st.just([1, 2])), max_size=6))
@example([])
@example(["C"])
@example([math.nan])
@example([math.nan, 1])
@example([2.5])
def test_metrics(name: str, given_values: list[Any]) -> None:
    metrics_agree(name, given_values)
    metrics_agree(name, given_values, lambda value: 3.0 if value == "C" else 1.0)
    metrics_agree(name, given_values, to_float=lambda value: len(str(value)))


@generated
@given(
    st.lists(
        st.tuples(
            scored,
            st.sampled_from(["x", "y", "1", 1, 1.0, True, 2, "z", (1, 2), None, math.nan, ...]),
        ),
        max_size=7,
    ),
    st.booleans(),
)
@example([], False)
@example([("C", ...)], False)
@example([("C", "x"), ("I", "x")], False)
@example([("C", 1), ("I", True), ("C", "1")], False)
def test_clustered_standard_errors(pairs: list[tuple[Any, Any]], bare: bool) -> None:
    names = [pair[1] for pair in pairs]
    metadata = [{} if name is ... else {"c": name, "d": 1} for name in names]
    if bare:
        metadata = [one or None for one in metadata]
    metrics_agree("stderr", [pair[0] for pair in pairs], cluster="c", metadata=metadata)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50, 400])
def test_the_bootstrap_is_near(count: int) -> None:
    random = np.random.default_rng(count)
    for drawn in (random.integers(0, 2, count), random.normal(0, 1, count).round(3)):
        numbers_ = drawn.tolist()
        results = []
        for side in SIDES:
            np.random.seed(3)
            result = measured(side, side.bootstrap_stderr(4000), numbers_)
            assert type(result) is float
            results.append(result)
        expected = np.std(numbers_) / math.sqrt(count) if count > 1 else 0.0
        assert results == pytest.approx([expected, expected], rel=0.06)


def test_the_bootstrap_of_a_nan() -> None:
    for side in SIDES:
        assert math.isnan(measured(side, side.bootstrap_stderr(), [math.nan, 1.0]))


# --- reducers ---------------------------------------------------------------------------------

REDUCERS: Sequence[tuple[str, tuple[Any, ...]]] = (
    ("mode_score", ()),
    ("mean_score", ()),
    ("median_score", ()),
    ("max_score", ()),
    ("at_least", (1,)),
    ("at_least", (2,)),
    ("at_least", (2, 0.5)),
    ("pass_at", (0,)),
    ("pass_at", (1,)),
    ("pass_at", (2,)),
    ("pass_at", (2, 0.5)),
    ("pass_at", (4,)),
    ("pass_k", (0,)),
    ("pass_k", (1,)),
    ("pass_k", (2,)),
    ("pass_k", (2, 0.5)),
    ("pass_k", (4,)),
)

few = st.sampled_from(["C", "I", "P", "1", 1, 1.0, True, 0, False, 0.5, 2, math.nan, "x"])
of_one_shape = st.one_of(
    st.lists(few, max_size=5),
    st.lists(st.lists(few, min_size=2, max_size=2), max_size=4),
    st.lists(st.fixed_dictionaries({"a": few, "b": st.one_of(few, st.none())}), max_size=4),
    st.lists(st.one_of(st.just(math.nan), st.fixed_dictionaries({"b": few, "a": few})), max_size=4),
)
mixed = st.lists(
    st.one_of(
        few,
        st.lists(few, max_size=2),
        st.lists(few, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from("ab"), st.one_of(few, st.none()), max_size=2),
    ),
    max_size=4,
)
answers = st.sampled_from([None, "A", "A", "B"])


def reduced(
    side: Any, name: str, args: tuple[Any, ...], given_values: Sequence[Any], rest: Any
) -> Any:
    scores = [
        side.Score(value=value, answer=answer, explanation=why, metadata=more, reason=reason)
        for value, (answer, why, more, reason) in zip(given_values, rest, strict=False)
    ]
    before = [told(score) for score in scores]
    result = getattr(side, name)(*args)(scores)
    assert [told(score) for score in scores] == before
    return told(result)


@generated
@given(
    st.one_of(of_one_shape, mixed),
    st.lists(
        st.tuples(
            answers,
            answers,
            st.sampled_from([None, {"x": 1}, {}, {"unscored_reason": "r"}]),
            answers,
        ),
        min_size=5,
        max_size=5,
    ),
)
@example([], [(None, None, None, None)])
@example([math.nan, math.nan], [("A", "A", {"x": 1}, "B")] * 2)
@example([1, 1.0, True, "1"], [("A", None, None, None)] * 4)
@example([[1], [1, 2]], [("A", None, None, None)] * 2)
@example([{"a": 1}, {"b": 1}], [("A", None, None, None)] * 2)
@example([(1, 2), (1, 2)], [("A", None, None, None)] * 2)
def test_reducers(given_values: list[Any], rest: list[Any]) -> None:
    for name, args in REDUCERS:
        agree(partial(reduced, name=name, args=args, given_values=given_values, rest=rest))


@generated
@given(of_one_shape)
def test_reducers_with_a_conversion(given_values: list[Any]) -> None:
    def to_float(value: Any) -> float:
        return {"C": 3.0, "I": 0.25, "x": math.nan}.get(str(value), 1.0)

    rest = [(None, None, None, None)] * len(given_values)
    for name, args in REDUCERS:
        if name == "mode_score":
            continue
        full = (*args[:1], 1.0, to_float) if args else (to_float,)
        agree(partial(reduced, name=name, args=full, given_values=given_values, rest=rest))


def test_a_reducer_that_needs_a_count() -> None:
    for name in ("at_least", "pass_at"):
        agree(lambda side, name=name: getattr(side, name)())
