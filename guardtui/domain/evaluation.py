"""One evaluation: the verdicts of a scanner for a topic on labelled prompts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import ENGINE, ScannerSettings
from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.separation import Placements, Separation, placements, separation
from guardtui.domain.statistics import Interval, rate_intervals
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts, outcomes


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """Subject of an evaluation: definition, scanner settings and prompt set.

    An evaluation is up to date if its key equals the key of what is being edited. `prompt_set` is
    `PromptSet.fingerprint`.
    """

    topic: Topic
    settings: ScannerSettings
    prompt_set: str

    def same_subject(self, topic: Topic, prompt_set: str) -> bool:
        """Return whether it is about this definition and these prompts, for any scanner."""
        return self.topic == topic and self.prompt_set == prompt_set


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Verdicts for every prompt, with labels and metrics; all columns have shape [N].

    `keys` (uint64) identify the prompts by content. `expected` (bool) are the labels at the time it
    ran, so that an evaluation can be read and compared without its prompt set.
    """

    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    verdicts: Verdicts

    @property
    def key(self) -> EvaluationKey:
        """The key that says what this evaluation is about."""
        return EvaluationKey(self.topic, self.settings, self.prompt_set)

    def equals(self, other: Evaluation) -> bool:
        """Return whether another evaluation is about the same, with the same verdicts."""
        return self.key == other.key and np.array_equal(
            self.verdicts.triggered, other.verdicts.triggered
        )

    @property
    def should_trigger(self) -> NDArray[np.bool_]:
        """Return which prompts should trigger, bool [N]: `expected`; for allow the others."""
        return should_trigger(self.expected, self.topic.intent)

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """Outcome codes, int8 [N]."""
        return outcomes(self.should_trigger, self.verdicts.triggered)

    @cached_property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of(self.codes)

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """95 % intervals of coverage (for new prompts), TPR and TNR, by name in `Metrics`."""
        return rate_intervals(self.metrics, fitted=self.settings.has_fitted_threshold)

    def rate(self, name: str) -> float | None:
        """Return a rate of all prompts by its name in `Metrics`; None while prompts are open.

        Those asked so far may be chosen, such as the likely changes: their rate is another one.
        """
        value: float | None = None if self.metrics.open else getattr(self.metrics, name)
        return value

    @property
    def coverage_interval(self) -> Interval | None:
        """The 95 % interval of the `rate` of coverage."""
        return None if self.metrics.open else self.intervals["coverage"]

    @property
    def answered_text(self) -> str:
        """How many prompts have a verdict, `50 of 198 answered`; "" if none is open."""
        metrics = self.metrics
        return f"{metrics.total:,} of {metrics.prompts:,} answered" if metrics.open else ""

    @property
    def is_of_a_part(self) -> bool:
        """Return whether it covers a random sample only: other prompts are not embedded yet.

        Only then does the engine leave prompts open.
        """
        return self.settings.kind == ENGINE and self.metrics.open > 0

    @cached_property
    def placements(self) -> Placements | None:
        """Placement of the two classes' scores; None without a threshold, scores or a class."""
        if self.settings.threshold is None:
            return None
        return placements(self.verdicts.score, self.expected)

    @cached_property
    def separation(self) -> Separation | None:
        """Separation of the classes by scores, at any threshold; None like `placements`."""
        return None if self.placements is None else separation(self.placements)


def should_trigger(expected: NDArray[np.bool_], intent: Intent) -> NDArray[np.bool_]:
    """Return whether the guardrail should trigger, bool [N], from the labels (bool [N])."""
    return expected if intent is Intent.BLOCK else ~expected
