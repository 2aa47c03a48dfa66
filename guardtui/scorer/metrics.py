"""Metrics over scores: accuracy, mean, spread and standard errors."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from guardtui.scorer.decorators import metric
from guardtui.scorer.types import (
    DEFAULT_TO_FLOAT,
    Metric,
    SampleScore,
    Value,
    ValueToFloat,
    is_unscored,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@metric
def accuracy(to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Return mean of the converted values: "P" counts a half, "N" nothing; 0.0 without scores."""

    def measure(scores: list[SampleScore]) -> Value:
        return _mean(scores, to_float)

    return measure


@metric
def mean(to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Arithmetic mean of the converted values; 0.0 without scores."""

    def measure(scores: list[SampleScore]) -> Value:
        return _mean(scores, to_float)

    return measure


def _mean(scores: list[SampleScore], to_float: ValueToFloat) -> float:
    return sum(_converted(scores, to_float)) / len(scores) if scores else 0.0


@metric
def std(to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Return standard deviation of a sample (n - 1 in the denominator); 0 for fewer than two."""

    def measure(scores: list[SampleScore]) -> Value:
        spread: Value = _deviation(scores, to_float)
        return spread

    return measure


def _deviation(scores: list[SampleScore], to_float: ValueToFloat) -> Any:
    import numpy as np

    if len(scores) < 2:
        return 0
    return np.std(floats(scores, to_float), ddof=1)


@metric
def var(to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Return variance of a sample (n - 1 in the denominator); 0 for fewer than two scores."""

    def measure(scores: list[SampleScore]) -> Value:
        import numpy as np

        spread: Value = np.var(floats(scores, to_float), ddof=1) if len(scores) > 1 else 0
        return spread

    return measure


@metric
def stderr(to_float: ValueToFloat = DEFAULT_TO_FLOAT, cluster: str | None = None) -> Metric:
    """Return standard error of the mean: std / sqrt(n); 0 for fewer than two scores.

    With `cluster`, a key of the samples' metadata, scores of one cluster may depend on each other
    (Cameron and Miller 2015, J. Human Resources 50(2), equation 11 for a mean, with C / (C - 1)).
    Raises ValueError for a sample without that key, or with None or NaN there.
    """

    def measure(scores: list[SampleScore]) -> Value:
        if cluster is None:
            error: Value = _deviation(scores, to_float) / math.sqrt(max(len(scores), 1))
            return error if len(scores) > 1 else 0
        return _clustered(scores, to_float, cluster)

    return measure


def _clustered(scores: list[SampleScore], to_float: ValueToFloat, cluster: str) -> float:
    codes = cluster_codes(scores, cluster)
    if len(scores) < 2:
        return 0.0
    return clustered_error(floats(scores, to_float), codes)


def cluster_codes(scores: list[SampleScore], cluster: str) -> NDArray[np.intp]:
    """Return the number of each score's cluster, counted from 0 in order of first occurrence.

    Raises ValueError for a sample without a value at that key of its metadata.
    """
    import numpy as np

    clusters: dict[Hashable, int] = {}
    codes = []
    for sample in scores:
        metadata = sample.sample_metadata or {}
        name = metadata.get(cluster)
        if name is None or is_unscored(name):
            raise ValueError(_without_cluster(sample, cluster))
        codes.append(clusters.setdefault(name, len(clusters)))
    return np.array(codes, np.intp)


def clustered_error(values: NDArray[Any], codes: NDArray[np.intp]) -> float:
    """Return the standard error of the mean of values [N] in clusters [N]; 0.0 for one cluster."""
    import numpy as np

    sums = np.bincount(codes, weights=values - values.mean())
    count = len(sums)
    if count < 2:
        return 0.0
    error: float = np.sqrt(np.dot(sums, sums) * count / (count - 1)) / len(values)
    return error


def _without_cluster(sample: SampleScore, cluster: str) -> str:
    metadata = sample.sample_metadata or {}
    if cluster not in metadata:
        return f"sample {sample.sample_id!r} has no {cluster!r} in its metadata"
    return f"sample {sample.sample_id!r} has {metadata[cluster]!r} as its {cluster!r}"


@metric
def bootstrap_stderr(num_samples: int = 1000, to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Return standard error of the mean by the bootstrap: n values drawn anew, `num_samples` times.

    The population standard deviation of the means of those draws (Efron 1979, Ann. Statist. 7(1)),
    from numpy's global generator. 0.0 for fewer than two scores.
    """

    def measure(scores: list[SampleScore]) -> Value:
        if len(scores) < 2:
            return 0.0
        return _bootstrapped(floats(scores, to_float), num_samples)

    return measure


_DRAWN_AT_ONCE = 160_000
"""Number of values drawn together, so that they fit the processor's cache."""


def _bootstrapped(values: NDArray[Any], num_samples: int) -> float:
    """Return the population standard deviation of the means of `num_samples` draws of n from n.

    A mean depends only on how often each *distinct* value is drawn. Few distinct values, as for
    labels, are therefore drawn by a multinomial at little cost. All randomness derives from numpy's
    global generator, which seeds the one for many draws.
    """
    import numpy as np

    total = len(values)
    levels, counts = np.unique(values, return_counts=True)
    if np.isnan(values).any():
        return math.nan
    if len(levels) * 8 < total:
        drawn = np.random.multinomial(total, counts / total, size=num_samples)
        return float(np.std(drawn @ levels / total))
    seed = np.random.randint(0, 2**32, size=4, dtype=np.uint32)
    source = np.random.SFC64(np.random.SeedSequence(seed.tolist()))
    means = np.empty(num_samples)
    step = max(1, _DRAWN_AT_ONCE // total)
    for start in range(0, num_samples, step):
        count = min(step, num_samples - start)
        # 32 random bits times n, shifted: an index from 0 to n - 1 (Lemire 2019, "Fast Random
        # Integer Generation in an Interval"), even to one part in 2^32 / n.
        bits = source.random_raw((count * total + 1) // 2).view(np.uint32)[: count * total]
        indices = bits.astype(np.uint64)
        indices *= np.uint64(total)
        indices >>= np.uint64(32)
        drawn = values.take(indices.view(np.int64)).reshape(count, total)
        means[start : start + step] = drawn.mean(axis=1)
    return float(np.std(means))


def floats(scores: list[SampleScore], to_float: ValueToFloat) -> NDArray[Any]:
    """Return the converted values, float64 [N]."""
    import numpy as np

    return np.array(_converted(scores, to_float), np.float64)


def _converted(scores: list[SampleScore], to_float: ValueToFloat) -> list[float]:
    if to_float is not DEFAULT_TO_FLOAT:
        return [to_float(sample.score.value) for sample in scores]
    # Fast path: reducers give floats, which need no conversion.
    return [
        value if type(value := sample.score.value) is float else to_float(value)
        for sample in scores
    ]
