"""Judges and decision models as `eval` runs them: models, thresholds, calls and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from guardtui.cli import airs_scans, diagnostics, signals
from guardtui.cli.diagnostics import InputError
from guardtui.cli.operating_point import kept_threshold, unfittable
from guardtui.cli.options import ONE_RUN, RunOptions
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
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
from guardtui.http.model_keys import ModelKeyError
from guardtui.scanners.configuration import DecisionConfiguration, JudgeConfiguration
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import THRESHOLD, DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.judge_answers import FormError
from guardtui.scanners.models.judge_calls import OptionError
from guardtui.scanners.models.scanner import ModelScanner, Questioner
from guardtui.scanners.models.templates import TemplateError
from guardtui.session.companions import ALONE, Companions

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail

ModelOptions: TypeAlias = JudgeOptions | DecisionOptions


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> ModelRun:
    """Return the run of a judge or decision model. Raises UsageError and `InputError`."""
    if isinstance(guardrail.configuration, JudgeConfiguration):
        return ModelRun(judge_options(guardrail, options), None, options.fresh)
    return ModelRun(decision_options(guardrail, options), options.threshold, options.fresh)


@dataclass(frozen=True)
class ModelRun:
    """Models with the options of the command line; each evaluation has a budget of its own.

    A decision model decides by its own threshold or a `wanted` one; a judge has none.
    """

    options: ModelOptions
    wanted: Wanted
    fresh: bool
    remote = True
    profile = ""

    def settled(
        self, topic_path: Path, topic: Topic, prompts: PromptSet, baseline: Evaluation | None
    ) -> ModelRun:
        """Return a copy that uses the threshold for this topic.

        Without a wanted threshold it is that of the session, or that of a `baseline` by the same
        model, so that the two are comparable.
        """
        options = self.options
        if self.wanted is not None or isinstance(options, JudgeOptions):
            return self
        with airs_scans.open_verdicts() as cache:
            settings = options.scanner(cache).settings
        kept = kept_threshold(topic_path, settings.guardrail)
        if kept is not None:
            return replace(self, options=options.at_threshold(kept, BY_HAND))
        previous = None if baseline is None else baseline.settings
        if (
            previous is None
            or previous.guardrail != settings.guardrail
            or previous.threshold is None
        ):
            return self
        at_previous = options.at_threshold(previous.threshold, previous.threshold_source)
        return replace(self, options=at_previous)

    @property
    def template(self) -> str:
        """Text of the template of a decision model's request, "" for a judge."""
        options = self.options
        return "" if isinstance(options, JudgeOptions) else options.template.current().text

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
        """Evaluate with the models, which ignore `companions`, after a message on calls and cost.

        Raises UsageError and ScannerError.
        """
        if self.wanted == FITTED and repetition.epochs is not None:
            raise click.UsageError(
                "--threshold fitted needs a single epoch: omit --epochs or the threshold"
            )
        with airs_scans.open_verdicts() as cache:
            scanner: ModelScanner[Questioner] = self.options.scanner(cache, fresh=self.fresh)
            epochs = 1 if repetition.epochs is None else repetition.epochs.count
            if repetition.begin is None:
                models = len({model.full for model in self.options.models})
                say_work(scanner, topic, repetition.prompts_of(prompts), models, epochs=epochs)
            return signals.run(evaluated(scanner, topic, prompts, repetition))

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
        say_incomplete(evaluation, self.options.calls, fresh=self.fresh, allowed=allowed)


def judge_options(
    guardrail: NamedGuardrail,
    options: RunOptions = ONE_RUN,
    models: Sequence[ModelAddress] | None = None,
) -> JudgeOptions:
    """Return the judge of a guardrail, with the limits of a run.

    `models` replace those that the guardrail names. Raises UsageError and `InputError`.
    """
    configuration = guardrail.configuration
    assert isinstance(configuration, JudgeConfiguration)  # noqa: S101 - by its kind
    if models is None:
        models = model_addresses(configuration)
    try:
        return JudgeOptions.of(configuration, models, _calls(configuration, options))
    except TemplateError as error:
        raise _template_error(error, "judge") from error
    except FormError as error:
        raise click.UsageError(f"form: {error}") from error
    except OptionError as error:
        raise click.UsageError(f"model-option: {error}") from error


def decision_options(
    guardrail: NamedGuardrail,
    options: RunOptions = ONE_RUN,
    models: Sequence[ModelAddress] | None = None,
) -> DecisionOptions:
    """Return the decision model of a guardrail, with the limits and threshold of a run.

    `models` replace the one that the guardrail names. Raises UsageError and `InputError`.
    """
    configuration = guardrail.configuration
    assert isinstance(configuration, DecisionConfiguration)  # noqa: S101 - by its kind
    (model,) = model_addresses(configuration) if models is None else models
    try:
        known = DecisionOptions.of(configuration, model, _calls(configuration, options))
    except TemplateError as error:
        raise _template_error(error, "decision") from error
    wanted = options.threshold
    return known.at_threshold(wanted, BY_HAND) if isinstance(wanted, float) else known


def _calls(
    configuration: JudgeConfiguration | DecisionConfiguration, options: RunOptions
) -> CallOptions:
    """Return how the models are called. Raises UsageError for a budget of money without prices."""
    if options.budget is not None and not (configuration.price_in or configuration.price_out):
        raise click.UsageError(
            "--budget needs prices: --set price-in=X and --set price-out=X for a million tokens, "
            "or limit the tokens with --max-tokens"
        )
    return CallOptions.of(configuration, options.max_tokens, options.budget)


def _template_error(error: TemplateError, kind: str) -> InputError:
    """Return the error of a template of `judge` or `decision`, with the remedy."""
    return InputError(f"{error}\n  'guardtui guardrails template {kind}' prints one to start from")


def model_addresses(
    configuration: JudgeConfiguration | DecisionConfiguration, more: Sequence[str] = ()
) -> list[ModelAddress]:
    """Return the models of a guardrail and `more`, with their keys.

    Raises UsageError and `InputError`.
    """
    if not configuration.model:
        kind = configuration.kind
        raise click.UsageError(
            f"the {kind} has no model: name one, such as "
            f"--guardrail {kind}:http://localhost:11434/v1#qwen3"
        )
    return parse_models((*configuration.model, *more), allow_http=configuration.allow_http)


def parse_models(models: Sequence[str], *, allow_http: bool) -> list[ModelAddress]:
    """Return models with their keys. Raises UsageError and `InputError`."""
    try:
        return ModelAddress.parse_all(models, allow_http=allow_http)
    except ModelKeyError as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise click.UsageError(f"model: {error}") from error


def estimate_text(tokens: int, prices: Prices | None) -> str:
    """Return roughly how many tokens a run sends, and their cost if prices are known."""
    text = f"about {tokens:,} tokens"
    if prices is not None and (cost := prices.of(tokens, 0)):
        text += f" for {cost:.4g}"
    return text


def say_work(
    scanner: ModelScanner[Questioner],
    topic: Topic,
    prompts: PromptSet,
    models: int = 1,
    *,
    epochs: int = 1,
) -> None:
    """Report the maximum number of calls of a scan, and roughly its tokens and cost."""
    texts = prompts.prompts.to_list()
    missing = cached_answers = 0
    for epoch in range(1, epochs + 1):
        known = scanner.known(topic, prompts, epoch=epoch).tolist()
        missing += len({text for text, cached in zip(texts, known, strict=True) if not cached})
        cached_answers += sum(known)
    count = count_text(len(texts), "prompt")
    if epochs > 1:
        count += f" in {epochs} epochs"
    if not missing:
        diagnostics.note(f"no calls: the verdicts on {count} are in the cache")
        return
    calls = missing * models
    # Cached answers of single models, and the rows to repeat, are unknown here.
    limit = "up to " if models > 1 or epochs > 1 else ""
    of_them = "answers" if epochs > 1 else "of them"
    from_cache = f", {cached_answers} {of_them} from the cache" if cached_answers else ""
    diagnostics.note(f"{limit}{count_text(calls, 'call')} for {count}{from_cache}")
    expense = scanner.expense(topic, texts, None)
    diagnostics.note(f"{expense.text(missing)}. {expense.basis}")


def say_incomplete(
    evaluation: Evaluation, calls: CallOptions, *, fresh: bool, allowed: bool
) -> None:
    """Report the number of prompts without a verdict, and a remedy if the budget is the reason."""
    stopped = evaluation.verdicts.beyond_budget
    if not stopped:
        airs_scans.say_incomplete(evaluation, fresh=fresh, allowed=allowed)
        return
    limits = [] if calls.most_tokens is None else [f"{calls.most_tokens} tokens"]
    if calls.most_cost is not None:
        limits.append(f"{calls.most_cost:g}")
    remedy = "run the same command again" + (" without --fresh" if fresh else "")
    metrics = evaluation.metrics
    more = metrics.missing - len(stopped)
    say = diagnostics.warn if allowed and not metrics.open else diagnostics.error
    say(
        f"the budget of {' or '.join(limits)} is reached: {len(stopped)} of {metrics.prompts} "
        "prompts were not asked"
        + (f", {more} more have no verdict" * (more > 0))
        + f"\n  verdicts received are cached: {remedy} to spend as much again on the others, "
        "or raise the budget"
    )
