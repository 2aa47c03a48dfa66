"""Scans with models, for judges and decision models: addresses, prices, calls, budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import click
import numpy as np
from numpy.typing import NDArray

from guardtui.cli import airs_scans, diagnostics, signals
from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import RunOptions
from guardtui.cli.scan_run import Repetition, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.http.model_keys import ModelKeyError
from guardtui.scanners.base import RemoteScanner
from guardtui.scanners.configuration import DecisionConfiguration, JudgeConfiguration
from guardtui.scanners.expense import CallExpense
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.template_file import TemplateError
from guardtui.session.verdict_cache import SqliteVerdicts


class KnowsVerdicts(Protocol):
    """A scanner that knows which prompts its cache answers in an epoch."""

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Return which prompts would be answered without a call, bool [N]."""

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return the expected usage of a call."""


class ModelScanner(KnowsVerdicts, RemoteScanner, Protocol):
    """A remote scanner that asks models."""


class ModelOptions(Protocol):
    """The options of a scanner that asks models, and its budget."""

    @property
    def most_tokens(self) -> int | None:
        """Maximum number of tokens of a run."""

    @property
    def most_cost(self) -> float | None:
        """Maximum cost of a run."""

    def scanner(self, cache: SqliteVerdicts, *, fresh: bool) -> ModelScanner:
        """Return a scanner with these options."""


def scan(
    options: ModelOptions,
    topic: Topic,
    prompts: PromptSet,
    repetition: Repetition,
    *,
    fresh: bool,
    models: int = 1,
) -> Evaluation:
    """Evaluate with models, after a message on calls and cost. Raises ScannerError."""
    with airs_scans.open_verdicts() as cache:
        scanner = options.scanner(cache, fresh=fresh)
        epochs = 1 if repetition.epochs is None else repetition.epochs.count
        if repetition.begin is None:
            say_work(scanner, topic, repetition.prompts_of(prompts), models, epochs=epochs)
        return signals.run(evaluated(scanner, topic, prompts, repetition))


def template_error(error: TemplateError, kind: str) -> InputError:
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


def require_prices(
    configuration: JudgeConfiguration | DecisionConfiguration, options: RunOptions
) -> None:
    """Raise UsageError for a budget of money without prices."""
    if options.budget is not None and not (configuration.price_in or configuration.price_out):
        raise click.UsageError(
            "--budget needs prices: --set price-in=X and --set price-out=X for a million tokens, "
            "or limit the tokens with --max-tokens"
        )


def say_work(
    scanner: KnowsVerdicts,
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
    evaluation: Evaluation, options: ModelOptions, *, fresh: bool, allowed: bool
) -> None:
    """Report the number of prompts without a verdict, and a remedy if the budget is the reason."""
    stopped = evaluation.verdicts.beyond_budget
    if not stopped:
        airs_scans.say_incomplete(evaluation, fresh=fresh, allowed=allowed)
        return
    limits = [] if options.most_tokens is None else [f"{options.most_tokens} tokens"]
    if options.most_cost is not None:
        limits.append(f"{options.most_cost:g}")
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
