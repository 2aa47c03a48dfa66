"""Scans by judges and decision models: models, thresholds, calls and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from guardtui.app.guardrails.choice import model_options
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.cli import diagnostics, signals
from guardtui.cli.operating_point import unfittable
from guardtui.cli.options import RunOptions
from guardtui.cli.scans.run import ScanJob, evaluated
from guardtui.cli.scans.services import open_verdicts, say_incomplete
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    ThresholdFit,
    Wanted,
    at_threshold,
    fit_threshold,
)
from guardtui.http.address import AddressError
from guardtui.scanners.configuration import (
    Configuration,
    DecisionConfiguration,
    JudgeConfiguration,
)
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import THRESHOLD, DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.scanner import ModelScanner, Questioner
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.chosen_thresholds import read_decision_threshold, settings_of_session
from guardtui.session.store import StoreError

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> ModelRun:
    """Return the run of a judge or decision model. Raises UsageError and GuardrailError."""
    return ModelRun(configured_model(guardrail.configuration), options.threshold, options.fresh)


@dataclass(frozen=True)
class ModelRun:
    """Models with the options of the command line; each evaluation has a budget of its own.

    A decision model decides by its own threshold or a `wanted` one; a judge has none.
    """

    options: ModelOptions
    wanted: Wanted
    fresh: bool
    remote = True
    engine = None
    doubt = None

    @property
    def template(self) -> str:
        """Text of the template of a decision model's request, "" for a judge."""
        options = self.options
        return options.template.current().text if isinstance(options, DecisionOptions) else ""

    @property
    def stored_template(self) -> tuple[str, str] | None:
        """Id and text of the template of a request."""
        template = self.options.template.current()
        return template.id, template.text

    @property
    def guardrail(self) -> Guardrail:
        """The models, as far as they are known before they answer."""
        return self.options.scanner().settings.guardrail

    def evaluate(self, job: ScanJob) -> tuple[Evaluation, ThresholdFit | None]:
        """Evaluate with the models, without companions, after a message on calls and cost.

        A threshold is fitted to the scores, without further requests. Raises UsageError,
        ScannerError, and `OperatingPointError` if there are too few labels to fit one.
        """
        if self.wanted == FITTED and job.epochs is not None:
            raise click.UsageError(
                "--threshold fitted needs a single epoch: omit --epochs or the threshold"
            )
        with open_verdicts() as cache:
            scanner: ModelScanner[Questioner] = self._settled(job, cache).scanner(
                cache, fresh=self.fresh
            )
            if job.begin is None:
                models = len({model.full for model in self.options.models})
                _say_work(scanner, job, models)
            evaluation = signals.run(evaluated(scanner, job))
        if self.wanted != FITTED:
            return evaluation, None
        try:
            fit = fit_threshold(evaluation, THRESHOLD)
        except ValueError as reason:
            raise unfittable(reason) from reason
        return at_threshold(evaluation, fit.threshold, fit.source), fit

    def _settled(self, job: ScanJob, cache: SqliteVerdicts) -> ModelOptions:
        """Return the options with the threshold for this topic.

        Without a wanted threshold it is that of the session, or that of a baseline by the same
        model, so that the two are comparable.
        """
        options = self.options
        if not isinstance(options, DecisionOptions) or self.wanted == FITTED:
            return options
        if isinstance(self.wanted, float):
            return options.at_threshold(self.wanted, BY_HAND)
        if self.wanted is not None:
            return options
        guardrail = options.scanner(cache).settings.guardrail
        try:
            kept = read_decision_threshold(settings_of_session(job.topic_path), guardrail)
        except StoreError as error:
            diagnostics.warn(f"{error}\n  the threshold chosen in it is unknown")
            kept = None
        if kept is not None:
            return options.at_threshold(kept, BY_HAND)
        known = None if job.baseline is None else job.baseline.settings
        if known is None or known.guardrail != guardrail or known.threshold is None:
            return options
        return options.at_threshold(known.threshold, known.threshold_source)

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy."""
        calls = self.options.calls
        limits = [] if calls.most_tokens is None else [f"{calls.most_tokens} tokens"]
        if calls.most_cost is not None:
            limits.append(f"{calls.most_cost:g}")
        say_incomplete(evaluation, " or ".join(limits), fresh=self.fresh, allowed=allowed)


def configured_model(
    configuration: Configuration, models: Sequence[ModelAddress] | None = None
) -> ModelOptions:
    """Return the judge or decision model of a configuration.

    `models` replace those that it names. Raises UsageError, `InputError` and GuardrailError.
    """
    assert isinstance(configuration, JudgeConfiguration | DecisionConfiguration)  # noqa: S101
    if models is None:
        models = parse_models(configuration.model, allow_http=configuration.allow_http)
    if not models:
        kind = configuration.kind
        raise click.UsageError(
            f"the {kind} has no model: name one, such as "
            f"--guardrail {kind}:http://localhost:11434/v1#qwen3"
        )
    return model_options(configuration, models)


def parse_models(models: Sequence[str], *, allow_http: bool) -> list[ModelAddress]:
    """Return models with their keys. Raises UsageError and ModelKeyError."""
    try:
        return ModelAddress.parse_all(models, allow_http=allow_http)
    except AddressError as error:
        raise click.UsageError(f"model: {error}") from error


def models_and_writer(
    models: Sequence[str],
    writer: str | None,
    *,
    allow_http: bool,
    retries: int | None = None,
    max_tokens: int | None = None,
) -> tuple[list[ModelAddress], JudgeOptions | None]:
    """Return the models and the writer, or None, each with its own key.

    Raises UsageError and `InputError`.
    """
    if writer is None:
        return parse_models(models, allow_http=allow_http), None
    from guardtui.http.openai import parse_model  # an HTTP client, for a writer only

    try:
        parse_model(writer, allow_http=allow_http)
    except AddressError as error:
        raise click.UsageError(f"--writer: {error}") from error
    *others, model = parse_models((*models, writer), allow_http=allow_http)
    return others, JudgeOptions(
        (model,),
        calls=CallOptions(
            most_tokens=max_tokens,
            retries=CallOptions.retries if retries is None else retries,
            allow_http=allow_http,
        ),
    )


def _say_work(scanner: ModelScanner[Questioner], job: ScanJob, models: int) -> None:
    """Report the maximum number of calls of a scan, and roughly its tokens and cost."""
    topic, prompts, epochs = job.topic, job.scanned, job.epoch_count
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
    # Cached answers of single models, and the rows to repeat, are unknown here.
    limit = "up to " if models > 1 or epochs > 1 else ""
    of_them = "answers" if epochs > 1 else "of them"
    from_cache = f", {cached_answers} {of_them} from the cache" if cached_answers else ""
    diagnostics.note(f"{limit}{count_text(missing * models, 'call')} for {count}{from_cache}")
    expense = scanner.expense(topic, texts, None)
    diagnostics.note(f"{expense.text(missing)}. {expense.basis}")
