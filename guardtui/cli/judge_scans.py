"""The judge as `eval` runs it: models, template, options and budget from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli import model_scans
from guardtui.cli.options import ONE_RUN, RunOptions
from guardtui.cli.scan_run import ONCE, Repetition
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.configuration import JudgeConfiguration
from guardtui.scanners.judge.asking import OptionError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.reading import FormError
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.template_file import TemplateError
from guardtui.session.companions import ALONE, Companions

if TYPE_CHECKING:
    from guardtui.app.named_guardrails import NamedGuardrail


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> JudgeRun:
    """Return the run of a judge. Raises as `judge_options`."""
    return JudgeRun(judge_options(guardrail, options), options.fresh)


@dataclass(frozen=True)
class JudgeRun:
    """A judge with the options of the command line. Each evaluation has a budget of its own."""

    options: JudgeOptions
    fresh: bool
    remote = True
    profile = template = ""

    @property
    def settings(self) -> ScannerSettings:
        """Everything that the verdicts depend on besides topic and prompts."""
        return self.options.scanner().settings

    def settled(
        self, topic_path: Path, topic: Topic, prompts: PromptSet, baseline: Evaluation | None
    ) -> JudgeRun:
        """Return it unchanged: a judge has no threshold."""
        return self

    def fitted(self, evaluation: Evaluation) -> tuple[Evaluation, ThresholdFit | None]:
        """Return the evaluation, which has no threshold."""
        return evaluation, None

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
        models = model_scans.model_addresses(configuration)
    model_scans.require_prices(configuration, options)
    try:
        return JudgeOptions.of(
            configuration, models, most_tokens=options.max_tokens, most_cost=options.budget
        )
    except TemplateError as error:
        raise model_scans.template_error(error, "judge") from error
    except FormError as error:
        raise click.UsageError(f"form: {error}") from error
    except OptionError as error:
        raise click.UsageError(f"model-option: {error}") from error
