"""Comparison of two evaluations: what the edit fixed and broke, and how certain that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import change_interval_text, count_text, rate_text
from guardtui.domain.guardrail import ScannerSettings, distinct_texts
from guardtui.domain.metrics import RATES, metrics_of
from guardtui.domain.operating_point import is_fitted, judged_alike
from guardtui.domain.separation import SeparationChange, placements, separation_change
from guardtui.domain.significance import SIGNIFICANT as SIGNIFICANT
from guardtui.domain.significance import Difference, Pairs, Significance
from guardtui.domain.verdicts import Outcome, Triggered, Verdicts, is_wrong, outcomes, spread

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet

ABSENT = -1
"""Baseline outcome of a prompt that is not in the baseline."""


class Change(IntEnum):
    """Change of one prompt since the baseline."""

    SAME = 0
    REGRESSION = 1
    FIX = 2
    NO_VERDICT = 3
    ADDED = 4
    RELABELLED = 5
    OPEN = 6


@cache
def _change_table() -> NDArray[np.int8]:
    """Return the change for a pair of outcomes, at index before · 6 + now."""
    table = np.full((len(Outcome), len(Outcome)), Change.SAME, dtype=np.int8)
    correct, wrong = (Outcome.TP, Outcome.TN), (Outcome.FP, Outcome.FN)
    for good in correct:
        for bad in wrong:
            table[good, bad] = Change.REGRESSION
            table[bad, good] = Change.FIX
    table[Outcome.OPEN, :] = Change.OPEN
    table[:, Outcome.OPEN] = Change.OPEN
    # A failed request counts as such even if the other evaluation did not send the prompt.
    table[Outcome.ERROR, :] = Change.NO_VERDICT
    table[:, Outcome.ERROR] = Change.NO_VERDICT
    return table.ravel()


@dataclass(frozen=True, eq=False)
class Alignment:
    """Positions of the prompts of one evaluation in another, matched by content.

    `index` (intp [N]) holds the row in the baseline, or -1. It is None if both have the same rows
    in the same order, which is the usual case and costs nothing. `removed` counts prompts that only
    the baseline has.
    """

    index: NDArray[np.intp] | None
    removed: int


def align(baseline_keys: NDArray[np.uint64], keys: NDArray[np.uint64]) -> Alignment:
    """Align prompts by their keys (uint64 [M] and [N]); keys are unique within each."""
    if baseline_keys is keys or np.array_equal(baseline_keys, keys):
        return Alignment(None, 0)
    if len(baseline_keys) == 0:
        return Alignment(np.full(len(keys), -1, dtype=np.intp), 0)
    order = np.argsort(baseline_keys, kind="stable")
    ordered = baseline_keys[order]
    position = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    index = np.where(ordered[position] == keys, order[position], -1).astype(np.intp)
    return Alignment(index, len(baseline_keys) - int(np.count_nonzero(index >= 0)))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Changes from a baseline to the current evaluation.

    - `changes`: codes of `Change`, int8 [N].
    - `before`: outcomes of the baseline, int8 [N]; ABSENT for prompts it did not have.
    - `deltas`: differences of rates, None if one of the two is undefined. They cover the prompts in
      both evaluations, with current labels, so that they show the effect of editing the definition
      and not of editing the prompts.
    - `caveats`: sentences on why the two are not fully comparable.
    - `no_verdict`: number of prompts without a verdict in one of the two.
    - `open`: number of prompts that one of the two did not request.
    - `then`, `now`: outcomes of both evaluations with current labels, int8 [N].
    - `evaluations`: both evaluations, the baseline first; `alignment` aligns their prompts.
    """

    changes: NDArray[np.int8]
    before: NDArray[np.int8]
    regressions: int
    fixes: int
    no_verdict: int
    open: int
    added: int
    relabelled: int
    removed: int
    deltas: Mapping[str, float | None]
    caveats: tuple[str, ...]
    then: NDArray[np.int8] = field(repr=False)
    now: NDArray[np.int8] = field(repr=False)
    evaluations: tuple[Evaluation, Evaluation] = field(repr=False)
    alignment: Alignment = field(repr=False)

    @cached_property
    def separation(self) -> SeparationChange | None:
        """Change of separation on the prompts in both evaluations, with current labels.

        None if a guardrail has no scores, if the two engines differ, or if a class is tiny.
        """
        baseline, current = self.evaluations
        old, new = baseline.settings, current.settings
        if old.guardrail != new.guardrail or None in (old.threshold, new.threshold):
            return None
        index, before = self.alignment.index, baseline.verdicts.score
        if index is None and np.array_equal(baseline.expected, current.expected):
            pair = baseline.placements, current.placements
            if not np.array_equal(np.isnan(before), np.isnan(current.verdicts.score)):
                return None
        else:
            if index is not None:
                if not len(before):
                    return None
                before = np.where(index >= 0, before[index], np.float32(np.nan))
            shared = ~(np.isnan(before) | np.isnan(current.verdicts.score))
            label = current.expected[shared]
            pair = (
                placements(before[shared], label),
                placements(current.verdicts.score[shared], label),
            )
        if pair[0] is None or pair[1] is None:
            return None
        return separation_change(pair[0], pair[1])

    @cached_property
    def significance(self) -> Significance:
        """Significance of the difference; most of it is computed lazily."""
        missing = self.no_verdict + self.open
        compared = len(self.changes) - missing - self.added - self.relabelled
        return Significance(self.fixes, self.regressions, compared, self._pairs())

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value of the regressions against the fixes."""
        return self.significance.p_value

    @property
    def coverage_before(self) -> float | None:
        """Coverage of the baseline on the present prompts and labels; None if it lacks some."""
        return whole_coverage(self.then)

    @cached_property
    def without(self) -> str:
        """Coverage without the prompts that only one side has, such as `0.847 without 1 removed`.

        The baseline's without removed prompts, and the present one without added ones; "" if both
        sides have the same prompts, or if coverage is not known.
        """
        shared, sides = self.then != ABSENT, []
        if self.removed:
            sides.append((f"{self.removed} removed", whole_coverage(self.then[shared])))
        if self.added:
            sides.append((f"{self.added} added", whole_coverage(self.now[shared])))
        if not sides or None in (coverage for _, coverage in sides):
            return ""
        figures = " → ".join(rate_text(coverage) for _, coverage in sides)
        return f"{figures} without {', '.join(count for count, _ in sides)}"

    @cached_property
    def wrong_in_both(self) -> int:
        """Number of prompts that are wrong in both."""
        return int(np.count_nonzero((self.changes == Change.SAME) & is_wrong(self.now)))

    @property
    def separates(self) -> str:
        """`better scores` or `worse scores` if only separation has demonstrably changed, or "".

        The 95 % interval of the change of separation must exclude 0.
        """
        change = self.separation
        if change is None or self.significance.difference not in (
            Difference.NOT_SHOWN,
            Difference.NONE,
        ):
            return ""
        if change.low > 0:
            return "better scores"
        return "worse scores" if change.high < 0 else ""

    @property
    def sentence(self) -> str:
        """One sentence on what the comparison shows about coverage, without a full stop."""
        return self.describe()

    def describe(self, than: str = "") -> str:
        """Return the sentence with the other evaluation's name; see `Significance.describe`.

        If only separation has demonstrably changed, that is added.
        """
        significance = self.significance
        among = ""
        if self.no_verdict:
            # The change covers these prompts only, so it may differ from the change of the rates.
            among = f"among {count_text(significance.compared, 'prompt')} with a verdict in both"
        sentence = significance.describe(than, among)
        change = self.separation
        if not self.separates or change is None:
            return sentence
        figures = change_interval_text(change.value, change.low, change.high)
        return f"{sentence}; but {self.separates}: separation {figures}"

    def _pairs(self) -> Pairs:
        width = len(Outcome)
        index = self.then[self.then != ABSENT] * np.int8(width) + self.now[self.then != ABSENT]
        counts = np.bincount(index, minlength=width * width).reshape(width, width)

        def cells(right: Outcome, wrong: Outcome) -> tuple[int, int, int, int]:
            both, broken = int(counts[right, right]), int(counts[right, wrong])
            return both, broken, int(counts[wrong, right]), int(counts[wrong, wrong])

        # If the intent differs, a prompt changes its class and is in neither table.
        return Pairs(cells(Outcome.TP, Outcome.FN), cells(Outcome.TN, Outcome.FP))


def compare(
    baseline: Evaluation, current: Evaluation, alignment: Alignment | None = None
) -> Comparison:
    """Compare prompt by prompt, aligned by content.

    A relabelled prompt counts neither as a fix nor as a regression. `alignment` may be passed in if
    it is already known for these two sets of prompts. While the engine's threshold is fitted, the
    baseline is judged at its own best one too (`judged_alike`).
    """
    alignment = alignment or align(baseline.keys, current.keys)
    baseline = judged_with(baseline, current.settings, current.keys, current.expected, alignment)
    if alignment.index is None:
        before, was_expected, present = baseline.codes, baseline.expected, None
    elif len(baseline.keys) == 0:
        present = np.zeros(len(current.keys), bool)
        before = np.full(len(current.keys), ABSENT, np.int8)
        was_expected = current.expected
    else:
        present = alignment.index >= 0
        before = np.where(present, baseline.codes[alignment.index], np.int8(ABSENT))
        was_expected = np.where(present, baseline.expected[alignment.index], current.expected)
    index = before * np.int8(len(Outcome))
    index += current.codes
    # An absent prompt gives a negative index, which wraps around and is overwritten below.
    changes = _change_table().take(index, mode="wrap")
    if was_expected is not current.expected:
        relabelled = was_expected != current.expected
        if relabelled.any():
            changes[relabelled] = Change.RELABELLED
    if present is not None:
        changes[~present] = Change.ADDED
    counts = [int(np.count_nonzero(changes == kind)) for kind in range(len(Change))]
    codes_before = codes_for(baseline, current.keys, current.expected, alignment)
    return Comparison(
        changes=changes,
        before=before,
        regressions=counts[Change.REGRESSION],
        fixes=counts[Change.FIX],
        no_verdict=counts[Change.NO_VERDICT],
        open=counts[Change.OPEN],
        added=counts[Change.ADDED],
        relabelled=counts[Change.RELABELLED],
        removed=alignment.removed,
        deltas=_deltas(baseline, current, codes_before),
        caveats=_caveats(baseline, current, counts, alignment.removed, codes_before),
        then=codes_before,
        now=current.codes,
        evaluations=(baseline, current),
        alignment=alignment,
    )


def judged_with(
    baseline: Evaluation,
    settings: ScannerSettings,
    keys: NDArray[np.uint64],
    expected: NDArray[np.bool_],
    alignment: Alignment | None = None,
) -> Evaluation:
    """Return a baseline at the operating point of evaluations with these settings.

    As `judged_alike`, with the labels that prompts have now: `keys` and `expected` have shape [N].
    """
    if not is_fitted(settings):
        return baseline
    alignment = alignment or align(baseline.keys, keys)
    if alignment.index is None:
        same = np.array_equal(baseline.expected, expected)
        return judged_alike(baseline, settings, None if same else expected)
    rows = np.flatnonzero(alignment.index >= 0)
    shared = np.zeros(len(baseline.keys), np.bool_)
    labels = baseline.expected.copy()
    shared[alignment.index[rows]] = True
    labels[alignment.index[rows]] = expected[rows]
    return judged_alike(baseline, settings, labels, shared)


def codes_for(
    evaluation: Evaluation,
    keys: NDArray[np.uint64],
    expected: NDArray[np.bool_],
    alignment: Alignment | None = None,
) -> NDArray[np.int8]:
    """Return the outcome codes (int8 [N]) of an evaluation for these prompts and labels.

    ABSENT for prompts that it does not have. `keys` and `expected` have shape [N]. `alignment`, if
    known, aligns the evaluation's keys with `keys`.
    """
    alignment = alignment or align(evaluation.keys, keys)
    if alignment.index is None and np.array_equal(evaluation.expected, expected):
        return evaluation.codes
    duty = should_trigger(expected, evaluation.topic.intent)
    if alignment.index is None:
        return outcomes(duty, evaluation.verdicts.triggered)
    if not len(evaluation.keys):
        return np.full(len(keys), ABSENT, np.int8)
    codes = outcomes(duty, evaluation.verdicts.triggered[alignment.index])
    codes[alignment.index < 0] = ABSENT
    return codes


def whole_coverage(codes: NDArray[np.int8]) -> float | None:
    """Return the coverage of outcome codes; None if a prompt is absent or open."""
    if np.any((codes == ABSENT) | (codes == Outcome.OPEN)):
        return None
    return metrics_of(codes).coverage


def answers_for(evaluation: Evaluation, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
    """Return the verdicts of an evaluation for these prompts (keys uint64 [N]).

    int8 [N] of `Triggered`; NOT_ASKED for prompts that it does not have.
    """
    alignment = align(evaluation.keys, keys)
    answers = evaluation.verdicts.triggered
    if alignment.index is None:
        return answers
    if not len(answers):
        return np.full(len(keys), Triggered.NOT_ASKED, np.int8)
    aligned: NDArray[np.int8] = np.where(
        alignment.index >= 0, answers[alignment.index], np.int8(Triggered.NOT_ASKED)
    )
    return aligned


def verdicts_for(evaluation: Evaluation, keys: NDArray[np.uint64]) -> Verdicts:
    """Return the verdicts of an evaluation for these prompts (keys uint64 [N]).

    Prompts that it does not have are NOT_ASKED. Unless the prompts are its own, costs are left out.
    """
    alignment, verdicts = align(evaluation.keys, keys), evaluation.verdicts
    if alignment.index is None:
        return verdicts
    there = np.flatnonzero(alignment.index >= 0)
    rows = alignment.index[there]
    place = {int(row): index for index, row in enumerate(rows)}

    def moved(texts: Mapping[int, Any]) -> dict[int, Any]:
        return {place[row]: text for row, text in texts.items() if row in place}

    part = Verdicts(
        verdicts.triggered[rows],
        verdicts.score[rows],
        verdicts.matched[rows],
        errors=moved(verdicts.errors),
        notes=moved(verdicts.notes),
        stopped_by=moved(verdicts.stopped_by),
        reasons=moved(verdicts.reasons),
        repeats=None if verdicts.repeats is None else verdicts.repeats[:, rows],
    )
    return spread(part, there, len(keys))


def carried_over(evaluation: Evaluation, prompts: PromptSet) -> Evaluation:
    """Return an evaluation with its verdicts on these prompts, and the labels that they have now.

    Prompts that it does not have are NOT_ASKED.
    """
    if evaluation.prompt_set == prompts.fingerprint:
        return evaluation
    return replace(
        evaluation,
        prompt_set=prompts.fingerprint,
        keys=prompts.keys,
        expected=prompts.expected,
        verdicts=verdicts_for(evaluation, prompts.keys),
    )


def _deltas(
    baseline: Evaluation, current: Evaluation, codes_before: NDArray[np.int8]
) -> dict[str, float | None]:
    if codes_before is baseline.codes:
        before, after = baseline.metrics, current.metrics
    else:
        shared = codes_before != ABSENT
        before, after = metrics_of(codes_before[shared]), metrics_of(current.codes[shared])
    deltas: dict[str, float | None] = {}
    for name in RATES:
        old: float | None = getattr(before, name)
        new: float | None = getattr(after, name)
        deltas[name] = None if old is None or new is None else new - old
    return deltas


def _caveats(
    baseline: Evaluation,
    current: Evaluation,
    counts: list[int],
    removed: int,
    codes_before: NDArray[np.int8],
) -> tuple[str, ...]:
    shared = len(current.keys) - counts[Change.ADDED]
    if not shared and (removed or counts[Change.ADDED]):
        # Without common prompts, other differences say nothing.
        return ("another prompt set: no prompt is in both",)
    caveats: list[str] = []
    old, new = baseline.settings, current.settings
    if old.guardrail != new.guardrail:
        then, now = distinct_texts([old.guardrail, new.guardrail])
        caveats.append(f"different guardrails: {then} then, {now} now")
    elif old.threshold != new.threshold and not (is_fitted(old) and is_fitted(new)):
        before, now = (
            f"{x:.3f}" if x is not None else "none" for x in (old.threshold, new.threshold)
        )
        caveats.append(f"different thresholds: {before} then, {now} now")
    if baseline.topic.intent is not current.topic.intent:
        caveats.append(
            f"different intents: {baseline.topic.intent} then, {current.topic.intent} now"
        )
    kinds = (
        (counts[Change.ADDED], "added"),
        (removed, "removed"),
        (counts[Change.RELABELLED], "relabelled"),
        (counts[Change.NO_VERDICT], "without a verdict in one of the two"),
        (counts[Change.OPEN], "not asked in one of the two"),
    )
    caveats += [f"{count_text(count, 'prompt')} {kind}" for count, kind in kinds if count]
    if counts[Change.ADDED] or removed or counts[Change.RELABELLED]:
        former = metrics_of(codes_before[codes_before != ABSENT]).coverage
        there = "" if former is None else f": there the former coverage was {rate_text(former)}"
        caveats.append(
            f"differences of rates are of the {shared} prompts in both, with current labels{there}"
        )
    return tuple(caveats)
