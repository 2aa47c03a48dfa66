"""Forecasts of any definition, fitted to the recorded evaluations of one guardrail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import answers_for
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import Repeats
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings, remote_name
from guardtui.domain.profile import stopped_only_by_others
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.expected import (
    ExpectedRates,
    averaged_with_counts,
    expected_change,
    expected_rates,
)
from guardtui.forecast.model import (
    ScannedDefinition,
    VerdictModel,
    noise_of,
    repeats,
)
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import Stopped

Array: TypeAlias = "NDArray[np.floating]"

LEAST_ASKED = 20
"""Minimum number of prompts with a verdict for a forecast."""
LEAST_OF_EACH = 3
"""Minimum number of verdicts of each kind."""
MOST_SCANS = 10
"""Maximum number of (latest) scans to fit; fewer for very many prompts."""

_MOST_VERDICTS = 400_000
_DOUBTFUL = 0.05  # share of differing repeated answers that is reported as a doubt
_LOST = 0.05  # share of requests without a verdict that is reported as a doubt


class ForecastError(GuardtuiError):
    """There is no forecast; the message says why, and what would make one possible."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Grounds:
    """The data that a forecast is based on.

    `asked` of `prompts` prompts have a verdict of at least one scan. `lost` is the share of
    requests that got no verdict. `by_others` prompts were stopped by other topics of the profile
    only.
    """

    settings: ScannerSettings
    scans: int
    prompts: int
    asked: int
    lost: float
    repeats: Repeats
    by_others: int = 0

    @property
    def never_asked(self) -> int:
        """Number of prompts that the guardrail has not judged at any definition."""
        return self.prompts - self.asked

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why the forecast is less certain, as sentences."""
        sentences = []
        name = remote_name(self.settings.kind)
        if self.never_asked:
            sentences.append(
                f"{self.never_asked:,} of {self.prompts:,} prompts were never asked: they get what "
                "the others have taught."
            )
        measured = self.repeats
        if measured.pairs and measured.differing > _DOUBTFUL * measured.pairs:
            sentences.append(
                f"{name} contradicts itself: {measured.differing:,} of {measured.pairs:,} answers "
                "differed when the same definition was scanned again."
            )
        if self.by_others:
            sentences.append(others_text(self.by_others))
        if self.lost > _LOST:
            sentences.append(f"{self.lost:.0%} of the prompts that were asked got no verdict.")
        return tuple(sentences)


@dataclass(frozen=True, eq=False)
class Forecast:
    """The verdicts expected of a guardrail on a definition.

    `triggers` [N] is the probability of each prompt to trigger. `last` int8 [N] is its latest
    verdict on any definition (`Triggered`). `before` is the coverage that the rates are compared
    with: by default that of the latest scan of the whole prompt set.
    """

    topic: Topic
    prompt_set: str
    grounds: Grounds
    triggers: Array
    last: NDArray[np.int8]
    rates: ExpectedRates
    before: float | None

    @property
    def likelier(self) -> NDArray[np.int8]:
        """The more likely verdict of each prompt, int8 [N] (`Triggered`)."""
        return (self.triggers > 0.5).astype(np.int8)

    @property
    def changes(self) -> Array:
        """Probability that each prompt's latest verdict changes, [N]; NaN without a verdict."""
        changed = np.where(self.last == Triggered.YES, 1 - self.triggers, self.triggers)
        changes: Array = np.where(self.last < 0, np.nan, changed)
        return changes

    def flips(self) -> NDArray[np.intp]:
        """Return the prompts whose latest verdict will probably change, most likely first."""
        changes = np.nan_to_num(self.changes)
        order = np.argsort(-changes, kind="stable")
        return order[changes[order] > 0.5]


def guardrails(evaluations: Sequence[Evaluation]) -> list[ScannerSettings]:
    """Return the remote guardrails with evaluations, the latest first."""
    latest: dict[tuple[Guardrail, bool], ScannerSettings] = {}
    for evaluation in reversed(evaluations):
        settings = evaluation.settings
        if settings.kind != ENGINE:
            latest.setdefault((settings.guardrail, settings.is_forecast), settings)
    return list(latest.values())


class Forecaster:
    """A model of one guardrail on one prompt set; made by `fit`."""

    def __init__(
        self,
        reader: EngineReader,
        prompts: PromptSet,
        model: VerdictModel,
        grounds: Grounds,
        last: NDArray[np.int8],
        compared: Evaluation | None,
    ) -> None:
        self._reader, self._prompts, self._model = reader, prompts, model
        self.grounds = grounds
        self._last = last
        self.compared = compared
        """The latest scan of the whole prompt set, or None; forecasts compare coverage with it.

        The coverage of a scan of selected prompts is not that of the set.
        """
        self._before = None if compared is None else compared.metrics.coverage

    def change(
        self,
        before: Topic,
        after: Topic,
        counted: NDArray[np.bool_],
        stopped: Stopped = lambda: False,
    ) -> tuple[RateEstimate, float] | None:
        """Forecast the change of coverage from one definition to another, and of the share matched.

        Only the prompts `counted` (bool [N]) count. Answers of a scan of `before` are used. None if
        stopped, or without prompts of both kinds.
        """
        chances = []
        for topic in (before, after):
            reading = self._reader.read(topic, self._prompts, stopped=stopped)
            if reading is None:
                return None
            chances.append(self._model.chances(reading))
        scan = self.compared
        if scan is not None and scan.topic.model_dump() == before.model_dump():
            answers = answers_for(scan, self._prompts.keys)
            chances[0] = chances[0].with_answers(_matched(answers, before.intent))
        first, second = (known.among(counted) for known in chances)
        coverage = expected_change(first, second, self._prompts.expected[counted])
        if coverage is None:
            return None
        return coverage, float(second.match.mean() - first.match.mean())

    def forecast(
        self,
        topic: Topic,
        stopped: Stopped = lambda: False,
        answered: NDArray[np.int8] | None = None,
        among: NDArray[np.bool_] | None = None,
        *,
        first_scan: bool = False,
        before: float | None = None,
    ) -> Forecast | None:
        """Forecast a definition; returns None if stopped.

        `before` is the coverage to compare with, instead of that of the latest scan.

        `answered` int8 [N] are verdicts of the guardrail on it so far (`Triggered`). In a
        `first_scan` the model knows no others, and the rates are averaged with theirs. `among`
        (bool [N]) restricts the rates to these prompts (default: all).
        """
        reading = self._reader.read(topic, self._prompts, stopped=stopped)
        if reading is None:
            return None
        chances = self._model.chances(reading)
        matched = None if answered is None else _matched(answered, topic.intent)
        if matched is not None:
            chances = chances.with_answers(matched)
        rated = chances if among is None else chances.among(among)
        belongs = self._prompts.expected if among is None else self._prompts.expected[among]
        before = self._before if before is None else before
        rates = expected_rates(rated, belongs, before)
        if first_scan and matched is not None:
            rates = averaged_with_counts(rates, belongs, matched)
        triggers = chances.match
        if topic.intent is Intent.ALLOW:
            triggers = 1 - triggers
            rates = replace(rates, tpr=rates.tnr, tnr=rates.tpr)
        return Forecast(
            topic,
            self._prompts.fingerprint,
            self.grounds,
            triggers,
            self._last,
            rates,
            before,
        )


def fit(
    evaluations: Sequence[Evaluation],
    settings: ScannerSettings,
    prompts: PromptSet,
    reader: EngineReader,
    report: Report = lambda _: None,
    stopped: Stopped = lambda: False,
) -> Forecaster | None:
    """Fit a forecast to all evaluations of one guardrail, oldest first; None if stopped.

    Evaluations of other guardrails are ignored; prompts are matched by content. Raises
    `ForecastError` if there are too few verdicts.
    """
    name = remote_name(settings.kind)
    if not any(_is_of(evaluation, settings) for evaluation in evaluations):
        raise ForecastError(f"{name} has not answered for this definition yet: scan once.")
    answered = [
        (evaluations[index], triggered)
        for index, triggered in scans_of(evaluations, settings, prompts)
    ]
    if not answered:
        raise ForecastError(
            f"{name} was asked other prompts than these: scan once with this prompt set."
        )
    answered = answered[-max(1, min(MOST_SCANS, _MOST_VERDICTS // len(prompts))) :]
    judged = np.stack([triggered >= 0 for _, triggered in answered])
    asked = int(judged.any(axis=0).sum())
    if asked < LEAST_ASKED:
        raise ForecastError(
            f"{name} has given a verdict on {asked} of these prompts; a forecast needs "
            f"{LEAST_ASKED}: scan more."
        )
    fired = int(sum((triggered == Triggered.YES).sum() for _, triggered in answered))
    quiet = int(judged.sum()) - fired
    if min(fired, quiet) < LEAST_OF_EACH:
        raise ForecastError(
            f"{name} triggered on {fired} and let pass {quiet} of the prompts it was asked: a "
            f"forecast needs {LEAST_OF_EACH} of each. Scan a definition in between."
        )
    scans = []
    for evaluation, triggered in answered:
        reading = reader.read(evaluation.topic, prompts, report, stopped)
        if reading is None:
            return None
        scans.append(ScannedDefinition(reading, _matched(triggered, evaluation.topic.intent)))
    repeated = repeats(scans, [evaluation.topic for evaluation, _ in answered])
    model = VerdictModel(scans)
    if repeated.pairs:
        noise = noise_of(repeated, model.chances(scans[-1].reading))
        model = VerdictModel(scans, noise)
    requested = sum(int((triggered != _ABSENT).sum()) for _, triggered in answered)
    grounds = Grounds(
        settings=answered[-1][0].settings,
        scans=len(answered),
        prompts=len(prompts),
        asked=asked,
        lost=1 - int(judged.sum()) / requested,
        repeats=repeated,
        by_others=stopped_by_others([evaluation for evaluation, _ in answered]),
    )
    last = np.full(len(prompts), Triggered.NOT_ASKED, np.int8)
    for _, triggered in answered:
        last = np.where(triggered >= 0, triggered, last).astype(np.int8)
    whole = [
        evaluation
        for evaluation, _ in answered
        if evaluation.prompt_set == prompts.fingerprint and not evaluation.metrics.open
    ]
    return Forecaster(reader, prompts, model, grounds, last, whole[-1] if whole else None)


_ABSENT = int(Triggered.NOT_ASKED)


def stopped_by_others(evaluations: Sequence[Evaluation]) -> int:
    """Count the prompts that only other topics of the profile stopped in any evaluation."""
    keys: set[int] = set()
    for evaluation in evaluations:
        rows = np.flatnonzero(stopped_only_by_others(evaluation.topic, evaluation.verdicts))
        keys.update(evaluation.keys[rows].tolist())
    return len(keys)


def others_text(count: int) -> str:
    """Return a caveat on figures if other topics have stopped so many prompts."""
    were = "prompt was" if count == 1 else "prompts were"
    return (
        f"{count:,} {were} stopped by other topics of the profile: the figures count that, and do "
        "not tell it apart."
    )


def scans_of(
    evaluations: Sequence[Evaluation], settings: ScannerSettings, prompts: PromptSet
) -> list[tuple[int, NDArray[np.int8]]]:
    """Return the evaluations of one guardrail on any of these prompts, oldest first.

    Each comes with its index and its verdicts on the prompts: int8 [N] (`Triggered`).
    """
    aligned = (
        (index, answers_for(evaluation, prompts.keys))
        for index, evaluation in enumerate(evaluations)
        if _is_of(evaluation, settings)
    )
    return [(index, triggered) for index, triggered in aligned if (triggered != _ABSENT).any()]


def _is_of(evaluation: Evaluation, settings: ScannerSettings) -> bool:
    """Return whether an evaluation is of this guardrail, at any revision."""
    own = evaluation.settings
    return own.guardrail == settings.guardrail and own.is_forecast == settings.is_forecast


def _matched(triggered: NDArray[np.int8], intent: Intent) -> NDArray[np.int8]:
    """Return whether the topic matched, int8 [N]; an `allow` topic triggers on non-matches."""
    if intent is Intent.ALLOW:
        return np.where(triggered >= 0, 1 - triggered, -1).astype(np.int8)
    return np.where(triggered >= 0, triggered, -1).astype(np.int8)
