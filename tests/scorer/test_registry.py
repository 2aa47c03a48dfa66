"""Factories are known by name, and what they make remembers how it was made."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
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
    parse_metric,
    parse_reducer,
    parse_scorer,
    registry,
    score_reducer,
    scorer,
)
from guardtui.scorer.expression import ExpressionError
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


PLUGIN = """
from guardtui.scorer import Score, mean, metric, score_reducer, scorer

@scorer(metrics=[mean()])
def {scorer}():
    async def judge(state, target):
        return Score(value=1)
    return judge

@metric
def cost(missed=1):
    return lambda scores: missed

@score_reducer
def latest_2():
    return lambda scores: scores[-1]
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that installs a distribution with a module of scorers."""
    registry.load_own()
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    for cached in (registry.load_entry_points, registry._is_installed):
        cached.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(package: str, scorer: str = "polite") -> None:
        monkeypatch.delitem(sys.modules, package, raising=False)
        (tmp_path / f"{package}.py").write_text(PLUGIN.format(scorer=scorer), "utf-8")
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        name = package.replace("_", "-")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "top_level.txt").write_text(f"{package}\n")
        (info / "entry_points.txt").write_text(f"[guardtui.scorers]\nmine = {package}\n")
        importlib.invalidate_caches()

    return make


def test_name_of_an_installed_package_is_found_with_and_without_its_prefix(
    install: Callable[..., None],
) -> None:
    install("my_package")
    for text in ("polite()", "my_package/polite()", "my_package.polite"):
        assert registry_info(parse_scorer(text)).name == "my_package/polite"
    for text in ("cost(missed=2)", "my_package/cost(missed=2)"):
        assert registry_params(parse_metric(text)) == {"missed": 2}
    for text in ("latest_2", "my_package/latest_2"):
        assert registry_info(parse_reducer(text)).name == "my_package/latest_2"


def test_own_name_goes_before_that_of_an_installed_package(install: Callable[..., None]) -> None:
    install("my_package", scorer="match")
    importlib.import_module("my_package")
    assert lookup("scorer", "match") is match
    assert lookup("scorer", "my_package/match") is not match


def test_name_of_two_packages_is_ambiguous_and_both_are_listed(
    install: Callable[..., None],
) -> None:
    install("my_package")
    install("other_package")
    both = "write my_package/polite or other_package/polite"
    with pytest.raises(ExpressionError, match=f"several packages have a scorer .*: {both}"):
        parse_scorer("polite()")
    with pytest.raises(ExpressionError, match="several packages have a reducer"):
        parse_reducer("latest_2")
    with pytest.raises(LookupError, match="my_package/polite, other_package/polite"):
        lookup("scorer", "polite")
    assert registry_info(parse_scorer("other_package/polite()")).name == "other_package/polite"


@pytest.mark.parametrize(
    "text", ["my-package/polite('x')", "my-package.polite()", "my-own-package/a"]
)
def test_name_of_a_distribution_is_told_from_that_of_its_module(text: str) -> None:
    name = text.partition("(")[0].replace("-", "_")
    with pytest.raises(ExpressionError, match=f"write {name}, with the name of the module"):
        parse_scorer(text)


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
