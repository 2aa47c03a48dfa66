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

from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.diagnostics import InputError
from guardtui.cli.model_scans import model_addresses, prices_of, say_incomplete, say_work
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.budget import ANSWER_TOKENS
from guardtui.scanners.judge.asking import OptionError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.reading import Form, FormError
from guardtui.scanners.judge.scanner import CONCURRENCY
from guardtui.scanners.judge.template import Template, load_template
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
        limits = self.options.most_tokens, self.options.most_cost
        say_incomplete(evaluation, *limits, fresh=self.fresh, allowed=allowed)


def judge_options(values: Mapping[str, Any]) -> JudgeOptions:
    """Return the judge for values of declared options, by their keys; missing ones are defaults.

    Raises UsageError or `InputError` naming what is wrong.
    """
    retries = values.get("retries")
    options = JudgeOptions(
        tuple(model_addresses(values, "the judge", "http://localhost:11434/v1#qwen3")),
        template=_template(values.get("judge_template")),
        form=_form(values.get("judge_form")),
        options=_options(values.get("model_options") or ()),
        prices=prices_of(values),
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
