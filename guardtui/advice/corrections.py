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
    current = judge.verdicts([topic], stopped)
    if current is None:
        return None
    if current[0][row] == judge.prompts.expected[row]:
        return Corrections((), 0, is_right=True)
    edits = _tried(judge, topic, current[0], [row, *order], most, stopped)
    if edits is None:
        return None
    found = tuple(edit for edit, corrected in edits if corrected[row])
    return Corrections(found, len(edits))


def correctable(
    judge: DefinitionVerdicts,
    topic: Topic,
    order: Sequence[int],
    most: int,
    stopped: Stopped = lambda: False,
) -> list[int] | None:
    """Return the rows of mistakes that single edits correct, those of the best edit first.

    If an edit raises coverage, only such edits count. Arguments as for `corrections`; None if
    stopped.
    """
    current = judge.verdicts([topic], stopped)
    if current is None:
        return None
    edits = _tried(judge, topic, current[0], order, most, stopped)
    if edits is None:
        return None
    wrong = current[0] != judge.prompts.expected
    rows = [
        (edit.gain > 0, row)
        for edit, corrected in edits
        for row in np.flatnonzero(corrected & wrong).tolist()
    ]
    helps = any(gains for gains, _ in rows)
    return list(dict.fromkeys(row for gains, row in rows if gains or not helps))


def _tried(
    judge: DefinitionVerdicts,
    topic: Topic,
    matches: NDArray[np.bool_],
    order: Sequence[int],
    most: int,
    stopped: Stopped,
) -> list[tuple[Correction, NDArray[np.bool_]]] | None:
    """Return edits of the examples, the best first, each with the rows that it sets right.

    `matches` are the verdicts on the topic, bool [n], as are the rows. None if stopped.
    """
    prompts = judge.prompts
    belongs = prompts.expected
    texts = prompts.prompts
    sources = [row for row in dict.fromkeys(order) if belongs[row]]
    material = Material(
        tuple(texts[row] for row in sources if not matches[row]),
        tuple(texts[row] for row in sources if matches[row]),
    )
    edits = candidates(topic, material, most)
    after = judge.verdicts([edit.topic for edit in edits], stopped) if edits else ()
    if after is None:
        return None
    own = OwnPrompts(prompts, np.arange(len(prompts)))
    counted = own.counted(edits) & own.counted([unchanged(topic)])
    tried = [
        (
            _correction(edit, matches[counts], now[counts], belongs[counts]),
            (now == belongs) | ~counts,
        )
        for edit, now, counts in zip(edits, after, counted, strict=True)
    ]
    tried.sort(key=lambda pair: (-pair[0].gain, pair[0].regressions - pair[0].fixes))
    return tried


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
