"""Records of a forecast: made before a scan, by a check, and compared with scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.figures import count_text


@dataclass(frozen=True, eq=False)
class ForecastBefore:
    """A forecast made before a scan, from `verdicts` verdicts of `scans` earlier scans.

    `rates` are by the names of `estimates.BOUNDED_RATES`, None if the class has no rows. `triggers`
    is the trigger probability of each prompt, float32 [N], in the order of the evaluation.
    """

    rates: Mapping[str, RateEstimate | None]
    scans: int
    verdicts: int
    triggers: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CheckedCoverage:
    """Expected coverage in a check of likely changes, computed from all verdicts at hand.

    The goal is half a 95 % interval of at most `within`, with at most `most_calls` calls. `ended`
    says why the check ended; "" while it runs.
    """

    coverage: RateEstimate
    within: float
    calls: int
    most_calls: int
    ended: str

    @property
    def text(self) -> str:
        """The expected coverage, the calls, and why the check ended, in one line."""
        wanted = f" (wanted ±{self.within:g})" if self.within else ""
        reason = f"; {self.ended}" if self.ended else ""
        calls = count_text(self.calls, "call")
        return f"coverage expected at {self.coverage.text} after {calls}{wanted}{reason}"


@dataclass(frozen=True, slots=True)
class Repeats:
    """Prompts that were judged twice at the same definition, and how many answers differed."""

    pairs: int
    differing: int


@dataclass(frozen=True, slots=True)
class WrongVerdicts:
    """Wrong verdicts among `prompts`: of the forecast, the last verdicts, and the engine."""

    prompts: int
    forecast: int
    last_verdicts: int
    engine: int


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Prompts with a probability to trigger from `low` to `high`.

    `expected` is the sum of these probabilities, `triggered` the number of prompts that did
    trigger.
    """

    low: float
    high: float
    prompts: int
    expected: float
    triggered: int
