"""A decision model as `eval` runs it: the model, its question, threshold and budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli import model_scans
from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.operating_point import kept_threshold, unfittable
from guardtui.cli.options import ONE_RUN, RunOptions
from guardtui.cli.scan_run import ONCE, Repetition
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    ThresholdFit,
    Wanted,
    at_threshold,
    fit_threshold,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.budget import Prices
from guardtui.scanners.configuration import DecisionConfiguration
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.decision.scanner import THRESHOLD
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.template_file import TemplateError
from guardtui.session.companions import ALONE, Companions

if TYPE_CHECKING:
    from guardtui.app.named_guardrails import NamedGuardrail


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> DecisionRun:
    """Return the run of a decision model. Raises as `decision_options`."""
    return DecisionRun(decision_options(guardrail, options), options.threshold, options.fresh)


@dataclass(frozen=True)
class DecisionRun:
    """A decision model with the options of the command line, by its own threshold or a wanted one.

    Each evaluation has a budget of its own.
    """

    options: DecisionOptions
    wanted: Wanted
    fresh: bool
    remote = True
    profile = ""

    def settled(
        self, topic_path: Path, topic: Topic, prompts: PromptSet, baseline: Evaluation | None
    ) -> DecisionRun:
        """Return a copy that uses the threshold for this topic.

        Without a wanted threshold it is that of the session, or that of a `baseline` by the same
        model, so that the two are comparable.
        """
        return self._settled(topic_path, baseline)

    def _settled(self, topic_path: Path, baseline: Evaluation | None) -> DecisionRun:
        if self.wanted is not None:
            return self
        with open_verdicts() as cache:
            settings = self.options.scanner(cache).settings
        kept = kept_threshold(topic_path, settings.guardrail)
        if kept is not None:
            return self._at(kept, BY_HAND)
        previous = None if baseline is None else baseline.settings
        if (
            previous is None
            or previous.guardrail != settings.guardrail
            or previous.threshold is None
        ):
            return self
        return self._at(previous.threshold, previous.threshold_source)

    def _at(self, threshold: float, source: str) -> DecisionRun:
        return replace(self, options=self.options.at_threshold(threshold, source))

    @property
    def template(self) -> str:
        """Text of the template of the request."""
        return self.options.scanner().template.text

    @property
    def settings(self) -> ScannerSettings:
        """Everything that the verdicts depend on besides topic and prompts."""
        return self.options.scanner().settings

    def evaluate(
        self,
        topic: Topic,
        prompts: PromptSet,
        companions: Companions = ALONE,
        repetition: Repetition = ONCE,
    ) -> Evaluation:
        """Evaluate with the model, which ignores `companions`.

        Raises UsageError and ScannerError.
        """
        if self.wanted == FITTED and repetition.epochs is not None:
            raise click.UsageError(
                "--threshold fitted needs a single epoch: omit --epochs or the threshold"
            )
        return model_scans.scan(self.options, topic, prompts, repetition, fresh=self.fresh)

    def fitted(self, evaluation: Evaluation) -> tuple[Evaluation, ThresholdFit | None]:
        """Return the evaluation at the wanted threshold, and the fit behind it, if any.

        A threshold is fitted to the scores of the evaluation, without further requests. Raises
        `OperatingPointError` if there are too few labels.
        """
        if self.wanted != FITTED:
            return evaluation, None
        try:
            fit = fit_threshold(evaluation, THRESHOLD)
        except ValueError as reason:
            raise unfittable(reason) from reason
        return at_threshold(evaluation, fit.threshold, fit.source), fit

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy."""
        model_scans.say_incomplete(evaluation, self.options, fresh=self.fresh, allowed=allowed)


def estimate_text(tokens: int, prices: Prices | None) -> str:
    """Return roughly how many tokens a run sends, and their cost if prices are known."""
    text = f"about {tokens:,} tokens"
    if prices is not None and (cost := prices.of(tokens, 0)):
        text += f" for {cost:.4g}"
    return text


def decision_options(
    guardrail: NamedGuardrail,
    options: RunOptions = ONE_RUN,
    models: Sequence[ModelAddress] | None = None,
    *,
    questions: int | None = None,
) -> DecisionOptions:
    """Return the decision model of a guardrail, with the limits and threshold of a run.

    `models` replace the one that the guardrail names; `questions` is the maximum per request.
    Raises UsageError and `InputError`.
    """
    configuration = guardrail.configuration
    assert isinstance(configuration, DecisionConfiguration)  # noqa: S101 - by its kind
    (model,) = model_scans.model_addresses(configuration) if models is None else models
    model_scans.require_prices(configuration, options)
    try:
        known = DecisionOptions.of(
            configuration,
            model,
            most_tokens=options.max_tokens,
            most_cost=options.budget,
            questions=questions,
        )
    except TemplateError as error:
        raise model_scans.template_error(error, "decision") from error
    wanted = options.threshold
    return known.at_threshold(wanted, BY_HAND) if isinstance(wanted, float) else known
