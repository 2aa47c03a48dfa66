"""A decision model as `eval` runs it: the model, its question, threshold and budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from guardtui.cli import model_scans
from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.diagnostics import InputError
from guardtui.cli.operating_point import kept_threshold
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation, ScannerSettings
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
from guardtui.scanners.decision.template import Template, load_template
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.template_file import TemplateError


@dataclass(frozen=True)
class DecisionRun:
    """A decision model with the options of the command line, by its own threshold or a wanted one.

    Each evaluation has a budget of its own.
    """

    options: DecisionOptions
    wanted: Wanted
    fresh: bool
    profile: str
    fit: ThresholdFit | None = None
    """The fit that the threshold is from, if it is from one."""
    remote = True

    @classmethod
    def of(cls, values: Mapping[str, Any], profile: str) -> DecisionRun:
        """Make it from values of declared options. Raises as `decision_options`."""
        return cls(
            decision_options(values), values.get("threshold"), bool(values["fresh"]), profile
        )

    def settled(self, topic_path: Path, baseline: Evaluation | None) -> DecisionRun:
        """Return it with the threshold that holds for this topic.

        Without a wish it is that of the session; else that of a `baseline` by the same model, so
        that the two compare.
        """
        if self.wanted is not None:
            return self
        with open_verdicts() as cache:
            settings = self.options.scanner(cache).settings
        kept = kept_threshold(topic_path, settings.identity)
        if isinstance(kept, ThresholdFit):
            return replace(self._at(kept.threshold, kept.source), fit=kept)
        if kept is not None:
            return self._at(kept, BY_HAND)
        then = None if baseline is None else baseline.settings
        if then is None or then.identity != settings.identity or then.threshold is None:
            return self
        return self._at(then.threshold, then.threshold_source)

    def _at(self, threshold: float, source: str) -> DecisionRun:
        options = replace(self.options, threshold=threshold, threshold_source=source)
        return replace(self, options=options)

    @property
    def template(self) -> str:
        """The text of the template that the model is asked by."""
        return self.options.scanner().template.text

    @property
    def settings(self) -> ScannerSettings:
        """What the verdicts depend on besides topic and prompts."""
        return self.options.scanner().settings

    def evaluate(
        self,
        topic: Topic,
        prompts: PromptSet,
        companions: Sequence[Topic] = (),
        repetition: Repetition = ONCE,
        journal: Path | None = None,
    ) -> Evaluation:
        """Evaluate with the model, which knows no `companions`; answers are kept in `journal`.

        Raises UsageError and ScannerError.
        """
        if self.wanted == FITTED and repetition.epochs is not None:
            raise click.UsageError(
                "--threshold fitted fits the answers of one epoch: leave one out"
            )
        with open_verdicts(journal) as cache:
            scanner = self.options.scanner(cache, fresh=self.fresh)
            count = 1 if repetition.epochs is None else repetition.epochs.count
            if repetition.begin is None:
                model_scans.say_work(scanner, topic, repetition.asked_of(prompts), epochs=count)
            return asyncio.run(evaluated(scanner, topic, prompts, repetition))

    def fitted(self, evaluation: Evaluation) -> tuple[Evaluation, ThresholdFit | None]:
        """Return the evaluation by the wanted threshold, and the fit that it is from.

        A fitted one is found in the scores that came: nothing is asked again. Raises
        `OperatingPointError` when there are too few labels.
        """
        from guardtui.app.operating_point import unfittable

        if self.wanted != FITTED:
            return evaluation, self.fit
        try:
            fit = fit_threshold(evaluation, THRESHOLD)
        except ValueError as reason:
            raise unfittable(reason) from reason
        return at_threshold(evaluation, fit.threshold, fit.source), fit

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Say how many prompts have no verdict, and how to go on."""
        limits = self.options.most_tokens, self.options.most_cost
        model_scans.say_incomplete(evaluation, *limits, fresh=self.fresh, allowed=allowed)


def estimate_text(tokens: int, prices: Prices | None) -> str:
    """Return how many tokens a run sends about, and what they cost where prices are known."""
    text = f"about {tokens:,} tokens"
    if prices is not None and (cost := prices.of(tokens, 0)):
        text += f" for {cost:.4g}"
    return text


def decision_options(
    values: Mapping[str, Any], models: Sequence[ModelAddress] | None = None
) -> DecisionOptions:
    """Return the decision model for values of declared options; missing ones are defaults.

    `models` take the place of those that the values name. Raises UsageError or `InputError` naming
    what is wrong.
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
        template=_template(values.get("decision_template")),
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


def _template(path: Path | None) -> Template | None:
    if path is None:
        return None
    try:
        return load_template(path)
    except TemplateError as error:
        raise InputError(
            f"{error}\n  'guardtui decision-template' prints one to start from"
        ) from error
