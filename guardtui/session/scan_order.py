"""Order of the rows of a remote scan after an edit, and which of them are likely to change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT
from guardtui.domain.verdicts import Outcome, is_wrong

LIKELY_MOVE = 0.065
"""A row with a larger `movement` is a likely change; chosen by benchmarks/scan_order.py."""

# Both were chosen by the same measurement, where 0.1 and 5 do nearly as well.
_UNSEEN = 0.3  # log odds by which a service moves without any movement of the embedded engine
_MISTAKE = (
    3  # an earlier mistake changes as often as a correct row that moved this many times farther
)

_SMALLEST = 1e-6  # scores are clipped to this distance from 0 and 1


DOUBTFUL = 0.1
"""With a forecast, a row at least this likely to change is a likely change."""


@dataclass(frozen=True, eq=False)
class ScanOrder:
    """A permutation of all rows, intp [N]; the first `likely` are likely changes."""

    rows: NDArray[np.intp]
    likely: int

    @property
    def likely_rows(self) -> NDArray[np.intp]:
        """The rows of a scan of the likely changes only, intp [likely]."""
        return self.rows[: self.likely]


def movement(
    before: NDArray[np.float32], after: NDArray[np.float32], threshold: float
) -> NDArray[np.float32]:
    """Return how far each row moved across an edit, weighted by its effect: float32 [N] ≥ 0.

    `before` and `after` are the embedded engine's scores (float32 [N], from 0 to 1), `threshold`
    its threshold (strictly between 0 and 1). The distance is in log odds. It counts fully at the
    threshold, and less the farther the nearer end is from it: p·(1 − p)·(distance + constant), p
    the score relative to threshold ½. NaN if a score is NaN. Raises ValueError for an invalid
    threshold, or if the shapes differ.
    """
    if before.shape != after.shape:
        raise ValueError(f"{before.shape} scores before, {after.shape} after")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold {threshold}")
    offset = np.log(threshold / (1 - threshold))

    def log_odds(score: NDArray[np.float32]) -> NDArray[np.float64]:
        inside = np.clip(score.astype(np.float64), _SMALLEST, 1 - _SMALLEST)
        odds: NDArray[np.float64] = np.log(inside / (1 - inside)) - offset
        return odds

    baseline_odds, current_odds = log_odds(before), log_odds(after)
    # p·(1 − p) = ¼ / cosh²(z / 2), largest where the score comes nearest to the threshold.
    nearest = np.minimum(np.abs(baseline_odds), np.abs(current_odds))
    weight = 0.25 / np.cosh(nearest / 2) ** 2
    effect: NDArray[np.float32] = (
        weight * (np.abs(current_odds - baseline_odds) + _UNSEEN)
    ).astype(np.float32)
    effect[before == after] = 0.0
    return effect


def scan_order(
    moved: NDArray[np.float32] | None,
    flipped: NDArray[np.bool_] | None,
    earlier: NDArray[np.int8],
    cut: float = LIKELY_MOVE,
) -> ScanOrder:
    """Return the order in which to request rows from a remote scanner after an edit.

    `moved` is the embedded engine's `movement` across the edit (float32 [N], NaN if unknown),
    `flipped` says where its verdict changed (bool [N]). `earlier` are the outcomes of the remote
    scanner's last scan with current labels (int8 [N]; ABSENT for new prompts, ERROR and OPEN for
    prompts without a verdict, as in `comparison.codes_for`).

    First come rows that flipped or moved more than `cut`, the largest movement first; an earlier
    mistake counts as moved farther. Then come rows without a verdict, then the other earlier
    mistakes. All these are likely changes. The rest follows, the largest movement first. Equal rows
    stay in row order. Without `moved`, every row is a likely change, since nothing is known about
    the effect of the edit. Raises ValueError if the shapes differ.
    """
    total = len(earlier)
    for column in (moved, flipped):
        if column is not None and column.shape != earlier.shape:
            raise ValueError(f"{column.shape} moves, {earlier.shape} outcomes")
    wrong = is_wrong(earlier)
    distance = np.zeros(total, np.float32)
    if moved is not None:
        distance = np.where(np.isnan(moved), np.float32(np.inf), np.abs(moved))
    changed = distance > cut
    if flipped is not None:
        changed |= flipped
    distance[wrong] *= np.float32(_MISTAKE)
    part = np.full(total, 3, np.int8)
    part[wrong] = 2
    part[(earlier >= Outcome.ERROR) | (earlier == ABSENT)] = 1
    part[changed] = 0
    rows = np.lexsort((-distance, part)).astype(np.intp, copy=False)
    return ScanOrder(rows, total if moved is None else int(np.count_nonzero(part < 3)))


def forecast_order(changes: NDArray[np.floating], cut: float = DOUBTFUL) -> ScanOrder:
    """Return the order in which to request rows from a scanner whose answers are forecast.

    `changes` is the probability that the latest verdict of each row changes, [N], NaN without a
    verdict. First come rows that change with a probability of at least `cut`, then rows without a
    verdict: these are the likely changes. The rest follows, the most doubtful first.
    """
    new = np.isnan(changes)
    doubtful = changes >= cut
    part = np.where(doubtful, 0, np.where(new, 1, 2))
    rows = np.lexsort((-np.nan_to_num(changes), part)).astype(np.intp, copy=False)
    return ScanOrder(rows, int(np.count_nonzero(doubtful | new)))


IN_DOUBT = 0.01
"""A check of likely flips only requests rows at least this likely to change."""


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
    rows = np.flatnonzero(np.isnan(changes) | (changes >= IN_DOUBT))
    order = np.argsort(-(variances * weights**2)[rows], kind="stable")
    return rows[order].astype(np.intp, copy=False)


def _probability_below(mean: float, spread: float) -> float:
    """Return the probability that a normal variable is below 0."""
    return 0.5 * math.erfc(mean / (math.sqrt(2) * max(spread, _SMALLEST)))
