"""Decorators and the registry record what inspect_ai's record, and fail where they fail."""

from __future__ import annotations

import datetime
import enum
import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import guardtui.scorer as ours
from guardtui.scorer import reducers, registry
from tests.scorer.samples import generated, outcome, plain

pytest.importorskip("inspect_ai", minversion="0.3.285")

import inspect_ai.scorer as theirs
from inspect_ai._util import registry as their_registry
from inspect_ai.scorer._reducer import registry as their_reducers

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]


class Side:
    """The same questions to both."""

    def __init__(self, api: Any, package: str, info: Any, params: Any) -> None:
        self.api, self.package, self._info, self._params = api, package, info, params

    def name(self, made: Any) -> str:
        return str(self._info(made).name).replace(f"{self.package}/", "OWN/")

    def type(self, made: Any) -> str:
        return str(self._info(made).type)

    def params(self, made: Any) -> Any:
        return self._plain(self._params(made))

    def metadata(self, made: Any) -> Any:
        metadata = dict(self._info(made).metadata)
        metadata.pop("scores", None)
        if "metrics" in metadata:
            metadata["metrics"] = self._names(metadata["metrics"])
        return metadata

    def _names(self, metrics: Any) -> Any:
        if isinstance(metrics, dict):
            return {key: self._names(value) for key, value in metrics.items()}
        if isinstance(metrics, list | tuple):
            return [self._names(one) for one in metrics]
        return self.name(metrics)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(one) for one in value]
        if isinstance(value, str):
            return value.replace(f"{self.package}/", "OWN/")
        return value


OURS = Side(ours, "guardtui", registry.registry_info, registry.registry_params)
THEIRS = Side(theirs, "inspect_ai", their_registry.registry_info, their_registry.registry_params)
SIDES = (OURS, THEIRS)


def agree(call: Callable[[Side], Any]) -> Any:
    mine, oracle = (outcome(lambda side=side: call(side)) for side in SIDES)
    assert mine == oracle
    return mine


def told(side: Side, made: Any) -> Any:
    return {
        "name": side.name(made),
        "type": side.type(made),
        "params": side.params(made),
        "metadata": side.metadata(made),
    }


BUILT_IN: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("match", (), {}),
    ("match", ("any",), {}),
    ("match", ("end",), {"numeric": False, "ignore_case": True}),
    ("match", ("end", True), {}),
    ("match", (), {"unknown": 1}),
    ("includes", (False,), {}),
    ("includes", (), {"ignore_case": True}),
    ("pattern", ("x",), {}),
    ("pattern", (), {}),
    ("pattern", ("x", True, True), {}),
    ("answer", ("letter",), {}),
    ("answer", (), {"pattern": "word"}),
    ("answer", ("line",), {}),
    ("answer", ("paragraph",), {}),
    ("answer", (), {}),
    ("choice", (), {}),
    ("choice", (1,), {}),
    ("f1", (), {}),
    ("f1", (str.upper, ["a", "b"]), {}),
    ("f1", (), {"stop_words": ("a", "b")}),
    ("exact", (), {}),
    ("accuracy", (), {}),
    ("mean", (), {}),
    ("std", (), {}),
    ("stderr", (), {}),
    ("stderr", (), {"cluster": "c"}),
    ("bootstrap_stderr", (10,), {}),
    ("bootstrap_stderr", (), {"num_samples": 10}),
    ("mode_score", (), {}),
    ("mean_score", (), {}),
    ("median_score", (), {}),
    ("max_score", (), {}),
    ("at_least", (2,), {}),
    ("at_least", (), {"k": 2, "value": 0.5}),
    ("pass_at", (3,), {}),
    ("pass_at", (), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), BUILT_IN)
def test_built_in_names_are_equal(name: str, args: Any, kwargs: Any) -> None:
    agree(lambda side: told(side, getattr(side.api, name)(*args, **kwargs)))


@pytest.mark.parametrize("name", sorted({case[0] for case in BUILT_IN}))
def test_factories_of_built_in_names_are_equal(name: str) -> None:
    agree(lambda side: (side.name(getattr(side.api, name)), side.type(getattr(side.api, name))))


SCORERS = ("match", "includes", "pattern", "answer", "choice", "f1", "exact")


@pytest.mark.parametrize("name", SCORERS)
def test_parameters_of_the_scorers(name: str) -> None:
    def parameters(side: Side) -> Any:
        signature = inspect.signature(getattr(side.api, name))
        return [
            (parameter.name, str(parameter.kind), plain(parameter.default))
            for parameter in signature.parameters.values()
        ]

    agree(parameters)
    agree(lambda side: getattr(side.api, name).__name__)
    for side in SIDES:
        returned = inspect.get_annotations(getattr(side.api, name), eval_str=False)["return"]
        assert returned is side.api.Scorer


class Named:
    def __init__(self) -> None:
        self.name = "its name"


class Plain: ...


class Kind(enum.Enum):
    ONE = "one"


@dataclass
class Data:
    number: int = 1


class Model(BaseModel):
    number: int = 1


def function() -> None: ...


def valued(side: Side) -> list[Any]:
    return [
        1, 1.5, True, None, "x", (1, 2), [1, (2, 3)], {"a": (1,), "b": {"c": [None]}}, function,
        Named(), Plain(), Plain, len, [function, Named()], {"f": function},
        side.api.match("any"), side.api.accuracy(), [side.api.mean(), side.api.std()],
        {"m": side.api.at_least(2)}, side.api.match, b"x", 3 + 4j, [side.api.match], [Plain],
        [b"x", datetime.date(2020, 1, 1), Kind.ONE], Kind.ONE, PurePosixPath("a/b"), {1: Named()},
        Data(), [Data()], Model(), [Model()], {1, 2}, range(3), lambda: 1,
    ]  # fmt: skip


COUNT = len(valued(OURS))


@pytest.mark.parametrize("place", range(COUNT))
def test_recorded_arguments(place: int) -> None:
    def recorded(side: Side) -> Any:
        @side.api.scorer(metrics=[side.api.accuracy()], color="red")
        def custom(first: Any, second: Any = 2, *, third: Any = 3, **more: Any) -> Any:
            async def score(state: Any, target: Any) -> Any:
                return side.api.Score(value=first)

            return score

        value = valued(side)[place]
        return [
            told(side, made)
            for made in (
                custom(value), custom(1, value), custom(1, third=value), custom(1, other=value),
            )
        ]  # fmt: skip

    assert isinstance(agree(recorded), list)


def test_names_and_metadata_of_scorers() -> None:
    def of(side: Side) -> Any:
        api = side.api

        @api.scorer([api.accuracy(), {"a*": [api.mean()]}])
        def plain_one() -> Any:
            """Its words."""

            async def score(state: Any, target: Any) -> Any: ...

            return score

        @api.scorer({"x": [api.mean(), api.std()]}, "explicit", more=1)
        def another() -> Any:
            async def score(state: Any, target: Any) -> Any: ...

            return score

        @api.scorer(metrics=[], name="group/explicit")
        class Scoring:
            def __init__(self, depth: int = 1) -> None:
                self.depth = depth

            async def __call__(self, state: Any, target: Any) -> Any: ...

        @api.scorer(metrics=[api.accuracy()])
        def outer(kind: str) -> Any:
            return api.match("any")

        assert plain_one.__doc__ == "Its words."
        return [
            *(told(side, made) for made in (plain_one(), another(), Scoring(3), outer("k"))),
            *(side.name(factory) for factory in (plain_one, another, Scoring, outer)),
            plain_one.__name__, another.__name__, outer.__name__,
            str(list(inspect.signature(outer).parameters)),
        ]  # fmt: skip

    assert isinstance(agree(of), list)


def test_invalid_scorers_are_rejected() -> None:
    def make(side: Side, made: Any) -> Any:
        decorated = side.api.scorer(metrics=[])(made)
        with pytest.raises(TypeError):
            decorated()

    class Sync:
        def __call__(self, state: Any, target: Any) -> None: ...

    class Empty: ...

    def sync() -> Any:
        def score(state: Any, target: Any) -> None: ...

        return score

    def nothing() -> None:
        return None

    for side, made in itertools.product(SIDES, (Sync, Empty, sync, nothing)):
        make(side, made)
    agree(lambda side: side.api.scorer())


def test_metrics_of_ones_own() -> None:
    def of(side: Side) -> Any:
        @side.api.metric
        def bare(to: int = 1) -> Any:
            def measure(scores: Any) -> float:
                return float(to)

            return measure

        @side.api.metric("named")
        def other() -> Any:
            def measure(scores: Any) -> float:
                return 1.0

            return measure

        @side.api.metric(name="by keyword")
        class Measured:
            def __call__(self, scores: Any) -> float:
                return 2.0

        @side.api.metric()
        def called() -> Any:
            return Measured()

        results = [bare(to=3), bare(), other(), Measured(), called()]
        return [
            [(side.name(one), side.type(one), side.params(one)) for one in results],
            [one([]) for one in results],
            [side.name(one) for one in (bare, other, Measured, called)],
        ]

    assert isinstance(agree(of), list)


def test_reducers_by_name() -> None:
    def of(side: Side) -> Any:
        @side.api.score_reducer
        def bare_reducer() -> Any:
            return lambda scores: scores[0]

        @side.api.score_reducer()
        def empty_call(depth: int = 2) -> Any:
            def reduce(scores: Any) -> Any:
                return scores[-1]

            return reduce

        @side.api.score_reducer(name="top_5")
        def literal() -> Any:
            def reduce(scores: Any) -> Any:
                return scores[0]

            return reduce

        made = [bare_reducer(), empty_call(3), literal()]
        return [(side.name(one), side.type(one), side.params(one)) for one in made]

    assert isinstance(agree(of), list)


def by_name(side: Side, name: str) -> Any:
    if side is OURS:
        return reducers.reducer_by_name(name)
    return their_reducers.create_reducers(name)[0]


def log_name(side: Side, made: Any) -> str:
    if side is OURS:
        return reducers.reducer_log_name(made)
    return str(their_reducers.reducer_log_name(made))


@pytest.mark.parametrize(
    "name",
    ["mean", "median", "mode", "max", "at_least_2", "pass_at_5", "at_least", "pass_at", "unknown",
     "unknown_3", "mean_3", "at_least_x", "at_least_", "", "top_5", "at_least_02", "guardtui/x"],
)  # fmt: skip
def test_resolution_of_names(name: str) -> None:
    test_reducers_by_name()

    def of(side: Side) -> Any:
        made = by_name(side, name)
        return side.name(made), side.params(made), log_name(side, made)

    agree(of)


@generated
@given(st.integers(1, 9), st.lists(st.sampled_from(["C", "I", 1, 0.5]), min_size=1, max_size=5))
def test_reducers_by_name_reduce(k: int, values: list[Any]) -> None:
    for name in ("mean", "median", "mode", "max", f"at_least_{k}", f"pass_at_{k}"):
        agree(
            lambda side, name=name: (
                by_name(side, name)([side.api.Score(value=value) for value in values]).value
            )
        )


def test_log_names() -> None:
    for name, args in (("at_least", (3,)), ("pass_at", (2, 0.5)), ("mean_score", ())):
        agree(lambda side, name=name, args=args: log_name(side, getattr(side.api, name)(*args)))


def test_unprefixed_names_are_found() -> None:
    def of(side: Side) -> Any:
        create = registry.create if side is OURS else their_registry.registry_create
        return [told(side, create("scorer", "match", location="any")), create("metric", "mean")([])]

    assert isinstance(agree(of), list)
    with pytest.raises(LookupError):
        registry.create("scorer", "no such scorer")
    with pytest.raises(LookupError):
        their_registry.registry_create("scorer", "no such scorer")
