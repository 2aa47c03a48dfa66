"""A threshold from labelled prompts, with the coverage it reaches on prompts it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.domain.late import late

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")


LABELS_AT_LEAST = 3
"""Labels that each class needs: with fewer there is nothing to hold out."""

FOLDS_AT_MOST = 10
_SMOOTH_AT_MOST = 2000
"""With more labels plain counts are smooth enough, and much cheaper."""
_PRIOR = 1.5
_WIDTH = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated threshold (as z) and how far to trust it.

    `in_sample_coverage` is of the labels that chose the threshold and flatters it;
    `held_out_coverage` is of labels that each fold's threshold has not seen.
    """

    threshold: float
    in_sample_coverage: float
    held_out_coverage: float
    labels: int
    folds: int


def coverage(z: NDArray[np.floating], label: NDArray[np.bool_], threshold: float) -> float:
    """min(TPR, TNR) when z ≥ threshold counts as belonging; NaN when a class is missing."""
    above = z >= threshold
    positives = int(label.sum())
    negatives = len(label) - positives
    if not positives or not negatives:
        return float("nan")
    return min(int((above & label).sum()) / positives, int((~above & ~label).sum()) / negatives)


def thresholds(z: NDArray[np.floating]) -> NDArray[np.float64]:
    """All thresholds that differ in effect: one below, the midpoints of distinct z, one above."""
    distinct = np.unique(np.asarray(z, np.float64))
    return np.concatenate([distinct[:1] - 1, (distinct[1:] + distinct[:-1]) / 2, distinct[-1:] + 1])


def best_coverage(z: NDArray[np.floating], label: NDArray[np.bool_]) -> tuple[float, float]:
    """The threshold with the largest coverage, and that coverage; the lowest one of equals.

    Raises ValueError when a class is missing.
    """
    _require(z, label, 1)
    at = thresholds(z)
    positive = np.sort(np.asarray(z, np.float64)[label])
    negative = np.sort(np.asarray(z, np.float64)[~label])
    rates = np.minimum(
        1 - np.searchsorted(positive, at) / len(positive),
        np.searchsorted(negative, at) / len(negative),
    )
    best = int(rates.argmax())
    return float(at[best]), float(rates[best])


def calibrate(
    z: NDArray[np.floating], label: NDArray[np.bool_], *, default: float, seed: int = 0
) -> Calibration:
    """The threshold that suits these labels, z [N] and label [N] (belongs to the topic).

    The largest smooth coverage over `thresholds`: a prompt counts by how far it lies beyond the
    threshold, so that one odd label does not move it far, and distance from `default` costs, the
    less the more labels there are. Held-out coverage is by stratified folds drawn with `seed`.
    Raises ValueError when lengths differ, z is not finite, or a class has fewer than three labels.
    """
    scores = np.asarray(z, np.float64)
    label = np.asarray(label, bool)
    _require(scores, label, LABELS_AT_LEAST)
    threshold = _choose(scores, label, default)
    random = np.random.default_rng(seed)
    count = min(FOLDS_AT_MOST, int(label.sum()), int((~label).sum()))
    fold = np.empty(len(scores), np.intp)
    for members in (np.flatnonzero(label), np.flatnonzero(~label)):
        fold[random.permutation(members)] = np.arange(len(members)) % count
    # A fold has few labels, so verdicts are pooled: coverage of a fold by itself is biased down.
    shifted = np.empty(len(scores))
    for number in range(count):
        held = fold == number
        shifted[held] = scores[held] - _choose(scores[~held], label[~held], default)
    return Calibration(
        threshold=threshold,
        in_sample_coverage=coverage(scores, label, threshold),
        held_out_coverage=coverage(shifted, label, 0.0),
        labels=len(scores),
        folds=count,
    )


def _choose(z: NDArray[np.float64], label: NDArray[np.bool_], default: float) -> float:
    at = thresholds(z)
    positive, negative = np.sort(z[label]), np.sort(z[~label])
    if len(z) > _SMOOTH_AT_MOST:
        missed = np.searchsorted(positive, at) / len(positive)
        false = 1 - np.searchsorted(negative, at) / len(negative)
    else:
        width = _WIDTH * float(z.std()) * len(z) ** -0.5 + 1e-6
        missed = _share_below(positive, at, width)
        false = 1 - _share_below(negative, at, width)
    cost = np.maximum(missed, false) + _PRIOR * (at - default) ** 2 / (len(z) * z.var() + 1e-6)
    return float(at[int(cost.argmin())])


def _share_below(
    z: NDArray[np.float64], at: NDArray[np.float64], width: float
) -> NDArray[np.float64]:
    """Share of z below each threshold, with a logistic step of this width."""
    steps: NDArray[np.float64] = 0.5 - 0.5 * np.tanh((z[None, :] - at[:, None]) / (2 * width))
    shares: NDArray[np.float64] = steps.mean(axis=1)
    return shares


def _require(z: NDArray[np.floating], label: NDArray[np.bool_], least: int) -> None:
    if len(z) != len(label):
        raise ValueError(f"{len(z)} scores but {len(label)} labels")
    if not np.isfinite(z).all():
        raise ValueError("a score is not a finite number")
    positives = int(np.count_nonzero(label))
    for count, what in ((positives, "belong"), (len(label) - positives, "do not belong")):
        if count < least:
            raise ValueError(
                f"{count} labelled prompts that {what} to the topic: at least {least} are needed"
            )
