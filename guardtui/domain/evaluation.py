"""One evaluation: a topic, held by a scanner against labelled prompts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.separation import Placements, Separation, placements, separation
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts, outcomes

ENGINE = "local"
"""Name of the embedded engine among the scanners."""


@dataclass(frozen=True, slots=True)
class ScannerSettings:
    """What answered, as far as verdicts depend on it.

    `identity` names engine, model and version: verdicts of different identities cannot be
    compared without saying so. `threshold` is a score from 0 to 1 (None where the scanner has
    none) and `threshold_source` is `shipped`, `by hand`, `fitted to …` or empty. `revision` says
    what of a remote guardrail judged; it changes with every definition and hinders no comparison.
    """

    name: str
    identity: str
    threshold: float | None = None
    threshold_source: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationKey:
    """What an evaluation belongs to: definition, scanner settings and prompt set.

    Whether a result is still about what is being edited is decided by comparing keys.
    `prompt_set` is `PromptSet.fingerprint`.
    """

    topic: Topic
    settings: ScannerSettings
    prompt_set: str

    def same_subject(self, topic: Topic, prompt_set: str) -> bool:
        """Whether it is of this definition and these prompts, by whatever scanner."""
        return self.topic == topic and self.prompt_set == prompt_set


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Verdicts for every prompt and what they are worth; all columns have shape [N].

    `keys` (uint64) name the prompts by content, `expected` (bool) are the labels as they were
    when it ran, so that an evaluation can be read and compared without its prompt set.
    """

    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    verdicts: Verdicts

    @property
    def key(self) -> EvaluationKey:
        """What it belongs to."""
        return EvaluationKey(self.topic, self.settings, self.prompt_set)

    @property
    def should_trigger(self) -> NDArray[np.bool_]:
        """Labels as the guardrail's duty, bool [N]: `expected`, or its opposite for allow."""
        return should_trigger(self.expected, self.topic.intent)

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """Outcome codes, int8 [N]."""
        return outcomes(self.should_trigger, self.verdicts.triggered)

    @cached_property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of(self.codes)

    @property
    def is_of_a_part(self) -> bool:
        """Whether it is of a fair sample only, since the engine has not embedded the other prompts.

        The embedded engine leaves no prompt open otherwise.
        """
        return self.settings.name == ENGINE and self.metrics.open > 0

    @cached_property
    def placements(self) -> Placements | None:
        """How the scores place the two classes; None without a threshold, scores or a class."""
        if self.settings.threshold is None:
            return None
        return placements(self.verdicts.score, self.expected)

    @cached_property
    def separation(self) -> Separation | None:
        """How well the scores tell the classes apart, whatever the threshold; None as above."""
        return None if self.placements is None else separation(self.placements)


def should_trigger(expected: NDArray[np.bool_], intent: Intent) -> NDArray[np.bool_]:
    """Whether the guardrail ought to fire, bool [N], from the labels (bool [N])."""
    return expected if intent is Intent.BLOCK else ~expected
