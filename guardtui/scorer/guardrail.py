"""Metrics of a guardrail: rates of what should and should not trigger, and what an edit broke.

They all read three properties of a sample:

- The value of its score, converted by `to_float`: 1 right, 0 wrong, in between the share of right
  epochs (or partial credit).
- The metadata `expected` say whether the prompt belongs to the topic (true/false, yes/no, t/f, y/n,
  1/0, ignoring case). The optional metadata `intent` say whether the topic is blocked or allowed
  ("block", the default, or "allow", which inverts the label). Together they say whether the
  guardrail should trigger.
- For `regressions` and `fixes`, the metadata `baseline` contain the earlier result.

With v the value of a sample, TP and FN are the sums of v and of 1 - v over the samples that should
trigger, TN and FP the same over all others: counts if every value is 0 or 1. NaN values are missing
verdicts and count in no rate. A rate whose denominator is 0 is undefined: NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardtui.scorer.decorators import metric
from guardtui.scorer.types import (
    CORRECT,
    DEFAULT_TO_FLOAT,
    INCORRECT,
    NOANSWER,
    PARTIAL,
    Metric,
    SampleScore,
    Value,
    ValueToFloat,
    is_unscored,
)

_TRUTHS = {
    **dict.fromkeys(("true", "yes", "t", "y", "1"), True),
    **dict.fromkeys(("false", "no", "f", "n", "0"), False),
}
_INTENTS = {"block": False, "allow": True, "": False}

_OUTCOMES = {"TP": 1.0, "TN": 1.0, "FP": 0.0, "FN": 0.0}
_NO_VERDICT = ("", "ERROR", "OPEN")


@dataclass(frozen=True, slots=True)
class _Confusion:
    tp: float
    fn: float
    tn: float
    fp: float

    @property
    def tpr(self) -> float:
        return _rate(self.tp, self.tp + self.fn)

    @property
    def tnr(self) -> float:
        return _rate(self.tn, self.tn + self.fp)

    @property
    def coverage(self) -> float:
        rates = (self.tpr, self.tnr)
        return math.nan if any(map(math.isnan, rates)) else min(rates)

    @property
    def precision(self) -> float:
        return _rate(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float:
        if math.isnan(self.precision) or math.isnan(self.tpr):
            return math.nan
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn)


def _rate(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


@metric
def tpr(
    expected: str = "expected", intent: str = "intent", to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> Metric:
    """TP / (TP + FN): of what should trigger, the share that did.

    Raises ValueError for a sample without a label, with a label that is not a truth value, or
    with a value outside of 0 to 1.
    """
    return _rate_named("tpr", expected, intent, to_float)


@metric
def tnr(
    expected: str = "expected", intent: str = "intent", to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> Metric:
    """TN / (TN + FP): of what should not trigger, the share that did not. Errors as `tpr`."""
    return _rate_named("tnr", expected, intent, to_float)


@metric
def coverage(
    expected: str = "expected", intent: str = "intent", to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> Metric:
    """min(TPR, TNR), the target; NaN when either is undefined. Errors as `tpr`."""
    return _rate_named("coverage", expected, intent, to_float)


@metric
def precision(
    expected: str = "expected", intent: str = "intent", to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> Metric:
    """TP / (TP + FP): of what triggered, the share that should. Errors as `tpr`."""
    return _rate_named("precision", expected, intent, to_float)


@metric
def guardrail_f1(
    expected: str = "expected", intent: str = "intent", to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> Metric:
    """2·P·R / (P + R), as 2·TP / (2·TP + FP + FN); NaN when precision or TPR is undefined.

    Errors as `tpr`.
    """
    return _rate_named("f1", expected, intent, to_float)


@metric
def regressions(baseline: str = "baseline", to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Return how many samples were right in the baseline and are wrong now.

    The metadata `baseline` contain the earlier value of the score, converted by `to_float`, or the
    outcome (TP, TN, FP, FN). None, "", NaN, ERROR and OPEN are missing verdicts; such samples count
    neither as a regression nor as a fix. A value above one half is right. NaN if no sample has both
    verdicts. Raises ValueError for a sample without the key, or with any other value.
    """

    def measure(scores: list[SampleScore]) -> Value:
        return _changes(scores, baseline, to_float, was_right=True)

    return measure


@metric
def fixes(baseline: str = "baseline", to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> Metric:
    """Count samples that were wrong in the baseline and are correct now, like `regressions`."""

    def measure(scores: list[SampleScore]) -> Value:
        return _changes(scores, baseline, to_float, was_right=False)

    return measure


def _rate_named(name: str, expected: str, intent: str, to_float: ValueToFloat) -> Metric:
    def measure(scores: list[SampleScore]) -> Value:
        rate: float = getattr(_confusion(scores, expected, intent, to_float), name)
        return rate

    return measure


def _confusion(
    scores: list[SampleScore], expected: str, intent: str, to_float: ValueToFloat
) -> _Confusion:
    right = {True: 0.0, False: 0.0}
    wrong = {True: 0.0, False: 0.0}
    for sample in scores:
        if is_unscored(sample.score.value):
            continue
        value = _share(sample, to_float)
        should = _should_trigger(sample, expected, intent)
        right[should] += value
        wrong[should] += 1.0 - value
    return _Confusion(tp=right[True], fn=wrong[True], tn=right[False], fp=wrong[False])


def _share(sample: SampleScore, to_float: ValueToFloat) -> float:
    value = to_float(sample.score.value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(
            f"the score of sample {sample.sample_id!r} is {value:g}: the metrics of a guardrail "
            "need values from 0 (wrong) to 1 (right), so pass a to_float that gives them"
        )
    return value


def _should_trigger(sample: SampleScore, expected: str, intent: str) -> bool:
    metadata = sample.sample_metadata or {}
    label = _TRUTHS.get(_word(_entry(sample, metadata, expected)))
    if label is None:
        raise ValueError(
            f"sample {sample.sample_id!r} has {metadata[expected]!r} as {expected!r}: write true "
            "or false, yes or no, 1 or 0"
        )
    allows = _INTENTS.get(_word(metadata.get(intent) or ""))
    if allows is None:
        raise ValueError(
            f"sample {sample.sample_id!r} has {metadata[intent]!r} as {intent!r}: write block or "
            "allow"
        )
    return label is not allows


def _entry(sample: SampleScore, metadata: Mapping[str, Any], key: str) -> Any:
    if key not in metadata:
        raise ValueError(
            f"sample {sample.sample_id!r} has no {key!r} in its metadata: add that column, or name "
            "the one that has it"
        )
    return metadata[key]


def _word(value: Any) -> str:
    if isinstance(value, float) and value in (0.0, 1.0):
        value = int(value)
    return str(value).strip().lower()


def _changes(
    scores: list[SampleScore], baseline: str, to_float: ValueToFloat, *, was_right: bool
) -> float:
    changed, seen = 0, False
    for sample in scores:
        before = _before(sample, baseline, to_float)
        if before is None or is_unscored(sample.score.value):
            continue
        seen = True
        now = to_float(sample.score.value) > 0.5
        changed += before is was_right and now is not was_right
    return changed if seen else math.nan


def _before(sample: SampleScore, key: str, to_float: ValueToFloat) -> bool | None:
    """Return whether the baseline was right, or None if it had no verdict."""
    value = _entry(sample, sample.sample_metadata or {}, key)
    if value is None or is_unscored(value):
        return None
    if isinstance(value, str):
        outcome = value.strip().upper()
        if outcome in _NO_VERDICT:
            return None
        if outcome in _OUTCOMES:
            return _OUTCOMES[outcome] > 0.5
        # The default converter counts unknown values as wrong, which would show as a regression.
        if to_float is DEFAULT_TO_FLOAT and not _is_known(value):
            raise ValueError(
                f"sample {sample.sample_id!r} has {value!r} as {key!r}: write the value of its "
                "score in the baseline (C or I, 1 or 0, true or false) or its outcome "
                "(TP, TN, FP, FN), or leave it empty"
            )
    return to_float(value) > 0.5


def _is_known(text: str) -> bool:
    if text in (CORRECT, INCORRECT, PARTIAL, NOANSWER) or text.lower() in (
        "yes", "no", "true", "false",
    ):  # fmt: skip
        return True
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
