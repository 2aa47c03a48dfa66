"""Metrics against what is worked out by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from guardtui.scorer import (
    SampleScore,
    Score,
    accuracy,
    bootstrap_stderr,
    ci,
    ci_wilson,
    grouped,
    krippendorff_alpha,
    mean,
    std,
    stderr,
    var,
)


def scores(values: Sequence[Any], clusters: Sequence[Any] | None = None) -> list[SampleScore]:
    return [
        SampleScore(
            score=Score(value=value),
            sample_metadata=None if clusters is None else {"c": clusters[index]},
        )
        for index, value in enumerate(values)
    ]


@pytest.mark.parametrize("metric", [accuracy(), mean()])
def test_means(metric: Callable[[list[SampleScore]], Any]) -> None:
    assert metric(scores(["C", "P", "N", "I"])) == 0.375
    assert metric([]) == 0.0
    assert math.isnan(metric(scores([1, math.nan])))


def test_spread() -> None:
    assert std()(scores([1, 2, 3, 4])) == pytest.approx(math.sqrt(5 / 3))
    assert stderr()(scores([1, 2, 3, 4])) == pytest.approx(math.sqrt(5 / 3) / 2)
    for metric in (std(), stderr()):
        assert metric(scores([5])) == 0
        assert metric([]) == 0


def test_clusters() -> None:
    # m = 0.5; the clusters' sums of differences are 1 and -1: sqrt(2 * 2 / 1) / 4.
    both = scores([1, 1, 0, 0], ["a", "a", "b", "b"])
    assert stderr(cluster="c")(both) == pytest.approx(0.5)
    alone = scores([1, 1, 0, 0], [1, 2, 3, 4])
    assert stderr(cluster="c")(alone) == pytest.approx(stderr()(alone))
    assert stderr(cluster="c")(scores([1, 0], [1, True])) == 0.0


@pytest.mark.parametrize("clusters", [None, [None], [math.nan]])
def test_a_sample_without_a_cluster(clusters: Any) -> None:
    with pytest.raises(ValueError, match="'c'"):
        stderr(cluster="c")(scores([1], clusters))


@pytest.mark.parametrize("values", [[0, 1] * 40, list(np.linspace(0, 1, 80))])
def test_bootstrap(values: list[float]) -> None:
    np.random.seed(1)
    assert bootstrap_stderr(5000)(scores(values)) == pytest.approx(
        np.std(values) / math.sqrt(len(values)), rel=0.05
    )
    assert bootstrap_stderr()(scores([1])) == 0.0


def test_variance_is_the_square_of_the_deviation() -> None:
    assert var()(scores([1, 2, 3, 6])) == pytest.approx(14 / 3)
    assert var()(scores([1])) == var()(scores([])) == 0


def test_intervals() -> None:
    # R 4.3: t.test(c(1, 0, 0, 1, 1))$conf.int; Wilson 1927 by prop.test(3, 5, correct=FALSE).
    right = scores(["C", "I", "I", "C", "C"])
    assert ci()(right) == pytest.approx({"lower": -0.0801, "upper": 1.2801}, abs=1e-4)
    assert ci_wilson()(right) == pytest.approx({"lower": 0.2307, "upper": 0.8824}, abs=1e-4)
    assert ci()(scores(["P"])) == {"lower": 0.5, "upper": 0.5}
    assert ci()([]) == ci_wilson()([]) == {"lower": 0.0, "upper": 0.0}
    alike = ci(cluster="c")(scores([1, 1, 0, 0], ["a", "a", "b", "b"]))
    assert alike["lower"] < ci()(scores([1, 1, 0, 0]))["lower"]
    drawn: Any = ci(0.5, "bootstrap", 400)(scores([0, 1] * 50))
    assert 0.45 < drawn["lower"] < 0.5 < drawn["upper"] < 0.55


@pytest.mark.parametrize("make", [lambda: ci(0), lambda: ci(1), lambda: ci_wilson(1.5)])
def test_a_level_is_between_0_and_1(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        make()


def test_wilson_needs_rates_and_two_clusters() -> None:
    with pytest.raises(ValueError, match="values from 0 to 1"):
        ci_wilson()(scores([2]))
    with pytest.raises(ValueError, match="at least two clusters"):
        ci_wilson(cluster="c")(scores([1, 0], ["a", "a"]))


def test_groups() -> None:
    rows = scores([1, 0, 1], ["a", "a", "b"])
    assert grouped(mean(), "c")(rows) == {"a": 0.5, "b": 1.0, "all": pytest.approx(2 / 3)}
    assert grouped(mean(), "c", all="groups")(rows) == {"a": 0.5, "b": 1.0, "all": 0.75}
    assert grouped(mean(), "c", all=False, name_template="cat {group_name}")(rows) == {
        "cat a": 0.5, "cat b": 1.0,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"sample None has no .dog. in its metadata"):
        grouped(mean(), "dog")(rows)
    with pytest.raises(ValueError, match="a group has the name 'a'"):
        grouped(mean(), "c", all_label="a")(rows)


def test_agreement_of_raters(caplog: pytest.LogCaptureFixture) -> None:
    # The first two examples of Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability".
    binary, named = (
        zip("0100000010", "1110010000", strict=True),
        zip("aabbdcccedda", "babbbccceddd", strict=True),
    )
    assert krippendorff_alpha()(scores(list(map(list, binary)))) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha()(scores(list(map(list, named)))) == pytest.approx(0.692, abs=5e-4)
    assert krippendorff_alpha()(scores([["C", "C"], ["I", "I"]])) == 1.0
    assert krippendorff_alpha("interval")(scores([[1, 2], [4, 4]])) == pytest.approx(8 / 9)
    assert caplog.messages == []
    assert math.isnan(krippendorff_alpha()(scores(["C", ["C"]])))  # type: ignore[arg-type]
    assert len(caplog.messages) == 2
    with pytest.raises(ValueError, match="the rating 'C' is not a number"):
        krippendorff_alpha("ordinal")(scores([["C", "I"]]))


def test_a_conversion_of_ones_own() -> None:
    assert accuracy(lambda value: 7.0)(scores(["C", "I"])) == 7.0
    assert stderr(lambda value: 7.0)(scores(["C", "I"])) == 0.0


@pytest.mark.process
def test_numpy_is_loaded_only_when_it_is_needed() -> None:
    script = (
        "import sys\n"
        "from guardtui.scorer import *\n"
        "import guardtui.scorer as api\n"
        "[getattr(api, name) for name in api.__all__]\n"
        "accuracy()([SampleScore(score=Score(value='C'))])\n"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "guardtui.scorer.metrics" in loaded
    assert not loaded & {"numpy", "scipy", "polars", "textual", "httpx", "click"}
    ours = {name for name in loaded if name.startswith("guardtui")}
    assert not {name for name in ours if not name.startswith(("guardtui.scorer", "guardtui"))}
    assert {name for name in ours if not name.startswith("guardtui.scorer")} == {"guardtui"}
