"""Edits that correct one mistake, with what else each of them changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, Material, candidates
from guardtui.advice.edit_worth import metrics_of_matches
from guardtui.advice.effects import DefinitionVerdicts
from guardtui.advice.objective import OwnPrompts, Stopped, unchanged
from guardtui.domain.metrics import Metrics
from guardtui.domain.topic import Topic


@dataclass(frozen=True, eq=False)
class Correction:
    """An edit that corrects the verdict of a prompt, or makes the prompt an example.

    `before` and `after` are metrics of the two definitions on the prompts that neither has as an
    example; `fixes` and `regressions` count those that become right and wrong.
    """

    edit: Candidate
    before: Metrics
    after: Metrics
    fixes: int
    regressions: int

    @property
    def gain(self) -> float:
        """Change of coverage on these prompts; 0 where it is undefined."""
        old, new = self.before.coverage, self.after.coverage
        return 0.0 if old is None or new is None else new - old


@dataclass(frozen=True, eq=False)
class Corrections:
    """Corrections of a mistake among all edits that were `tried`, the best first.

    The best raise coverage most, then fix most in excess of what they break. With `is_right` the
    judge has no mistake to correct: another guardrail judges the prompt wrongly.
    """

    found: tuple[Correction, ...]
    tried: int
    is_right: bool = False


def corrections(
    judge: DefinitionVerdicts,
    topic: Topic,
    row: int,
    order: Sequence[int],
    most: int,
    stopped: Stopped = lambda: False,
) -> Corrections | None:
    """Return the single edits of the examples that correct the verdict of a row; None if stopped.

    Prompts are tried as examples in this `order` of rows, the row itself first if it belongs to
    the topic. At most `most` edits are tried.
    """
    prompts = judge.prompts
    belongs = prompts.expected
    current = judge.verdicts([topic], stopped)
    if current is None:
        return None
    matches = current[0]
    if matches[row] == belongs[row]:
        return Corrections((), 0, is_right=True)
    texts = prompts.prompts
    sources = [number for number in dict.fromkeys([row, *order]) if belongs[number]]
    material = Material(
        tuple(texts[number] for number in sources if not matches[number]),
        tuple(texts[number] for number in sources if matches[number]),
    )
    edits = candidates(topic, material, most)
    if not edits:
        return Corrections((), 0)
    after = judge.verdicts([edit.topic for edit in edits], stopped)
    if after is None:
        return None
    own = OwnPrompts(prompts, np.arange(len(prompts)))
    counted = own.counted(edits) & own.counted([unchanged(topic)])
    found = []
    for edit, now, counts in zip(edits, after, counted, strict=True):
        if now[row] == belongs[row] or not counts[row]:
            found.append(_correction(edit, matches[counts], now[counts], belongs[counts]))
    found.sort(key=lambda one: (-one.gain, one.regressions - one.fixes))
    return Corrections(tuple(found), len(edits))


def _correction(
    edit: Candidate,
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    belongs: NDArray[np.bool_],
) -> Correction:
    was, now, intent = before == belongs, after == belongs, edit.topic.intent
    return Correction(
        edit,
        metrics_of_matches(belongs, before, intent),
        metrics_of_matches(belongs, after, intent),
        int(np.count_nonzero(now & ~was)),
        int(np.count_nonzero(was & ~now)),
    )
