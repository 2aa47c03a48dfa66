"""Near misses of a prompt set: negatives that are similar to its positives, or their absence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent
from guardtui.scanners.base import Report
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner

CODE = "no-near-misses"
"""Code of the finding."""

NEAR = 0.35
"""Cosine to the nearest positive from which a negative is a near miss."""

SHARE = 0.01
"""Minimum share of near misses; a smaller one is reported.

Measured on 123 sets: the three samples, a set about fraud by guardrail authors, and 119 made of
Banking77, CLINC150 and others with half of the negatives adjacent; halves of them agree. With
`minilm`, 3 of these are reported (none of the first four), and 116 if their negatives are replaced
by ten questions about soup, a world cup and cats. With `static`: none, and 110. The sets that are
not reported then are about food, travel and similar topics.
"""

_NAMED = 3
_SHOWN = 60
_COMPARED = 5_000  # of each class; larger classes are sampled
_BLOCK = 1_024
_SEED = 11


def near_miss_finding(
    scanner: LocalScanner,
    prompts: PromptSet,
    report: Report = lambda progress: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Finding | None:
    """Return the finding that the negatives are far from the topic; None if not, or if stopped.

    Embeds the prompts that are not embedded yet. Raises ScannerError if the encoder cannot be
    loaded.
    """
    known = scanner.prompt_vectors(prompts, report, stopped)
    if known is None:
        return None
    nearness = nearest_positives(known.matrix, prompts.expected, stopped)
    if nearness is None:
        return None
    rows, cosines = nearness
    near = int(np.count_nonzero(cosines >= NEAR))
    if not len(rows) or near > SHARE * len(rows):
        return None
    order = np.argsort(-cosines, kind="stable")[:_NAMED]
    nearest = [
        f"“{display_start(str(prompts.prompts[int(rows[index])]), _SHOWN)}” ({cosines[index]:.2f})"
        for index in order.tolist()
    ]
    lines = prompts.frame["line"].gather(np.sort(rows[order])).to_list()
    few = f"only {near}" if near else "none"
    rate = "TNR" if prompts.intent is Intent.BLOCK else "TPR"
    message = (
        f"no near misses: {few} of {len(rows)} prompts that do not belong "
        f"{'comes' if near < 2 else 'come'} near one that does (similarity {NEAR:.2f} or more). "
        f"Nearly any definition tells such prompts apart, so {rate} is flattered: add prompts with "
        "the topic's own words and another intent. "
        f"The nearest: {', '.join(nearest)}"
    )
    return Finding(Severity.WARNING, CODE, message, tuple(map(int, lines)))


def nearest_positives(
    matrix: PromptMatrix, expected: NDArray[np.bool_], stopped: Callable[[], bool] = lambda: False
) -> tuple[NDArray[np.intp], NDArray[np.float32]] | None:
    """Return rows of negatives (intp [n], ascending), each with its cosine to the nearest positive.

    `expected` (bool [N]) are the labels. A class of more than 5 000 is sampled, the same way each
    time. Without positives all cosines are −1. Returns None if stopped.
    """
    positives, negatives = _some(np.flatnonzero(expected)), _some(np.flatnonzero(~expected))
    cosines = np.full(len(negatives), -1, np.float32)
    if not len(positives):
        return negatives, cosines
    vectors = matrix.vectors(positives)
    for start in range(0, len(negatives), _BLOCK):
        if stopped():
            return None
        part = negatives[start : start + _BLOCK]
        cosines[start : start + _BLOCK] = matrix.products(vectors, part).max(axis=0)
    return negatives, cosines


def _some(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return all rows, or a sample that is compared in well under a second."""
    if len(rows) <= _COMPARED:
        return rows
    return np.sort(np.random.default_rng(_SEED).choice(rows, _COMPARED, replace=False))
