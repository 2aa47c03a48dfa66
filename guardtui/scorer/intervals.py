"""Confidence intervals of the mean: by Student's t, by the bootstrap, and by Wilson."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from guardtui.scorer.decorators import metric
from guardtui.scorer.metrics import cluster_codes, clustered_error, floats
from guardtui.scorer.types import DEFAULT_TO_FLOAT, Metric, SampleScore, Value, ValueToFloat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@metric
def ci(
    level: float = 0.95,
    method: Literal["t", "bootstrap"] = "t",
    num_samples: int = 1000,
    to_float: ValueToFloat = DEFAULT_TO_FLOAT,
    cluster: str | None = None,
) -> Metric:
    """Return the bounds `lower` and `upper` of a two-sided interval of the mean, at `level`.

    "t" is the mean ± t standard errors, with n - 1 degrees of freedom. "bootstrap" has the
    percentiles of `num_samples` means of n values drawn anew, from numpy's global generator. With
    `cluster`, as in `stderr`, there are clusters - 1 degrees of freedom, and whole clusters are
    drawn. Both bounds are the value for a single score, and 0.0 without scores. Raises ValueError
    for another level or method, and for a sample without a cluster.
    """
    _require_level(level)
    if method not in ("t", "bootstrap"):
        raise ValueError(f"the method of ci is 't' or 'bootstrap', not {method!r}")
    tail = (1 - level) / 2

    def measure(scores: list[SampleScore]) -> Value:
        import numpy as np

        from guardtui.distributions import t_critical

        values = floats(scores, to_float)
        codes = None if cluster is None else cluster_codes(scores, cluster)
        if len(values) < 2:
            point = float(values[0]) if len(values) else 0.0
            return {"lower": point, "upper": point}
        if method == "bootstrap":
            means = _drawn_means(values, codes, num_samples)
            lower, upper = np.quantile(means, [tail, 1 - tail]).tolist()
            return {"lower": lower, "upper": upper}
        if codes is None:
            error, freedom = float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values) - 1
        else:
            error, freedom = clustered_error(values, codes), max(int(codes.max()), 1)
        margin = t_critical(tail, freedom) * error
        mean = float(values.mean())
        return {"lower": mean - margin, "upper": mean + margin}

    return measure


@metric
def ci_wilson(
    level: float = 0.95,
    to_float: ValueToFloat = DEFAULT_TO_FLOAT,
    cluster: str | None = None,
) -> Metric:
    """Return the bounds `lower` and `upper` of Wilson's interval of a rate, at `level`.

    The values are from 0 to 1, and their mean is taken for a share of right answers (Wilson 1927,
    J. Am. Stat. Assoc. 22). With `cluster` the number of scores is replaced by the effective one,
    p(1 - p) / the clustered variance, and z by t with clusters - 1 degrees of freedom (Korn and
    Graubard 1998, Survey Methodology 24). Both bounds are 0.0 without scores. Raises ValueError for
    another level, a value outside of 0 to 1, a sample without a cluster, and a single cluster.
    """
    _require_level(level)
    tail = (1 - level) / 2

    def measure(scores: list[SampleScore]) -> Value:
        from guardtui.distributions import t_critical

        values = floats(scores, to_float)
        for sample, value in zip(scores, values.tolist(), strict=True):
            if not 0 <= value <= 1:
                raise ValueError(
                    f"sample {sample.sample_id!r} has the value {value}, and ci_wilson needs "
                    "values from 0 to 1"
                )
        codes = None if cluster is None else cluster_codes(scores, cluster)
        if codes is not None and len(set(codes.tolist())) < 2:
            raise ValueError(f"ci_wilson needs at least two clusters of {cluster!r}")
        if not len(values):
            return {"lower": 0.0, "upper": 0.0}
        count = float(len(values))
        rate = sum(values.tolist()) / count
        critical = -NormalDist().inv_cdf(tail)
        if codes is not None:
            variance, spread = clustered_error(values, codes) ** 2, rate * (1 - rate)
            if variance > 0 and spread > 0:
                count = min(spread / variance, count)
            critical = t_critical(tail, int(codes.max()))
        square = critical**2 / count
        centre = rate + square / 2
        margin = critical * math.sqrt(rate * (1 - rate) / count + square / (4 * count))
        return {
            "lower": max((centre - margin) / (1 + square), 0.0),
            "upper": min((centre + margin) / (1 + square), 1.0),
        }

    return measure


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval is between 0 and 1, not {level}")


_DRAWN_AT_ONCE = 1_000_000
"""Number of indices drawn together, to limit the memory."""


def _drawn_means(
    values: NDArray[Any], codes: NDArray[np.intp] | None, num_samples: int
) -> NDArray[Any]:
    """Return the means of values [N], or of whole clusters, drawn anew; float64 [num_samples]."""
    import numpy as np

    if codes is None:
        sums, counts = values, np.ones(len(values))
    else:
        sums, counts = np.bincount(codes, weights=values), np.bincount(codes).astype(float)
    means = np.empty(num_samples)
    step = max(1, _DRAWN_AT_ONCE // len(sums))
    for start in range(0, num_samples, step):
        size = min(step, num_samples - start)
        drawn = np.random.randint(0, len(sums), size=(size, len(sums)))
        means[start : start + size] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return means
