"""The judge as the command line names it: models, template, options, budget, what it used."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError

if TYPE_CHECKING:
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.http.fleet import Member
    from guardtui.scanners.base import Progress, VerdictCache
    from guardtui.scanners.judge.endpoints import EndpointLine
    from guardtui.scanners.judge.options import JudgeOptions
    from guardtui.scanners.judge.reading import Form
    from guardtui.scanners.judge.scanner import JudgeScanner, ModelAddress
    from guardtui.scanners.judge.template import Template

_OPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,63})=(.*)", re.DOTALL)
_BUDGET_REACHED = "not asked: the budget"


@dataclass(frozen=True, slots=True)
class JudgeFlags:
    """What was given on the command line, by the names of the options."""

    models: tuple[str, ...] = ()
    endpoints: Path | None = None
    judge_template: Path | None = None
    judge_form: str | None = None
    model_options: tuple[str, ...] = ()
    allow_http: bool = False
    budget: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_tokens: int | None = None
    answer_tokens: int | None = None

    def given(self) -> dict[str, object]:
        """The options that were given, by their names, None for the others."""
        values = {
            "--model": self.models,
            "--endpoints": self.endpoints,
            "--judge-template": self.judge_template,
            "--judge-form": self.judge_form,
            "--model-option": self.model_options,
            "--allow-http": self.allow_http,
            "--budget": self.budget,
            "--price-in": self.price_in,
            "--price-out": self.price_out,
            "--max-tokens": self.max_tokens,
            "--answer-tokens": self.answer_tokens,
        }
        unset: tuple[object, ...] = ((), False)
        return {name: None if value in unset else value for name, value in values.items()}


def make_judge(
    flags: JudgeFlags,
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    retries: int | None = None,
    fresh: bool = False,
    cache: VerdictCache | None = None,
) -> JudgeScanner:
    """The scanner that was asked for. Raises UsageError or `InputError` naming what is wrong."""
    options = judge_options(flags, concurrency=concurrency, rate=rate, retries=retries)
    return options.scanner(cache, fresh=fresh, went_out=say_out)


def say_out(told: str) -> None:
    """Warn that an endpoint is disabled, on a line of its own."""
    diagnostics.progress("")
    diagnostics.warn(told)


def judge_options(
    flags: JudgeFlags,
    *,
    concurrency: int | None = None,
    rate: float | None = None,
    retries: int | None = None,
) -> JudgeOptions:
    """The judge that was asked for. Raises UsageError or `InputError` naming what is wrong."""
    from guardtui.scanners.judge.asking import OptionError
    from guardtui.scanners.judge.budget import ANSWER_TOKENS, Prices
    from guardtui.scanners.judge.options import JudgeOptions
    from guardtui.scanners.judge.scanner import CONCURRENCY

    prices = Prices(flags.price_in or 0.0, flags.price_out or 0.0)
    if flags.budget is not None and not (prices.input or prices.output):
        raise click.UsageError(
            "--budget needs prices: give --price-in and --price-out for a million tokens, "
            "or limit the tokens with --max-tokens"
        )
    options = JudgeOptions(
        tuple(_models(flags)),
        template=_template(flags.judge_template),
        form=_form(flags.judge_form),
        options=_options(flags.model_options),
        prices=prices,
        most_tokens=flags.max_tokens,
        most_cost=flags.budget,
        answer_tokens=flags.answer_tokens or ANSWER_TOKENS,
        concurrency=concurrency or CONCURRENCY,
        rate=rate,
        retries=5 if retries is None else retries,
        allow_http=flags.allow_http,
        endpoints=_endpoints(flags),
    )
    try:
        options.scanner()
    except OptionError as error:
        raise click.UsageError(f"--model-option: {error}") from error
    return options


def _models(flags: JudgeFlags) -> list[ModelAddress]:
    from guardtui.http.model_keys import ModelKeyError
    from guardtui.scanners.judge.scanner import ModelAddress

    if not flags.models:
        raise click.UsageError(
            "the judge needs --model URL#name, for example http://localhost:11434/v1#qwen3"
        )
    if flags.endpoints is not None:
        return [ModelAddress("", _name(one)) for one in flags.models]
    try:
        return ModelAddress.parse_all(flags.models, allow_http=flags.allow_http)
    except ModelKeyError as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise click.UsageError(f"--model: {error}") from error


def _name(text: str) -> str:
    """The name of a model that endpoints serve. Raises UsageError."""
    name = text.strip()
    if "://" in name:
        alone = name.partition("#")[2] or "my-model"
        raise click.UsageError(
            f"--model: with --endpoints the name stands alone, as in --model {alone[:80]!r}"
        )
    if not name or len(name) > 256 or not name.isprintable():
        raise click.UsageError(f"--model: {name[:80]!r} is no name of a model")
    return name


def _endpoints(flags: JudgeFlags) -> tuple[EndpointLine, ...]:
    """The endpoints of the file. Raises `InputError` telling all that is wrong with it."""
    from guardtui.http.model_keys import ModelKeyError
    from guardtui.scanners.judge.endpoints import EndpointsProblem, read_endpoints

    if flags.endpoints is None:
        return ()
    try:
        return read_endpoints(flags.endpoints, allow_http=flags.allow_http)
    except ModelKeyError as error:
        remedy = f"or write key_env=VARIABLE on lines of {flags.endpoints}"
        raise InputError(f"{error}\n  {remedy}") from error
    except EndpointsProblem as problem:
        raise InputError(str(problem)) from problem


def _template(path: Path | None) -> Template | None:
    from guardtui.scanners.judge.template import TemplateError, load_template

    if path is None:
        return None
    try:
        return load_template(path)
    except TemplateError as error:
        raise InputError(
            f"{error}\n  'guardtui judge-template' prints one to start from"
        ) from error


def _form(spec: str | None) -> Form | None:
    from guardtui.scanners.judge.reading import Form, FormError

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


def progress_text(now: Progress) -> str:
    """One line for the progress of a scan, with what a model used where one is asked."""
    from guardtui.reports.base import usage_text

    parts = [f"{now.phase} {now.done}/{now.total}"]
    if now.errors:
        parts.append(f"{now.errors} without a verdict")
    traffic = None if now.traffic is None else now.traffic()
    if traffic is not None and traffic.used is not None and traffic.used.calls:
        parts.append(usage_text(traffic.used))
    if traffic is not None and traffic.endpoints[1]:
        working, count = traffic.endpoints
        parts.append(f"{traffic.in_flight} in flight, {working} of {count} endpoints work")
    return ", ".join(parts)


def endpoint_text(member: Member) -> str:
    """What was asked of an endpoint, and how it fared."""
    parts = [f"{member.calls} call{'s' * (member.calls != 1)}"]
    parts.append(f"{member.errors} error{'s' * (member.errors != 1)}")
    if member.refused:
        parts.append(f"{member.refused} refused (429)")
    if member.aside:
        parts.append(f"set aside {member.aside} time{'s' * (member.aside != 1)}")
    if member.out:
        parts.append(f"asked no more: {member.out}")
    elif member.aside:
        parts.append(f"the last failure: {member.last}")
    return ", ".join(parts)


def say_endpoints(scanner: JudgeScanner) -> None:
    """Say of each endpoint what was asked of it; nothing when none was asked."""
    if any(one.calls for one in scanner.members):
        for one in scanner.members:
            diagnostics.note(f"endpoint {one.endpoint}: {endpoint_text(one)}")


def say_incomplete(evaluation: Evaluation, *, fresh: bool, allowed: bool) -> None:
    """Say how many prompts have no verdict, and how to go on when the budget was the reason."""
    from guardtui.cli import airs_scans

    errors = evaluation.verdicts.errors
    stopped = [told for told in errors.values() if told.startswith(_BUDGET_REACHED)]
    if not stopped:
        airs_scans.say_incomplete(evaluation, fresh=fresh, allowed=allowed)
        return
    budget = stopped[-1].removeprefix("not asked: ").partition(" could be passed")[0]
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
