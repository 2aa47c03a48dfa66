"""What commands that scan with models share: addresses, prices, work to do, a spent budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import click
import numpy as np
from numpy.typing import NDArray

from guardtui.cli import airs_scans, diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.http.model_keys import ModelKeyError
from guardtui.scanners.budget import Prices
from guardtui.scanners.expense import CallExpense
from guardtui.scanners.model_address import ModelAddress


class KnowsVerdicts(Protocol):
    """A scanner that knows which prompts its cache answers in an epoch."""

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Which prompts would be answered without a call, bool [N]."""

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """What a call will use."""


def model_addresses(values: Mapping[str, Any], who: str, example: str) -> list[ModelAddress]:
    """The models that --model names, with their keys. Raises UsageError and `InputError`."""
    models = values.get("models")
    if not models:
        raise click.UsageError(f"{who} needs --model URL#name, for example {example}")
    try:
        return ModelAddress.parse_all(models, allow_http=bool(values.get("allow_http")))
    except ModelKeyError as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise click.UsageError(f"--model: {error}") from error


def prices_of(values: Mapping[str, Any]) -> Prices:
    """The prices that were given. Raises UsageError for a budget of money without any."""
    prices = Prices(values.get("price_in") or 0.0, values.get("price_out") or 0.0)
    if values.get("budget") is not None and not (prices.input or prices.output):
        raise click.UsageError(
            "--budget needs prices: give --price-in and --price-out for a million tokens, "
            "or limit the tokens with --max-tokens"
        )
    return prices


def say_work(
    scanner: KnowsVerdicts,
    topic: Topic,
    prompts: PromptSet,
    models: int = 1,
    *,
    epochs: int = 1,
) -> None:
    """Say how many calls a scan will take at most, and about how many tokens and what they cost."""
    texts = prompts.prompts.to_list()
    missing = kept = 0
    for epoch in range(1, epochs + 1):
        known = scanner.known(topic, prompts, epoch=epoch).tolist()
        missing += len({text for text, one in zip(texts, known, strict=True) if not one})
        kept += sum(known)
    count = f"{len(texts)} prompt{'s' * (len(texts) != 1)}"
    if epochs > 1:
        count += f" in {epochs} epochs"
    if not missing:
        diagnostics.note(f"no calls: the verdicts on {count} are in the cache")
        return
    calls = missing * models
    # What one model of several has answered is not told apart here, nor which rows are repeated.
    said = f"{'up to ' if models > 1 or epochs > 1 else ''}{calls} call{'s' * (calls != 1)}"
    of_them = "answers" if epochs > 1 else "of them"
    from_cache = f", {kept} {of_them} from the cache" if kept else ""
    diagnostics.note(f"{said} for {count}{from_cache}")
    expense = scanner.expense(topic, texts, None)
    diagnostics.note(f"{expense.text(missing)}. {expense.basis}")


def say_incomplete(
    evaluation: Evaluation,
    most_tokens: int | None,
    most_cost: float | None,
    *,
    fresh: bool,
    allowed: bool,
) -> None:
    """Say how many prompts have no verdict, and how to go on when the budget was the reason."""
    stopped = evaluation.verdicts.beyond_budget
    if not stopped:
        airs_scans.say_incomplete(evaluation, fresh=fresh, allowed=allowed)
        return
    limits = [] if most_tokens is None else [f"{most_tokens} tokens"]
    if most_cost is not None:
        limits.append(f"{most_cost:g}")
    again = "run the same command again" + (" without --fresh" if fresh else "")
    metrics = evaluation.metrics
    more = metrics.missing - len(stopped)
    say = diagnostics.warn if allowed and not metrics.open else diagnostics.error
    say(
        f"the budget of {' or '.join(limits)} is reached: {len(stopped)} of {metrics.prompts} "
        "prompts were not asked"
        + (f", {more} more have no verdict" * (more > 0))
        + f"\n  verdicts that came are kept: {again} to spend as much again on the others, "
        "or give it more"
    )
