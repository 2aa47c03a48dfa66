"""The audit of an inbox: a sample with known chances, which tells what happens in production."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.label_queue import LabelQueue
from guardtui.app.labels.judged_log import JudgedLog
from guardtui.domain.figures import count_text
from guardtui.domain.inbox import InboxPrompt, State, WhyAsked
from guardtui.domain.production_rates import ProductionRates
from guardtui.domain.topic import Topic


@dataclass(frozen=True, slots=True)
class Audit:
    """Rates over a log, of the guardrail `who`, from `labels` of its `prompts`.

    The guardrail of production gave its verdicts there; those of the engine are by the definition
    `topic`, which is None for the former.
    """

    rates: ProductionRates
    who: str
    labels: int
    prompts: int
    topic: Topic | None

    @property
    def title(self) -> str:
        """What the rates are of, in words."""
        labels = count_text(self.labels, "label")
        return (
            f"in production, {self.who}: estimated from {labels} "
            f"on a random sample of a log of {count_text(self.prompts, 'prompt')}"
        )


def audit_queue(
    prompts: Mapping[str, InboxPrompt],
    log: JudgedLog,
    unwritten: Mapping[str, bool | None] | None = None,
    *,
    compare: bool = False,
) -> LabelQueue:
    """Return the audit with all labels known now; `unwritten` are newer ones, None set aside.

    Rows are places among the logged prompts. The strata are those that prompts have. With `compare`
    it tells the two definitions of the log apart.
    """
    names = [log.ids[row] for row in log.logged]
    there = [prompts.get(name) for name in names]
    scores, strata = log.scores[log.logged], _strata(there)
    if compare and log.compared is not None:
        queue = LabelQueue(scores, log.compared, strata=strata)
    else:
        queue = LabelQueue(scores, [log.verdicts], strata=strata)
    audited = []
    for place, (name, prompt) in enumerate(zip(names, there, strict=True)):
        if prompt is None:  # dropped meanwhile
            queue.set_aside(place)
            continue
        label, aside = prompt.expected, prompt.state is State.SET_ASIDE
        if unwritten is not None and name in unwritten:
            label = unwritten[name]
            aside = label is None
        if aside:
            queue.set_aside(place)
        elif label is not None and prompt.why_asked is WhyAsked.AUDIT:
            audited.append((prompt.labelled_at or "~", place, label))
        elif label is not None:
            queue.choose(place, label)
    for _, place, label in sorted(audited):
        queue.audit(place, label)
    return queue


def rates_of(queue: LabelQueue, log: JudgedLog) -> Audit | None:
    """Return the rates of an audit, or None before its first estimate."""
    if not queue.is_estimated:
        return None
    return Audit(queue.rates(), log.who, queue.look, len(log.logged), log.topic)


def _strata(prompts: Iterable[InboxPrompt | None]) -> NDArray[np.int64] | None:
    known = [None if prompt is None else prompt.stratum for prompt in prompts]
    if all(stratum is None for stratum in known):
        return None
    return np.array([-1 if stratum is None else stratum for stratum in known], np.int64)
