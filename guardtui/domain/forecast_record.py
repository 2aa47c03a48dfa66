"""What was forecast of a scan: before it, to be held against it later, and by a check of flips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.figures import count_text


@dataclass(frozen=True, eq=False)
class ForecastBefore:
    """A forecast made before a scan, from `scans` earlier ones with `verdicts` verdicts.

    `rates` are by the names of `estimates.BOUNDED_RATES`, None where one has no class. `triggers`
    is the probability of each prompt to trigger, float32 [N], in the order of the evaluation.
    """

    rates: Mapping[str, RateEstimate | None]
    scans: int
    verdicts: int
    triggers: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CheckedCoverage:
    """Coverage as a check of the likely flips leaves it: expected, from all verdicts there are.

    Half of its 95 % interval was to be at most `within`, with at most `most_calls` calls; `ended`
    says in words why the check ended.
    """

    coverage: RateEstimate
    within: float
    calls: int
    most_calls: int
    ended: str

    @property
    def text(self) -> str:
        """All of it in a line."""
        rate = self.coverage
        half = (rate.high - rate.low) / 2
        wanted = f" (wanted ±{self.within:g})" if self.within else ""
        return (
            f"coverage expected at {rate.value:.3f} [{rate.low:.3f} – {rate.high:.3f}], ±{half:.3f}"
            f"{wanted} after {count_text(self.calls, 'call')}; {self.ended}"
        )
