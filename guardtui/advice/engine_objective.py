"""The engine as the objective, its operating point fitted to each definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate
from guardtui.advice.engine_scores import EngineScores
from guardtui.advice.objective import (
    Appraisal,
    Array,
    OwnPrompts,
    Rows,
    Stopped,
)
from guardtui.advice.smoothed_coverage import (
    cautious_coverage,
    fitted_cuts,
    smoothing,
    soft_matches,
)
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic

_CELLS = 1 << 20  # maximum size of a matrix of scores
_SHOWN = 64  # candidates between two checks of `stopped`


class EngineObjective:
    """Measures definitions by the engine, on some prompts of a set.

    A fitted threshold is refitted to each definition, so that an edit that only shifts all scores
    gains nothing. Not thread-safe.
    """

    def __init__(
        self, scores: EngineScores, rows: Rows, *, fitted: bool, sources: Rows | None = None
    ) -> None:
        self.prompts, self.rows = scores.prompts, rows
        self.sources = scores.example_rows(rows) if sources is None else sources
        self._scores, self._fitted = scores, fitted
        self._belongs = self.prompts.expected[rows]
        self._own = OwnPrompts(self.prompts, rows)
        smaller = min(int(self._belongs.sum()), int((~self._belongs).sum()))
        self._width = smoothing(smaller)

    @property
    def settings(self) -> ScannerSettings:
        """The engine and its threshold."""
        return self._scores.settings

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        """Return a cautious coverage of each candidate, [c]; None if stopped."""
        values = np.empty(len(candidates))
        if self._scores.learn([candidate.topic for candidate in candidates], stopped) is None:
            return None
        step = max(1, min(_SHOWN, _CELLS // max(len(self.rows), 1)))
        for start in range(0, len(candidates), step):
            part = candidates[start : start + step]
            z = self._scores.z([candidate.topic for candidate in part], self.rows, stopped)
            if z is None or stopped():
                return None
            values[start : start + step] = self._worth(z, self._own.counted(part))[0]
        return values

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal | None:
        """Return the appraisal of one definition; None if stopped."""
        scores = self._scores.z([candidate.topic], self.rows, stopped)
        if scores is None:
            return None
        counted = self._own.counted([candidate])
        _, cuts = self._worth(scores, counted)
        soft = soft_matches(scores, cuts, self._width)[0]
        z, cut = scores[0], float(cuts[0])
        return Appraisal(soft, z >= cut, counted[0], z, cut)

    def on(self, rows: Rows) -> EngineObjective:
        """Return the engine as the objective on other rows of the set."""
        sources = self.sources[np.isin(self.sources, rows)]
        return EngineObjective(self._scores, rows, fitted=self._fitted, sources=sources)

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether other prompts of the set match at the appraised cut, bool [n]."""
        z = self._scores.z([topic], rows)
        assert z is not None  # noqa: S101 - nothing stops it
        assert appraisal.cut is not None  # noqa: S101 - it is one of the engine
        matches: NDArray[np.bool_] = z[0] >= appraisal.cut
        return matches

    def _worth(self, z: Array, counted: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the cautious coverage and the cut of each row of z [c, n]."""
        ours = (counted & self._belongs).astype(np.float64)
        theirs = (counted & ~self._belongs).astype(np.float64)
        if self._fitted:
            cuts = fitted_cuts(z, ours, theirs)
        else:
            cuts = np.full(len(z), float(self._scores.cut))
        return cautious_coverage(soft_matches(z, cuts, self._width), ours, theirs), cuts
