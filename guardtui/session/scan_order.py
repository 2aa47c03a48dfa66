"""Order of the rows of a remote scan by a forecast, and which of them are likely to change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

DOUBTFUL = 0.1
"""A row at least this likely to change is a likely change."""


def forecast_order(
    changes: NDArray[np.floating],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all rows in the order of a scan, intp [N], and the first of them that may change.

    `changes` is the probability that the latest verdict of each row changes, [N], NaN without a
    verdict. First come rows that change with a probability of at least `DOUBTFUL`, then rows
    without a verdict: these are the likely changes. The rest follows, the most doubtful first.
    """
    new = np.isnan(changes)
    doubtful = changes >= DOUBTFUL
    part = np.where(doubtful, 0, np.where(new, 1, 2))
    rows = np.lexsort((-np.nan_to_num(changes), part)).astype(np.intp, copy=False)
    return rows, rows[: np.count_nonzero(doubtful | new)]


IN_DOUBT = 0.01
"""A check of likely changes only requests rows at least this likely to change."""


def in_doubt(changes: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which rows a scan may decide, bool [N]; `changes` is as in `forecast_order`."""
    doubtful: NDArray[np.bool_] = np.isnan(changes) | (changes >= IN_DOUBT)
    return doubtful


def teaching_order(
    changes: NDArray[np.floating], right: NDArray[np.floating], belongs: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the doubtful rows, intp [k], ordered by how much their verdict narrows coverage.

    `changes` [N] is as in `forecast_order`, `right` [N] the probability of a right verdict,
    `belongs` (bool [N]) the label. A row ranks by the share of its own variance in that of
    coverage, the smaller of two rates. Rows of a small class count more, and so do rows of the
    class whose rate is likely to be the smaller one.
    """
    variances = right * (1 - right)
    rates, spreads, counts = [], [], []
    for group in (belongs, ~belongs):
        count = max(1, int(np.count_nonzero(group)))
        rates.append(float(right[group].sum()) / count)
        spreads.append(float(variances[group].sum()) / count**2)
        counts.append(count)
    first = _probability_below(rates[0] - rates[1], math.sqrt(sum(spreads)))
    weights = np.where(belongs, first / counts[0], (1 - first) / counts[1])
    rows = np.flatnonzero(in_doubt(changes))
    order = np.argsort(-(variances * weights**2)[rows], kind="stable")
    return rows[order].astype(np.intp, copy=False)


def _probability_below(mean: float, spread: float) -> float:
    """Return the probability that a normal variable is below 0."""
    return 0.5 * math.erfc(mean / (math.sqrt(2) * max(spread, 1e-6)))
