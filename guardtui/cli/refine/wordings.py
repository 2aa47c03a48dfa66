"""`guardtui refine` with a decision model: try wordings on a decision model."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import click

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_objective import CHOSEN_ON, WordingSweep, sweep_wordings
from guardtui.advice.model_wordings import SuggestionError, shown_mistakes
from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.app.advice.wordings import (
    WORDINGS,
    WriterError,
    WritingCall,
    gather_wordings,
    questions_about,
    read_wordings,
    shortlist,
)
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_scans import open_verdicts
from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import DECISION, Function, GuardrailFlags
from guardtui.cli.model_scans import decision_options, estimate_text
from guardtui.cli.operating_point import show_progress
from guardtui.cli.options import FILE, RunOptions, writer_option
from guardtui.cli.progress import watched
from guardtui.cli.writers import models_and_writer
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Usage
from guardtui.reports.base import usage_text
from guardtui.scanners.base import Progress
from guardtui.scanners.configuration import DecisionConfiguration
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.many import ManyAnswers, ManyPlan, ManyQuestions


@dataclass(frozen=True, slots=True)
class WordingOptions:
    """Options of a sweep that are no keys of a guardrail; None and False without a value."""

    wordings: Path | None = None
    count: int | None = None
    writer: str | None = None
    questions: int | None = None
    max_tokens: int | None = None
    fresh: bool = False
    yes: bool = False


def wording_options(function: Function) -> Function:
    """Add the options of a sweep."""
    for add in reversed(
        (
            click.option(
                "--wordings",
                type=FILE,
                metavar="FILE",
                help="With a decision model: descriptions to try, one a line, before any others.",
            ),
            click.option(
                "--count",
                type=click.IntRange(2, 1000),
                metavar="N",
                help="With a decision model: wordings to try, with the definition (default: "
                f"{WORDINGS}).",
            ),
            writer_option("With a decision model: a language model that writes further wordings."),
            click.option(
                "--questions",
                type=click.IntRange(1, 1000),
                metavar="N",
                help="With a decision model: questions in a request (default: 200; systemone: 64).",
            ),
            click.option(
                "--max-tokens",
                type=click.IntRange(1),
                metavar="N",
                help="Maximum tokens of the whole run, which stops before it exceeds them.",
            ),
            click.option("--fresh", is_flag=True, help="Ignore cached answers."),
            click.option(
                "--yes",
                is_flag=True,
                help="With a decision model: make the requests without asking first.",
            ),
        )
    ):
        function = add(function)
    return function


@dataclass(frozen=True)
class SweptWordings:
    """Result of a sweep, and its cost."""

    sweep: WordingSweep
    used: Usage
    complete: bool


def sweep(
    guardrail: NamedGuardrail,
    values: WordingOptions,
    topic: Topic,
    prompts: PromptSet,
    engine: LocalScanner,
) -> SweptWordings | None:
    """Try all wordings and choose; return None if the author did not agree to the cost.

    Raises UsageError, `InputError` and ScannerError.
    """
    yes, fresh = values.yes, values.fresh
    configuration = guardrail.configuration
    assert isinstance(configuration, DecisionConfiguration)  # noqa: S101 - by its kind
    models, writer = models_and_writer(
        configuration.model,
        values.writer,
        allow_http=configuration.allow_http,
        retries=configuration.retries,
        max_tokens=values.max_tokens,
    )
    limits = RunOptions(max_tokens=values.max_tokens)
    options = replace(decision_options(guardrail, limits, models), questions=values.questions)
    try:
        split = split_prompts(prompts, CHOSEN_ON)
    except SplitError as error:
        raise InputError(f"{prompts.source}: {error}") from error
    typed = [] if values.wordings is None else read_wordings(values.wordings, topic)
    for wording in typed:
        for broken in violations(wording.topic):
            diagnostics.warn(f"{wording.origin}: {broken.message}: AIRS would refuse it")
    by_model = _Written()
    if writer is not None:
        answer = _written(writer, engine, topic, prompts, split, yes=yes, fresh=fresh)
        if answer is None:
            return None
        by_model = answer
        options = _rest_of_budget(options, by_model.used)
    written = by_model.wordings
    count = values.count or WORDINGS
    searched: Sequence[Candidate] = ()
    if (rest := count - 1 - len(typed) - len(written)) > 0:
        searched = shortlist(engine, topic, prompts, split, rest, show_progress)
        diagnostics.progress("")
    wordings = gather_wordings(topic, typed, written, searched, count)
    if len(wordings) < 2:
        if by_model.failure is not None:
            raise by_model.failure
        raise InputError("no other wordings to try\n  give some with --wordings FILE")
    with open_verdicts() as cache:
        scanner = options.scanner(cache, fresh=fresh)
        questions = questions_about(scanner, wordings, prompts, options.questions_at_once)
        plan = questions.plan()
        if not _agreed(plan, len(wordings), len(prompts), options, yes=yes):
            return None
        answers = _answers(questions)
        # Each wording has the threshold that was fitted to it.
        settings = replace(scanner.settings, threshold=None, threshold_source="")
    result = sweep_wordings(wordings, answers.probabilities, prompts, split, settings)
    _say_missing(answers)
    return SweptWordings(result, answers.used, not answers.missing)


@dataclass(frozen=True)
class _Written:
    """Wordings of a language model, or why there are none, and its usage."""

    wordings: Sequence[Candidate] = ()
    failure: GuardtuiError | None = None
    used: Usage = field(default_factory=Usage)


def _written(
    writer: JudgeOptions,
    engine: LocalScanner,
    topic: Topic,
    prompts: PromptSet,
    split: Split,
    *,
    yes: bool,
    fresh: bool,
) -> _Written | None:
    """Ask a language model for wordings, with one call; None if the author does not agree to it.

    A failure is a warning: the sweep continues with the other wordings. Raises UsageError.
    """
    evaluation = engine.evaluate_now(topic, prompts, show_progress)
    diagnostics.progress("")
    assert evaluation is not None  # noqa: S101 - nothing stops it
    try:
        shown = shown_mistakes(evaluation, prompts, split.search_rows)
    except SuggestionError as error:
        diagnostics.warn(f"--writer {writer.title} is not asked: {error}")
        return _Written(failure=error)
    call = WritingCall(writer, topic, shown, fresh=fresh)
    if call.is_cached:
        diagnostics.note(f"no call to {writer.title}: its wordings are in the cache")
    else:
        diagnostics.note(f"{writer.title} is sent {call.sent_text}: {call.cost_text}")
        if not _confirmed(yes=yes):
            return None
    try:
        written = signals.run(call.wordings())
    except WriterError as error:
        diagnostics.warn(f"--writer {error}\n  only the other wordings are tried")
        return _Written(failure=error, used=call.budget.spent)
    for problem in written.invalid:
        diagnostics.warn(f"--writer: {problem}")
    used = call.budget.spent
    if used.calls:
        diagnostics.note(f"{writer.title}: {usage_text(used)}")
    return _Written(written.wordings, used=used)


def _rest_of_budget(options: DecisionOptions, used: Usage) -> DecisionOptions:
    """Return the options with the tokens that the writer left of the run's maximum."""
    calls = options.calls
    if calls.most_tokens is None:
        return options
    left = calls.most_tokens - used.input_tokens - used.output_tokens
    return replace(options, calls=replace(calls, most_tokens=max(left, 1)))


def _agreed(
    plan: ManyPlan, wordings: int, prompts: int, options: DecisionOptions, *, yes: bool
) -> bool:
    """Print the cost, and return whether the author agrees. Raises UsageError."""
    subject = f"{wordings} wordings × {prompts} prompts"
    if not plan.requests:
        diagnostics.note(f"no requests: the answers on {subject} are in the cache")
        return True
    known = f", {plan.known:,} answers from the cache" if plan.known else ""
    diagnostics.note(
        f"{plan.requests:,} request{'s' * (plan.requests != 1)} for {subject} "
        f"({options.questions_at_once} questions at most in each){known}, "
        f"{estimate_text(plan.tokens, options.calls.prices)}"
    )
    return _confirmed(yes=yes)


def _confirmed(*, yes: bool) -> bool:
    """Return whether the author agrees to what was noted. Raises UsageError without a terminal."""
    if yes:
        return True
    if not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError("no requests were made: add --yes to make them without a question")
    return click.confirm("Continue?", err=True)


def _answers(questions: ManyQuestions) -> ManyAnswers:
    shown: list[Progress] = []

    def store(progress: Progress) -> None:
        shown[:] = [progress]

    async def run() -> ManyAnswers:
        return await watched(questions.run(store), lambda: next(iter(shown), None))

    return signals.run(run())


def _say_missing(answers: ManyAnswers) -> None:
    if not answers.missing:
        return
    reasons = sorted(answers.problems.items(), key=lambda pair: -pair[1])
    why = "".join(f"; {count:,} of them: {reason}" for reason, count in reasons[:1])
    unsent = f", {answers.unsent:,} of them were not asked" if answers.unsent else ""
    diagnostics.error(
        f"{answers.missing:,} answers are missing{unsent}{why}\n"
        "  answers received are cached: run the same command again to request only the others"
    )


def require_fitting(kind: str, values: WordingOptions, others: set[str]) -> None:
    """Raise a usage error for given options (`others`) of the other kinds of refinement."""
    if kind == DECISION:
        if others:
            raise click.UsageError(f"{min(others)} does not fit a decision model: omit it")
        return
    for option in fields(WordingOptions):
        if getattr(values, option.name) not in (None, False):
            name = f"--{option.name.replace('_', '-')}"
            raise click.UsageError(f"{name} needs --guardrail decision:URL#MODEL")


def eval_command(
    flags: GuardrailFlags, guardrail: NamedGuardrail, topic: Path, prompts: Path, threshold: float
) -> str:
    """Return the command that evaluates a topic file at a threshold, as typed in a shell."""
    words = ["guardtui", "eval", str(topic), "--prompts", str(prompts), *flags.words_for(guardrail)]
    return shlex.join([*words, "--threshold", f"{threshold:.9g}"])


def files_of(guardrail: NamedGuardrail, values: WordingOptions) -> list[Path]:
    """Return the files read besides topic and prompts."""
    paths = (values.wordings, getattr(guardrail.configuration, "template", None))
    return [path for path in paths if path is not None]
