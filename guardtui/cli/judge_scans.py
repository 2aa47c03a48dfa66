"""The judge as `eval` runs it: models, template, options and budget from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from guardtui.cli import model_scans
from guardtui.cli.scan_run import ONCE, Repetition
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.budget import ANSWER_TOKENS
from guardtui.scanners.judge.asking import OptionError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.reading import AnswerForm, FormError
from guardtui.scanners.judge.scanner import CONCURRENCY
from guardtui.scanners.judge.template import load_template
from guardtui.scanners.model_address import ModelAddress
from guardtui.session.companions import ALONE, Companions

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
        """Create it from values of declared options. Raises as `judge_options`."""
        return cls(judge_options(values), bool(values["fresh"]), profile)

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
        """Evaluate with the models, which ignore `companions`. Raises ScannerError."""
        models = len({model.full for model in self.options.models})
        return model_scans.scan(
            self.options, topic, prompts, repetition, fresh=self.fresh, models=models
        )

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy."""
        model_scans.say_incomplete(evaluation, self.options, fresh=self.fresh, allowed=allowed)


def judge_options(
    values: Mapping[str, Any], models: Sequence[ModelAddress] | None = None
) -> JudgeOptions:
    """Return the judge for values of declared options, by their keys; missing ones are defaults.

    `models` replace those that the values name. Raises UsageError or `InputError`.
    """
    if models is None:
        models = model_scans.model_addresses(values, "the judge", "http://localhost:11434/v1#qwen3")
    retries = values.get("retries")
    options = JudgeOptions(
        tuple(models),
        template=model_scans.read_template(load_template, values.get("judge_template"), "judge"),
        form=_form(values.get("judge_form")),
        options=_options(values.get("model_options") or ()),
        prices=model_scans.prices_of(values),
        most_tokens=values.get("max_tokens"),
        most_cost=values.get("budget"),
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


def _form(spec: str | None) -> AnswerForm | None:
    if spec is None:
        return None
    try:
        return AnswerForm.parse(spec)
    except FormError as error:
        raise click.UsageError(f"--judge-form: {error}") from error


def _options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options given as NAME=JSON. Raises UsageError."""
    options: dict[str, Any] = {}
    for text in texts:
        parts = _OPTION.fullmatch(text)
        if parts is None:
            raise click.UsageError(
                f"--model-option: {text[:80]!r} is not NAME=JSON, such as seed=7"
            )
        name, value = parts.groups()
        if name in options:
            raise click.UsageError(f"--model-option: {name} is given twice")
        try:
            options[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise click.UsageError(
                f"--model-option: {name} needs JSON after the =; text needs quotes, "
                f"as in '{name}=\"low\"'"
            ) from None
    return options
