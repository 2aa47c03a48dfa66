"""The judge as `eval` runs it: models, template, options and budget from the command line."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from guardtui.cli import airs_scans, diagnostics
from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.diagnostics import InputError
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.http.model_keys import ModelKeyError
from guardtui.scanners.budget import ANSWER_TOKENS, Prices
from guardtui.scanners.judge.asking import OptionError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.reading import Form, FormError
from guardtui.scanners.judge.scanner import CONCURRENCY, JudgeScanner
from guardtui.scanners.judge.template import Template, load_template
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.template_file import TemplateError

_OPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=(.*)", re.DOTALL)


@dataclass(frozen=True)
class JudgeRun:
    """A judge with the options of the command line. Each evaluation has a budget of its own."""

    options: JudgeOptions
    fresh: bool
    profile: str
    remote = True

    @classmethod
    def of(cls, values: Mapping[str, Any], profile: str) -> JudgeRun:
        """Make it from values of declared options. Raises as `judge_options`."""
        return cls(judge_options(values), bool(values["fresh"]), profile)

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
        """Evaluate with the models, which know no `companions`; verdicts are kept in `journal`.

        Raises ScannerError.
        """
        with open_verdicts(journal) as cache:
            scanner = self.options.scanner(cache, fresh=self.fresh)
            count = 1 if repetition.epochs is None else repetition.epochs.count
            models = len({model.full for model in self.options.models})
            if repetition.begin is None:
                say_work(scanner, topic, repetition.asked_of(prompts), models, epochs=count)
            return asyncio.run(evaluated(scanner, topic, prompts, repetition))

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Say how many prompts have no verdict, and how to go on."""
        limits = []
        if self.options.most_tokens is not None:
            limits.append(f"{self.options.most_tokens} tokens")
        if self.options.most_cost is not None:
            limits.append(f"{self.options.most_cost:g}")
        budget = f"the budget of {' or '.join(limits)}"
        say_incomplete(evaluation, budget, fresh=self.fresh, allowed=allowed)


def judge_options(values: Mapping[str, Any]) -> JudgeOptions:
    """Return the judge for values of declared options, by their keys; missing ones are defaults.

    Raises UsageError or `InputError` naming what is wrong.
    """
    prices = Prices(values.get("price_in") or 0.0, values.get("price_out") or 0.0)
    budget, retries = values.get("budget"), values.get("retries")
    if budget is not None and not (prices.input or prices.output):
        raise click.UsageError(
            "--budget needs prices: give --price-in and --price-out for a million tokens, "
            "or limit the tokens with --max-tokens"
        )
    options = JudgeOptions(
        tuple(_models(values)),
        template=_template(values.get("judge_template")),
        form=_form(values.get("judge_form")),
        options=_options(values.get("model_options") or ()),
        prices=prices,
        most_tokens=values.get("max_tokens"),
        most_cost=budget,
        answer_tokens=values.get("answer_tokens") or ANSWER_TOKENS,
        concurrency=values.get("concurrency") or CONCURRENCY,
        rate=values.get("rate"),
        retries=5 if retries is None else retries,
        allow_http=bool(values.get("allow_http")),
    )
    try:
        options.scanner()
    except OptionError as error:
        raise click.UsageError(f"--model-option: {error}") from error
    return options


def _models(values: Mapping[str, Any]) -> list[ModelAddress]:
    models = values.get("models")
    if not models:
        raise click.UsageError(
            "the judge needs --model URL#name, for example http://localhost:11434/v1#qwen3"
        )
    try:
        return ModelAddress.parse_all(models, allow_http=bool(values.get("allow_http")))
    except ModelKeyError as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise click.UsageError(f"--model: {error}") from error


def _template(path: Path | None) -> Template | None:
    if path is None:
        return None
    try:
        return load_template(path)
    except TemplateError as error:
        raise InputError(
            f"{error}\n  'guardtui judge-template' prints one to start from"
        ) from error


def _form(spec: str | None) -> Form | None:
    if spec is None:
        return None
    try:
        return Form.parse(spec)
    except FormError as error:
        raise click.UsageError(f"--judge-form: {error}") from error


def _options(texts: Sequence[str]) -> dict[str, Any]:
    """Options as they were given, NAME=JSON. Raises UsageError."""
    found: dict[str, Any] = {}
    for text in texts:
        parts = _OPTION.fullmatch(text)
        if parts is None:
            raise click.UsageError(f"--model-option: {text[:80]!r} is not NAME=JSON, as seed=7 is")
        name, value = parts.groups()
        if name in found:
            raise click.UsageError(f"--model-option: {name} is given twice")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise click.UsageError(
                f"--model-option: {name} has no JSON behind its =: a text needs quotes, "
                f"as in '{name}=\"low\"'"
            ) from None
    return found


def say_work(
    scanner: JudgeScanner,
    topic: Topic,
    prompts: PromptSet,
    models: int,
    *,
    epochs: int = 1,
) -> None:
    """Say how many calls a scan will take at most."""
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


def say_incomplete(evaluation: Evaluation, budget: str, *, fresh: bool, allowed: bool) -> None:
    """Say how many prompts have no verdict, and how to go on when the budget was the reason."""
    stopped = evaluation.verdicts.beyond_budget
    if not stopped:
        airs_scans.say_incomplete(evaluation, fresh=fresh, allowed=allowed)
        return
    again = "run the same command again" + (" without --fresh" if fresh else "")
    metrics = evaluation.metrics
    more = metrics.missing - len(stopped)
    say = diagnostics.warn if allowed and not metrics.open else diagnostics.error
    say(
        f"{budget} is reached: {len(stopped)} of {metrics.prompts} prompts were not asked"
        + (f", {more} more have no verdict" * (more > 0))
        + f"\n  verdicts that came are kept: {again} to spend as much again on the others, "
        "or give it more"
    )
