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
    mean,
    std,
    stderr,
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
