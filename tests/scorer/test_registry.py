"""Factories are known by name, and what they make remembers how it was made."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from guardtui.scorer import (
    Scorer,
    accuracy,
    answer,
    choice,
    f1,
    match,
    mean,
    metric,
    score_reducer,
    scorer,
)
from guardtui.scorer.registry import (
    create,
    is_registered,
    lookup,
    names,
    registry_info,
    registry_params,
)


def test_built_in_names() -> None:
    made = match("any")
    assert (registry_info(made).name, registry_info(made).type) == ("guardtui/match", "scorer")
    assert registry_params(made) == {"location": "any"}
    assert [registry_info(one).name for one in registry_info(made).metadata["metrics"]] == [
        "guardtui/accuracy",
        "guardtui/stderr",
    ]
    assert registry_params(answer("letter")) == {"pattern": "letter"}
    assert lookup("scorer", "f1") is f1
    assert lookup("scorer", "choice") is choice
    assert {"match", "f1", "choice"} <= set(names("scorer"))


def test_by_name() -> None:
    assert lookup("scorer", "match") is lookup("scorer", "guardtui/match")
    assert registry_params(create("scorer", "match", "begin")) == {"location": "begin"}
    with pytest.raises(LookupError, match="'nothing'"):
        lookup("metric", "nothing")


@pytest.mark.process
def test_names_are_found_in_a_fresh_interpreter() -> None:
    import subprocess
    import sys

    script = "from guardtui.scorer.registry import create\nprint(create('scorer', 'f1'))"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_scorer_of_ones_own() -> None:
    @scorer(metrics=[accuracy()], color="red")
    def mine(first: Any, second: int = 2, **more: Any) -> Any:
        """Its words."""

        async def score(state: Any, target: Any) -> None: ...

        return score

    made = mine(("a", match("any")), other=len)
    assert registry_info(made).name == "mine"
    assert registry_info(made).metadata["color"] == "red"
    assert registry_params(made) == {
        "first": ["a", {"type": "scorer", "name": "match", "params": {"location": "any"}}],
        "other": "len",
    }
    assert (mine.__name__, mine.__doc__) == ("mine", "Its words.")
    assert list(inspect.signature(mine).parameters) == ["first", "second", "more"]
    assert inspect.get_annotations(mine)["return"] is Scorer
    with pytest.raises(TypeError):
        mine()  # type: ignore[call-arg]


def test_the_outer_factory_owns_what_the_inner_one_made() -> None:
    @scorer(metrics=[mean()], name="outer")
    def wrapping(kind: str) -> Any:
        return match("any")

    made = wrapping("x")
    assert (registry_info(made).name, registry_params(made)) == ("outer", {"kind": "x"})


def test_scorer_that_is_not_async_is_rejected() -> None:
    class Sync:
        def __call__(self, state: Any, target: Any) -> None: ...

    def nothing() -> None:
        return None

    for factory in (Sync, nothing):
        decorated = scorer(metrics=[])(factory)
        with pytest.raises(TypeError, match="async"):
            decorated()


def test_metrics_and_reducers_of_ones_own() -> None:
    @metric("share")
    def measuring(of: int = 1) -> Any:
        def measure(scores: Any) -> float:
            return float(of)

        return measure

    @score_reducer(name="first_1")
    def first() -> Any:
        def reduce(scores: Any) -> Any:
            return scores[0]

        return reduce

    assert registry_info(measuring(of=3)).name == "share"
    assert registry_params(measuring(of=3)) == {"of": 3}
    assert registry_info(first()).name == "first_1"
    assert not is_registered(len)
    with pytest.raises(ValueError, match="not made"):
        registry_info(len)
