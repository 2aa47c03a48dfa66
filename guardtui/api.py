"""The public Python API: evaluate topics on labelled prompts, with the figures of the commands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from guardtui.domain import comparison
from guardtui.domain.errors import GuardtuiError as GuardtuiError
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import rate_text, threshold_text
from guardtui.domain.findings import Finding, Severity
from guardtui.domain.metrics import RATES
from guardtui.domain.operating_point import BUILT_IN, FITTED, OperatingPointError, require_classes
from guardtui.domain.prompts import PromptSet as PromptSet
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.significance import observed_changes
from guardtui.domain.topic import Intent
from guardtui.domain.topic import Topic as Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files import prompt_files, topic_files
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

FilePath: TypeAlias = "str | os.PathLike[str]"

Threshold: TypeAlias = 'Literal["fitted", "built-in"] | float'

ENGINE = "engine"

_RATES = dict(zip(("coverage", "tpr", "tnr", "accuracy", "precision", "f1"), RATES, strict=True))
"""Names in `domain.metrics.Metrics` by the names of this module."""

_DECIMALS = 6  # of a score, as in the reports


@dataclass(frozen=True, slots=True)
class Mistake:
    """A prompt with a wrong verdict.

    - `prompt`: the text.
    - `expected`: the label: whether the prompt belongs to the topic.
    - `outcome`: "FP" (triggered and should not have) or "FN" (should have triggered).
    - `score`: from 0 to 1; None for a guardrail without scores.
    - `row`: the index in the prompt set, from 0.
    """

    prompt: str
    expected: bool
    outcome: Literal["FP", "FN"]
    score: float | None
    row: int


class EvaluationResult:
    """Figures of one evaluation. A rate is from 0 to 1, or None if it is undefined."""

    def __init__(self, evaluation: Evaluation, prompts: PromptSet) -> None:
        """Hold an evaluation of these prompts, in their order."""
        self._evaluation, self._prompts = evaluation, prompts

    @property
    def topic(self) -> Topic:
        """The evaluated topic, with its intent."""
        return self._evaluation.topic

    @property
    def threshold(self) -> float | None:
        """The score from which a prompt matches the topic; None for a guardrail without one."""
        return self._evaluation.settings.threshold

    @property
    def coverage(self) -> float | None:
        """The smaller of `tpr` and `tnr`."""
        return self._evaluation.metrics.coverage

    @property
    def tpr(self) -> float | None:
        """True positive rate: TP / (TP + FN)."""
        return self._evaluation.metrics.true_positive_rate

    @property
    def tnr(self) -> float | None:
        """True negative rate: TN / (TN + FP)."""
        return self._evaluation.metrics.true_negative_rate

    @property
    def accuracy(self) -> float | None:
        """(TP + TN) / all."""
        return self._evaluation.metrics.accuracy

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP)."""
        return self._evaluation.metrics.precision

    @property
    def f1(self) -> float | None:
        """2·TP / (2·TP + FP + FN)."""
        return self._evaluation.metrics.f1

    @property
    def tp(self) -> int:
        """Number of prompts that should trigger, and do."""
        return self._evaluation.metrics.tp

    @property
    def tn(self) -> int:
        """Number of prompts that should not trigger, and do not."""
        return self._evaluation.metrics.tn

    @property
    def fp(self) -> int:
        """Number of prompts that should not trigger, and do."""
        return self._evaluation.metrics.fp

    @property
    def fn(self) -> int:
        """Number of prompts that should trigger, and do not."""
        return self._evaluation.metrics.fn

    def interval(self, metric: str) -> tuple[float, float] | None:
        """Return the 95 % interval (low, high) of a rate, by the name of its property.

        Coverage, TPR and TNR have one. None for the other rates, and if the rate is undefined.
        Raises ValueError for another name.
        """
        if metric not in _RATES:
            raise ValueError(f"unknown metric {metric!r}: choose one of {', '.join(_RATES)}")
        found = self._evaluation.intervals.get(_RATES[metric])
        return None if found is None else (found.low, found.high)

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """The prompts with a wrong verdict, in the order of the prompt set."""
        codes = self._evaluation.codes
        return self._at(np.flatnonzero((codes == Outcome.FP) | (codes == Outcome.FN)).tolist())

    def _at(self, rows: Iterable[int]) -> list[Mistake]:
        """Return the mistakes in these rows."""
        evaluation, prompts = self._evaluation, self._prompts.prompts
        scores = evaluation.verdicts.score
        return [
            Mistake(
                prompt=prompts[row],
                expected=bool(evaluation.expected[row]),
                outcome="FP" if evaluation.codes[row] == Outcome.FP else "FN",
                score=None if np.isnan(scores[row]) else round(float(scores[row]), _DECIMALS),
                row=row,
            )
            for row in rows
        ]

    def __repr__(self) -> str:
        rates = ", ".join(f"{name}={rate_text(getattr(self, name))}" for name in _RATES)
        threshold = (
            "" if self.threshold is None else f", threshold={threshold_text(self.threshold)}"
        )
        return f"<{type(self).__name__} {rates}{threshold}>"


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonResult:
    """Differences of a second evaluation from a first one, prompt by prompt.

    - `fixed`: mistakes of the first evaluation that the second one does not make.
    - `broke`: mistakes of the second evaluation that the first one does not make.
    - `change`: the change of coverage on the prompts in both, from −1 to 1; None if undefined.
    - `interval`: the 95 % interval (low, high) of the change; None if undefined.
    - `caveats`: sentences on why the two are not fully comparable, such as another prompt set.
    - `sentence`: what came of it, as in the reports.
    """

    fixed: list[Mistake]
    broke: list[Mistake]
    change: float | None
    interval: tuple[float, float] | None
    caveats: tuple[str, ...]
    sentence: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence}>"


def load_topic(path: FilePath) -> Topic:
    """Read a topic file (YAML or JSON). Raises `GuardtuiError` with all problems of the file."""
    file = topic_files.load_topic(Path(path))
    if file.intent_given:
        return file.topic
    return Topic(**file.topic.model_dump(exclude={"intent"}))  # takes that of the prompts


def load_prompts(path: FilePath) -> PromptSet:
    """Read labelled prompts (CSV, TSV, JSON, JSONL, Parquet or Excel).

    Raises `GuardtuiError` with all problems of the file.
    """
    return prompt_files.load_prompts(Path(path), Intent.BLOCK)


def evaluate(
    topic: Topic,
    prompts: PromptSet,
    guardrail: str = ENGINE,
    threshold: Threshold = "fitted",
    *,
    encoder: str = ENCODERS[0],
) -> EvaluationResult:
    """Evaluate a topic on labelled prompts as `guardtui eval` does, in the calling thread.

    `guardrail` is "engine", the engine with an `encoder` ("pair", "minilm" or "static").
    `threshold` is "fitted" (to the labels: the one with the largest coverage), "built-in", or a
    number between 0 and 1. A topic or prompt file without an intent takes that of the other.

    Raises ValueError for an invalid argument, and `GuardtuiError` if the intents differ, if there
    are too few labels to fit a threshold, or if the engine fails.
    """
    if guardrail != ENGINE:
        raise ValueError(
            f"guardrail {guardrail!r} is not available in Python: use {ENGINE!r}, or the command "
            "'guardtui eval' with --guardrail"
        )
    if encoder not in ENCODERS:
        raise ValueError(f"unknown encoder {encoder!r}: choose one of {', '.join(ENCODERS)}")
    topic, prompts = _with_one_intent(topic, prompts)
    if threshold == FITTED:
        scanner = LocalScanner(encoder, FITTED)
        try:
            require_classes(should_trigger(prompts.expected, topic.intent))
        except ValueError as error:
            raise OperatingPointError(
                f"the threshold cannot be fitted: {error}\n"
                "  label more prompts, or pass threshold='built-in' or a number"
            ) from error
    else:
        number = None if threshold == BUILT_IN else _between_0_and_1(threshold)
        scanner = LocalScanner(encoder, number)
    evaluation = scanner.evaluate_now(topic, prompts)
    assert evaluation is not None  # noqa: S101 - nothing stops it
    return EvaluationResult(evaluation, prompts)


def compare(a: EvaluationResult, b: EvaluationResult) -> ComparisonResult:
    """Compare two evaluations, `a` before and `b` after an edit. Prompts are matched by their text.

    Prompts that only one of them has, or whose label differs, count as neither fixed nor broken.
    """
    compared = comparison.compare(a._evaluation, b._evaluation)
    before = EvaluationResult(compared.evaluations[0], a._prompts)  # at its own best threshold
    now = np.arange(len(compared.changes))
    then = now if compared.alignment.index is None else compared.alignment.index
    significance = compared.significance
    interval = significance.intervals["coverage"]
    return ComparisonResult(
        fixed=before._at(then[compared.changes == comparison.Change.FIX].tolist()),
        broke=b._at(now[compared.changes == comparison.Change.REGRESSION].tolist()),
        change=observed_changes(significance.pairs)["coverage"],
        interval=None if interval is None else (interval.low, interval.high),
        caveats=compared.caveats,
        sentence=compared.sentence,
    )


def _between_0_and_1(threshold: object) -> float:
    """Return a threshold as a float. Raises ValueError."""
    if isinstance(threshold, Real) and 0 < float(threshold) < 1:
        return float(threshold)
    raise ValueError(
        f"threshold {threshold!r} is not a number between 0 and 1, both excluded, "
        "nor 'fitted' or 'built-in'"
    )


def _with_one_intent(topic: Topic, prompts: PromptSet) -> tuple[Topic, PromptSet]:
    """Return both with the intent of the one that has it. Raises PromptSetError if they differ."""
    if "intent" not in topic.model_fields_set:
        return topic.model_copy(update={"intent": prompts.intent}), prompts
    if not prompts.intent_given:
        return topic, replace(prompts, intent=topic.intent)
    if topic.intent is not prompts.intent:
        message = (
            f"the intent is {prompts.intent}, but that of the topic is {topic.intent}: "
            "make the two agree, or omit one of them"
        )
        line = int(prompts.frame["line"][0])
        raise PromptSetError(prompts.source, [Finding(Severity.ERROR, "intent", message, (line,))])
    return topic, prompts
