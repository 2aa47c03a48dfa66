"""A decision model as `eval` runs it: the model, its question, threshold and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from guardtui.cli import model_scans
from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.operating_point import kept_threshold, unfittable
from guardtui.cli.scan_run import ONCE, Repetition
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    SHIPPED,
    ThresholdFit,
    Wanted,
    at_threshold,
    fit_threshold,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.http.decisions import Api
from guardtui.scanners.budget import Prices
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.decision.scanner import CONCURRENCY, THRESHOLD
from guardtui.scanners.decision.template import load_template
from guardtui.scanners.model_address import ModelAddress
from guardtui.session.companions import ALONE, Companions


@dataclass(frozen=True)
class DecisionRun:
    """A decision model with the options of the command line, by its own threshold or a wanted one.

    Each evaluation has a budget of its own.
    """

    options: DecisionOptions
    wanted: Wanted
    fresh: bool
    profile: str
    remote = True

    @classmethod
    def of(cls, values: Mapping[str, Any], profile: str) -> DecisionRun:
        """Create it from values of declared options. Raises as `decision_options`."""
        return cls(
            decision_options(values), values.get("threshold"), bool(values["fresh"]), profile
        )

    def settled(self, topic_path: Path, baseline: Evaluation | None) -> DecisionRun:
        """Return it with the threshold that holds for this topic.

        Without a wanted threshold it is that of the session, or that of a `baseline` by the same
        model, so that the two are comparable.
        """
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
        options = replace(self.options, threshold=threshold, threshold_source=source)
        return replace(self, options=options)

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
    values: Mapping[str, Any], models: Sequence[ModelAddress] | None = None
) -> DecisionOptions:
    """Return the decision model for values of declared options; missing ones are defaults.

    `models` replace those that the values name. Raises UsageError or `InputError`.
    """
    if models is None:
        example = "https://api.openai.com/v1#NAME"
        models = model_scans.model_addresses(values, "a decision model", example)
    if len(models) > 1:
        raise click.UsageError("--model: a decision scanner asks one model; give it once")
    wanted, retries = values.get("threshold"), values.get("retries")
    by_hand = isinstance(wanted, float)
    return DecisionOptions(
        models[0],
        api=Api(values.get("decision_api") or Api.DECISIONS),
        template=model_scans.read_template(
            load_template, values.get("decision_template"), "decision"
        ),
        prices=model_scans.prices_of(values),
        most_tokens=values.get("max_tokens"),
        most_cost=values.get("budget"),
        concurrency=values.get("concurrency") or CONCURRENCY,
        rate=values.get("rate"),
        retries=5 if retries is None else retries,
        allow_http=bool(values.get("allow_http")),
        threshold=wanted if isinstance(wanted, float) else THRESHOLD,
        threshold_source=BY_HAND if by_hand else SHIPPED,
        questions=values.get("questions"),
    )
