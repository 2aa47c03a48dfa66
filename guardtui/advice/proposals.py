"""Proposals: measured edits of a definition, and their gain of coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind, changes
from guardtui.advice.edit_worth import metrics_of_matches
from guardtui.advice.folds import gain_of_choice
from guardtui.advice.objective import (
    Appraisal,
    Appraiser,
    Gain,
    Objective,
    Rows,
    Stopped,
    unchanged,
)
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.figures import change_interval_text, change_text
from guardtui.domain.metrics import Metrics
from guardtui.domain.separation import SeparationChange, placements, separation_change
from guardtui.domain.topic import Intent, Topic


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Metrics on prompts that had no part in the choice, with the rows that became right or wrong.

    They are those of the author's own column, or those that a decision model reports on.
    """

    before: Metrics
    after: Metrics
    fixes: tuple[int, ...] = ()
    regressions: tuple[int, ...] = ()

    @property
    def gain(self) -> float:
        """Change of coverage on these prompts."""
        old, new = self.before.coverage, self.after.coverage
        return float("nan") if old is None or new is None else new - old


@dataclass(frozen=True, slots=True)
class ForecastChange:
    """What a forecast expects of an edit on one guardrail: changes of its rates on the prompts.

    `guardrail` is its name, display-safe. `matches` is the change of the share that matches.
    """

    guardrail: str
    coverage: RateEstimate
    matches: float

    @property
    def text(self) -> str:
        """The change of coverage, with its interval, on the guardrail."""
        return (
            f"forecast of {self.guardrail}: {change_text(self.coverage.value)} "
            f"({change_text(self.coverage.low)} to {change_text(self.coverage.high)})"
        )

    @property
    def lack(self) -> str:
        """What costs coverage: `too much` or `too little` is caught; "" if it does not fall."""
        if round(self.coverage.value, 3) >= 0:
            return ""
        return "too much" if self.matches > 0 else "too little"

    @property
    def level_text(self) -> str:
        """How much more or less is caught, with what to try where that costs coverage."""
        if not self.lack:
            return f"{_matching(self.matches)} on {self.guardrail}"
        examples = "two or three of its examples" if self.lack == "too much" else "more examples"
        return f"catches {self.lack} on {self.guardrail}: test it with {examples}"


@dataclass(frozen=True, eq=False)
class Proposal:
    """Edits of a definition with their measured effect.

    `changes` are the edits in words, `kinds` those of the steps. `gain` is the expected gain of
    coverage on other prompts. `before` and `after` are metrics on the prompts it was chosen on,
    each at its operating point, and therefore optimistic. They do not count the rows `left_out`,
    which are examples of either definition or sources of its words. `fixes` and `regressions` are
    rows that became right or wrong.
    """

    topic: Topic
    kinds: tuple[CandidateKind, ...]
    changes: tuple[str, ...]
    gain: Gain
    before: Metrics
    after: Metrics
    left_out: Rows
    fixes: Rows
    regressions: Rows
    held_out: HeldOut | None = None
    origin: str = ""
    """The source of a wording, or ""."""
    why: str = ""
    """The reason that a model gave for its wording; may hold any text."""
    separation: SeparationChange | None = None
    """Change of the separation, which transfers to other guardrails; on the prompts of the choice,
    and therefore optimistic. None for tiny classes."""
    level: float | None = None
    """Change of the share of prompts that match at the operating point of the current definition,
    which is the guardrail's own; None without scores."""
    forecast: ForecastChange | None = None
    """What is expected of it on a guardrail that has answered, or None."""

    @property
    def is_advised(self) -> bool:
        """Return whether prompts that had no part in the choice confirm its gain."""
        return self.gain.likely and (self.held_out is None or self.held_out.gain > 0)

    @property
    def raises_coverage(self) -> bool:
        """Return whether coverage is higher with it on the prompts that it was chosen on."""
        old, new = self.before.coverage, self.after.coverage
        return old is not None and new is not None and new > old

    @property
    def is_promising(self) -> bool:
        """Return whether it is likely to help, and no forecast contradicts that."""
        return self.gain.likely and (self.forecast is None or self.forecast.coverage.high >= 0)

    @property
    def gain_text(self) -> str:
        """The gain, and which guardrail it is for."""
        return f"for the engine: {self.gain.text}"

    @property
    def figures(self) -> str:
        """The gain, and what is expected on a guardrail that has answered."""
        return self.gain_text + ("" if self.forecast is None else f" · {self.forecast.text}")

    @property
    def short_figures(self) -> str:
        """The same without intervals."""
        text = f"engine {self.gain.short_text}"
        known = self.forecast
        if known is None:
            return text
        return f"{text} · {known.guardrail} ≈ {change_text(known.coverage.value)}"

    @property
    def transfer_text(self) -> str:
        """What the edit does to the separation and to the level, in a sentence, or "".

        The separation transfers to other guardrails. The level is the guardrail's own: that of the
        forecast, or else the engine's.
        """
        change = self.separation
        if change is None:
            return ""
        figures = change_interval_text(change.value, change.low, change.high)
        better = round(change.value, 3) > 0
        text = f"{'better' if better else 'no better'} scores: separation {figures}"
        known = self.forecast
        if known is not None:
            return f"{text}, {'but' if better == (known.lack != '') else 'and'} {known.level_text}"
        if self.level is None:
            return text
        return f"{text}; by the engine {_matching(self.level)}, by your guardrail perhaps not"


def _matching(change: float) -> str:
    """Return a change of the share of prompts that match, in words."""
    percent = round(100 * abs(change))
    if not percent:
        return "as many prompts match"
    return f"{percent} % {'more' if change > 0 else 'fewer'} of all prompts match"


def propose(
    objective: Appraiser,
    current: tuple[Topic, Appraisal],
    path: Sequence[Candidate],
    held_out: Rows,
    gain: Gain,
    stopped: Stopped = lambda: False,
) -> Proposal | None:
    """Return the proposal of the last of a path of candidates; None if stopped.

    `current` is the current definition with its appraisal. `held_out` are rows for a final check.
    """
    topic, before = current
    final = path[-1]
    after = objective.appraise(final, stopped)
    if after is None:
        return None
    counted = before.counted & after.counted
    separation, level = _separation_and_level(
        before, after, counted, objective.prompts.expected[objective.rows]
    )
    belongs = objective.prompts.expected[objective.rows]
    was, now = before.matches == belongs, after.matches == belongs
    rows, intent = objective.rows, topic.intent
    final_check = None
    if len(held_out):
        final_check = _held_out(
            objective.prompts.expected[held_out],
            objective.judge(topic, before, held_out),
            objective.judge(final.topic, after, held_out),
            held_out,
            intent,
        )
    return Proposal(
        topic=final.topic,
        kinds=tuple(step.kind for step in path),
        changes=_changes(topic, path),
        gain=gain,
        before=metrics_of_matches(belongs[counted], before.matches[counted], intent),
        after=metrics_of_matches(belongs[counted], after.matches[counted], intent),
        left_out=rows[~counted],
        fixes=rows[counted & now & ~was],
        regressions=rows[counted & was & ~now],
        held_out=final_check,
        origin=final.origin,
        why=final.why,
        separation=separation,
        level=level,
    )


def _separation_and_level(
    before: Appraisal, after: Appraisal, counted: NDArray[np.bool_], belongs: NDArray[np.bool_]
) -> tuple[SeparationChange | None, float | None]:
    """Return the change of the separation, and of the share that matches at the same cut."""
    areas = [
        placements((known.soft if known.z is None else known.z)[counted], belongs[counted])
        for known in (before, after)
    ]
    first, second = areas
    change = None if first is None or second is None else separation_change(first, second)
    if before.cut is None or after.z is None or not counted.any():
        return change, None
    level = float((after.z[counted] >= before.cut).mean() - before.matches[counted].mean())
    return change, level


def propose_wordings(
    objective: Objective,
    topic: Topic,
    wordings: Sequence[Candidate],
    held_out: Rows,
    left_out: Sequence[str] = (),
    stopped: Stopped = lambda: False,
) -> tuple[Proposal, ...] | None:
    """Return given wordings as proposals, the greatest lower bound first; None if stopped.

    Each is measured on folds, at operating points that were found without them, and without the
    prompts `left_out`. Raises ScannerError.
    """
    sources = tuple(left_out)
    current = objective.appraise(replace(unchanged(topic), sources=sources), stopped)
    if current is None:
        return None
    proposals = []
    for wording in wordings:
        step = replace(wording, sources=sources)

        def given(_: Objective, step: Candidate = step) -> Candidate:
            return step

        gain = gain_of_choice(objective, topic, given, stopped)
        if gain is None:
            return None
        gain = gain if gain.likely else gain.guess()
        proposal = propose(objective, (topic, current), [step], held_out, gain, stopped)
        if proposal is None:
            return None
        proposals.append(proposal)
    return tuple(sorted(proposals, key=lambda proposal: -proposal.gain.low))


def _held_out(
    belongs: NDArray[np.bool_],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    rows: Rows,
    intent: Intent,
) -> HeldOut:
    was, now = before == belongs, after == belongs
    return HeldOut(
        metrics_of_matches(belongs, before, intent),
        metrics_of_matches(belongs, after, intent),
        tuple(rows[now & ~was].tolist()),
        tuple(rows[was & ~now].tolist()),
    )


def _changes(topic: Topic, path: Sequence[Candidate]) -> tuple[str, ...]:
    if len(path) == 1 and path[0].kind is not CandidateKind.REWORD:
        return (path[0].change,)
    return changes(topic, path[-1].topic)


def appraise_current(
    objective: Appraiser, topic: Topic, stopped: Stopped = lambda: False
) -> Appraisal | None:
    """Return the appraisal of the current definition; None if stopped."""
    return objective.appraise(unchanged(topic), stopped)


def current_metrics(objective: Appraiser, topic: Topic, appraisal: Appraisal) -> Metrics:
    """Return its metrics on the prompts that edits are chosen on, without its own examples."""
    counted = appraisal.counted
    belongs = objective.prompts.expected[objective.rows]
    return metrics_of_matches(belongs[counted], appraisal.matches[counted], topic.intent)
