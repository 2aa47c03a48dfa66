"""Judgements of figures: a code, and one sentence that names what would decide."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING

import numpy as np

from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.operating_point import LABELS_AT_LEAST, is_fitted
from guardtui.domain.significance import Difference, observed_changes
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Intent
from guardtui.session.scan_order import in_doubt
from guardtui.session.session import PLATEAU

if TYPE_CHECKING:
    from guardtui.domain.comparison import Comparison
    from guardtui.domain.estimates import PartialRates
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.significance import Significance
    from guardtui.forecast.forecaster import Forecast

LIKELY = 0.9
"""Least probability of a rise or fall of coverage that is called probable."""

LABELS_IN_WORDS = {
    1.5: "half as many labels again",
    2.0: "twice as many labels",
    3.0: "three times as many labels",
}
"""How many times as many labels a judgement asks for, in words: nobody labels more for one edit.

Each edit would need another number, and none is known better than by such steps.
"""

_POWER = 1.43  # (1.96 + 0.84) / 1.96: reach of a 95 % interval for a power of 80 %


class Code(StrEnum):
    """Code of a judgement, for programs."""

    NO_COVERAGE = "no_coverage"
    """A class has no prompts."""
    INCOMPLETE = "incomplete"
    """Prompts have no verdict."""
    TOO_FEW_LABELS = "too_few_labels"
    """A class has fewer prompts than a judgement needs."""
    FORECAST = "forecast"
    """In the app: the verdicts are only expected, and a scan decides."""
    NO_BASELINE = "no_baseline"
    """There is nothing to compare with yet."""
    DISCARDED = "discarded"
    """In the app: the definition is the best one again, after discards in a row."""
    OTHER_GUARDRAIL = "other_guardrail"
    """The baseline is measured by another guardrail."""
    OTHER_THRESHOLD = "other_threshold"
    """The baseline is measured at another threshold."""
    NOT_COMPARABLE = "not_comparable"
    """The baseline has other prompts, another intent, or lacks a class."""
    UNCHANGED = "unchanged"
    """The definition is that of the baseline."""
    NO_VERDICTS_CHANGED = "no_verdicts_changed"
    """The edit changed no verdict."""
    BETTER = "better"
    """The 95 % interval of the change of coverage is above 0."""
    WORSE = "worse"
    """The 95 % interval of the change of coverage is below 0."""
    SEPARATES_BETTER = "separates_better"
    """Only the scores of the two classes are demonstrably farther apart."""
    SEPARATES_WORSE = "separates_worse"
    """Only the scores of the two classes are demonstrably closer together."""
    NOT_SURE = "not_sure"
    """No change is demonstrable."""


class Worth(Enum):
    """Kind of a judgement, as a screen shows it."""

    BETTER = auto()
    WORSE = auto()
    UNSURE = auto()
    """Something else decides; the sentence names it."""
    NEUTRAL = auto()
    WARNING = auto()
    """There is no judgement before the author does something; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A sentence without a full stop, with its code and kind."""

    code: Code
    worth: Worth
    text: str


def missing_prompts(prompts: PromptSet) -> str:
    """Return what a prompt set lacks for advice, in a sentence, or ""."""
    belong = int(prompts.expected.sum())
    for count, single, several in (
        (belong, "belongs to the topic", "belong to the topic"),
        (len(prompts) - belong, "does not belong to it", "do not belong to it"),
    ):
        if (missing := LABELS_AT_LEAST - count) > 0:
            added = f"{count_text(missing, 'prompt')} that {single if missing == 1 else several}"
            return f"Add {added}. With fewer than {LABELS_AT_LEAST} of a kind nothing can be told"
    return ""


def judge(
    evaluation: Evaluation,
    comparison: Comparison | None,
    baseline: int | None,
    *,
    discards: int = 0,
    partial: PartialRates | None = None,
    forecast: Forecast | None = None,
) -> Judgement:
    """Judge an evaluation by its comparison, if there is one, with the iteration `baseline`.

    That is None if the baseline is no iteration. `discards` is the number of discards since the
    last kept iteration. `partial` estimates the rates of a scan that is not complete; with a
    `forecast`, the evaluation holds its verdicts.
    """
    incomplete = _incomplete(evaluation, comparison, partial)
    if incomplete is not None:
        return incomplete
    if forecast is not None:
        return _expected(forecast, comparison)
    if comparison is None:
        text = "nothing to compare yet: a kept definition is the baseline"
        return Judgement(Code.NO_BASELINE, Worth.NEUTRAL, text)
    same = evaluation.topic == comparison.evaluations[0].topic
    if same and discards and not _is_fitted_anew(comparison):
        return _discarded(discards)
    return _compared(evaluation, comparison, "the baseline" if baseline is None else f"#{baseline}")


def labels_to_decide(significance: Significance) -> float | None:
    """Return how many times as many labels would show the change of coverage that was observed.

    One of `LABELS_IN_WORDS`: the least that gives its 95 % interval a power of 80 % if the change
    stays as it is, since the width of an interval falls with the square root of the number of
    labels. None if coverage did not change, or for more labels than that.
    """
    interval = significance.intervals["coverage"]
    change = observed_changes(significance.pairs)["coverage"]
    if interval is None or not change:
        return None
    reach = change - interval.low if change > 0 else interval.high - change
    times = (_POWER * reach / change) ** 2
    return next((known for known in LABELS_IN_WORDS if times <= known), None)


def _incomplete(
    evaluation: Evaluation, comparison: Comparison | None, partial: PartialRates | None
) -> Judgement | None:
    """Return what is missing: prompts of a class, verdicts, or labels; None if nothing is."""
    duty = evaluation.should_trigger
    positive = int(np.count_nonzero(duty))
    counts = ((positive, "should"), (len(duty) - positive, "should not"))
    for count, which in counts:
        if not count:
            text = f"no coverage: add prompts that {which} trigger"
            return Judgement(Code.NO_COVERAGE, Worth.WARNING, text)
    if evaluation.metrics.missing:
        return Judgement(Code.INCOMPLETE, *_unanswered(evaluation, comparison, partial))
    few = [(LABELS_AT_LEAST - count, which) for count, which in counts if count < LABELS_AT_LEAST]
    if not few:
        return None
    more, which = few[0]
    text = f"add {more} that {which} trigger"
    if len(few) == 2:
        text = f"add {more} to trigger, {few[1][0]} not to"
    return Judgement(Code.TOO_FEW_LABELS, Worth.WARNING, f"too few to tell: {text}")


def _unanswered(
    evaluation: Evaluation, comparison: Comparison | None, partial: PartialRates | None
) -> tuple[Worth, str]:
    metrics = evaluation.metrics
    if evaluation.is_of_a_part:
        left = f"{metrics.total} prompts so far; the other {metrics.open} decide"
        return Worth.UNSURE, left
    if metrics.errors and metrics.open:
        left = f"{metrics.open} open and {metrics.errors} failed prompts decide: scan them"
        return Worth.WARNING, left
    if metrics.errors:
        left = f"{count_text(metrics.errors, 'prompt')} failed: a scan of what is missing decides"
        return Worth.WARNING, left
    decide = f"{count_text(metrics.open, 'open prompt')} decide{'s' * (metrics.open == 1)}"
    estimate = None if partial is None else partial.estimate
    expected = None if estimate is None else estimate.rates["coverage"]
    before = None if comparison is None else comparison.evaluations[0]
    if expected is not None and before is not None and _of_the_same(before, evaluation):
        known = before.metrics.coverage
        if known is not None and expected.low > known:
            return Worth.BETTER, f"probably better; {decide}"
        if known is not None and expected.high < known:
            return Worth.WORSE, f"probably worse; {decide}"
    return Worth.UNSURE, f"not sure yet: {decide}"


def _of_the_same(one: Evaluation, other: Evaluation) -> bool:
    """Return whether `other` is measured as `one`, and of the same prompts and labels."""
    return other.settings.measures_as(one.settings) and one.prompt_set == other.prompt_set


def _expected(forecast: Forecast, comparison: Comparison | None) -> Judgement:
    changes, better = forecast.changes, forecast.rates.better
    count = int(np.count_nonzero(in_doubt(changes)))
    decides = f"a scan of {count_text(count, 'prompt')} decides" if count else "a scan decides"
    if better is None:
        return Judgement(Code.FORECAST, Worth.UNSURE, f"no whole scan yet; {decides}")
    unsure = "not sure yet"
    if comparison is None or comparison.coverage_before != forecast.before:
        # The iteration that fixes and regressions are counted against is another one.
        decides, unsure = " than the last scan; a scan decides", "not sure if better"
    else:
        decides = f"; {decides}"
    if better >= LIKELY:
        return Judgement(Code.FORECAST, Worth.BETTER, f"probably better{decides}")
    if better <= 1 - LIKELY:
        return Judgement(Code.FORECAST, Worth.WORSE, f"probably worse{decides}")
    return Judgement(Code.FORECAST, Worth.UNSURE, f"{unsure}{decides}")


def _discarded(discards: int) -> Judgement:
    in_a_row = f"{count_text(discards, 'discard')} in a row"
    if discards >= PLATEAU:
        return Judgement(Code.DISCARDED, Worth.WARNING, f"{in_a_row}: try another angle")
    text = f"{in_a_row}; after {PLATEAU}, try another angle"
    return Judgement(Code.DISCARDED, Worth.NEUTRAL, text)


def _is_fitted_anew(comparison: Comparison) -> bool:
    """Return whether other labels, and not the definition, moved the threshold and the figures."""
    before, now = comparison.evaluations
    labels_changed = comparison.relabelled or comparison.added or comparison.removed
    return bool(labels_changed) and is_fitted(now.settings) and before.topic == now.topic


def _compared(evaluation: Evaluation, comparison: Comparison, baseline: str) -> Judgement:
    before, now = (side.settings for side in comparison.evaluations)
    difference = comparison.significance.difference
    if before.guardrail != now.guardrail:
        text = f"another guardrail than {baseline}: pin one of the same"
        return Judgement(Code.OTHER_GUARDRAIL, Worth.UNSURE, text)
    if difference is Difference.NOT_COMPARABLE:
        shared = comparison.significance.compared
        what = "another intent or class" if shared else "other prompts"
        text = f"{what} than {baseline}: Keep makes this the baseline"
        return Judgement(Code.NOT_COMPARABLE, Worth.UNSURE, text)
    if not now.measures_as(before):
        text = f"another threshold than {baseline}: the same one decides"
        return Judgement(Code.OTHER_THRESHOLD, Worth.UNSURE, text)
    if _is_fitted_anew(comparison):
        text = f"same definition: threshold {now.threshold_source} now"
        return Judgement(Code.UNCHANGED, Worth.NEUTRAL, text)
    separates = comparison.separation
    better = separates is not None and separates.low > 0
    worse = separates is not None and separates.high < 0
    if difference is Difference.NONE:
        if evaluation.topic == comparison.evaluations[0].topic:
            return Judgement(Code.UNCHANGED, Worth.NEUTRAL, "unchanged: no edit to judge yet")
        how = "better" if better else "worse"
        also = f", but {how} scores" if better or worse else ""
        text = f"no verdicts changed{also}"
        return Judgement(Code.NO_VERDICTS_CHANGED, Worth.NEUTRAL, text)
    if better and difference is not Difference.BETTER and (level := _level(evaluation, comparison)):
        return Judgement(Code.SEPARATES_BETTER, Worth.UNSURE, f"better scores, but {level}")
    if difference in (Difference.BETTER, Difference.WORSE):
        word = "better" if difference is Difference.BETTER else "worse"
        by_engine = now.kind == ENGINE
        text = (
            f"{word} for the engine; a scan of the guardrail decides"
            if by_engine
            else f"{word} than {baseline}: more than chance"
        )
        return Judgement(Code(word), Worth[word.upper()], text)
    if better or worse:
        code = Code.SEPARATES_BETTER if better else Code.SEPARATES_WORSE
        how = "better" if better else "worse"
        return Judgement(code, Worth.UNSURE, f"{how} scores; coverage: more labels would decide")
    times = labels_to_decide(comparison.significance)
    decides = "only many more labels would decide"
    if times is not None:
        decides = f"{LABELS_IN_WORDS[times]} would decide"
    return Judgement(Code.NOT_SURE, Worth.UNSURE, f"not sure yet: {decides}")


def _level(evaluation: Evaluation, comparison: Comparison) -> str:
    """Return what to do where an operating point that stays makes an edit catch too much.

    Or too little; "" where neither is so. Fewer and narrower parts catch less.
    """
    if evaluation.settings.has_fitted_threshold:
        return ""
    metrics, examples = evaluation.metrics, len(evaluation.topic.examples)
    tpr, tnr = metrics.true_positive_rate, metrics.true_negative_rate
    if tpr is None or tnr is None or tpr == tnr:
        return ""
    weaker = "true_positive_rate" if tpr < tnr else "true_negative_rate"
    if (comparison.deltas[weaker] or 0) >= 0:
        return ""
    block = evaluation.topic.intent is Intent.BLOCK
    verb = "catches" if block else "allows"
    if (tnr < tpr) is block:
        remedy = "use fewer examples" if examples > EXAMPLES_AT_LEAST else "narrow the wording"
        return f"{verb} too much: {remedy}"
    remedy = "add an example" if examples < EXAMPLES_AT_MOST else "widen the wording"
    return f"{verb} too little: {remedy}"
