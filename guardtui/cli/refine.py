"""`guardtui refine`: propose measured edits of a definition, and search for better ones.

Edits are measured by the engine, with a forecast of a guardrail that has answered, or, as wordings,
by the answers of a decision model.
"""

from __future__ import annotations

import re
import shlex
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from guardtui.advice.candidates import Candidate
from guardtui.advice.measured_rows import TooFewPromptsError
from guardtui.advice.model_objective import CHOSEN_ON, sweep_wordings
from guardtui.advice.model_wordings import SuggestionError, shown_mistakes
from guardtui.advice.search import SearchProgress, SearchResult
from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.app.advice.refinement import open_measure
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
from guardtui.app.scan.recorded_forecast import fit_recorded, recorded_guardrail
from guardtui.cli import diagnostics, signals
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.guardrail_options import DECISION, ENGINE, GuardrailFlags, guardrail_option
from guardtui.cli.inputs import load_inputs, say_findings
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.cli.options import (
    FILE,
    output_option,
    prompts_option,
    reading_options,
    threshold_option,
    writer_option,
)
from guardtui.cli.output import check_output, write
from guardtui.cli.output_options import format_choice, format_for
from guardtui.cli.progress import watched
from guardtui.cli.scans.models import configured_model, models_and_writer
from guardtui.cli.scans.services import open_verdicts
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Usage
from guardtui.files.topic_files import TopicFile, load_topic, save_topic
from guardtui.forecast.forecaster import Forecaster, ForecastError
from guardtui.reports.base import usage_text
from guardtui.reports.refinement import Refinement, WordingsResult, render, render_wordings
from guardtui.scanners.base import Progress
from guardtui.scanners.configuration import DecisionConfiguration
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.many import ManyAnswers, ManyPlan, ManyQuestions

if TYPE_CHECKING:
    _TimeType = click.ParamType[float]
else:  # older versions of click do not have it generic
    _TimeType = click.ParamType

Result = TypeVar("Result")

_TIME = 60.0
_POLL_SECONDS = 0.1
_LONGEST = 24 * 3600


class Time(_TimeType):
    """Time in seconds, or with a unit s, m or h; above 0, at most a day."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smh]?)", str(value).strip())
        seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
        if not 0 < seconds <= _LONGEST:
            self.fail(f"{value!r} is not a time like 60s, 5m or 1h, at most a day", param, ctx)
        return seconds


_FORMATS = ("table", "json", "md")


@click.command("refine")
@click.argument("topic", type=FILE)
@prompts_option
@reading_options
@click.option(
    "--time",
    type=Time(),
    metavar="TIME",
    help="How long to search: 60s (the default), 5m, 1h.",
)
@click.option(
    "--single",
    is_flag=True,
    help="Only the edits that the app proposes itself: single edits, no search.",
)
@guardrail_option(
    "Guardrail whose forecast stands beside the engine's gain (default: the one that answered "
    "last; engine: none); a decision model is asked about many wordings, several in each request."
)
@threshold_option
@click.option(
    "--wordings",
    type=FILE,
    metavar="FILE",
    help="With a decision model: descriptions to try, one a line, before any others.",
)
@click.option(
    "--count",
    type=click.IntRange(2, 1000),
    metavar="N",
    help=f"With a decision model: wordings to try, with the definition (default: {WORDINGS}).",
)
@writer_option("With a decision model: a language model that writes further wordings.")
@click.option(
    "--questions",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="With a decision model: questions in a request (default: 200; systemone: 64).",
)
@click.option("--fresh", is_flag=True, help="With a decision model: ignore cached answers.")
@click.option(
    "--yes", is_flag=True, help="With a decision model: make the requests without asking first."
)
@format_choice(_FORMATS)
@output_option
@click.option(
    "--write-topic",
    "new_topic",
    type=FILE,
    metavar="FILE",
    help="Write the first proposal, if there is one, to this new file. An existing file is never "
    "overwritten.",
)
def command(
    topic: Path,
    prompts: Path,
    reading: Reading | None,
    time: float | None,
    single: bool,
    guardrail: GuardrailFlags,
    threshold: Wanted,
    format_name: str | None,
    output: Path | None,
    new_topic: Path | None,
    **of_wordings: Any,
) -> int:
    """Propose edits of a definition, measured; nothing is applied.

    The engine measures edits on all prompts, or on those that a column `split` (train, test)
    selects. Only an edit whose gain in coverage is likely on prompts that had no part in its choice
    is proposed, and written to a new file with --write-topic; without one the exit code is 4. The
    forecast of a guardrail that has answered stands beside. Ctrl-C ends a search and reports the
    best edit so far (exit code 130).

    With a decision model as --guardrail, wordings are tried on it: chosen on two thirds of the
    prompts, reported on the third. Exit code 3: answers are missing; the same command resumes.
    """
    chosen, encoder, _ = guardrail.with_encoder(topic)
    of_search = {"time": time, "single": single}
    _require_fitting(chosen.kind, of_search, of_wordings)
    more = (of_wordings["wordings"], getattr(chosen.configuration, "template", None))
    check_output(output, topic, prompts, *filter(None, more))
    _require_new(new_topic, output)
    format_name = format_for(format_name, output, "table", _FORMATS)
    file = load_topic(topic)
    definition, prompt_set = load_inputs(topic, prompts, reading)
    say_findings(prompt_set)
    for violation in violations(definition):
        diagnostics.warn(f"{topic}: {violation.message}: only edits that fix it are tried")
    engine = settled_engine(encoder, threshold, definition, prompt_set)
    if chosen.kind == DECISION:
        swept = _swept(chosen, definition, prompt_set, engine, **of_wordings)
        if swept is None:
            return Exit.DONE
        write(render_wordings(swept, format_name), output)
        best = swept.sweep.best
        _write_proposal(file, None if best is None else best.topic, new_topic)
        if best is not None and best.threshold is not None and new_topic is not None:
            words = ["guardtui", "eval", str(new_topic), "--prompts", prompt_set.source]
            words += [*guardrail.words_for(chosen), "--threshold", f"{best.threshold:.9g}"]
            diagnostics.note(f"evaluate it at its threshold: {shlex.join(words)}")
        if swept.sweep.missing:
            return Exit.NOT_COMPLETED
        return Exit.DONE if best is not None else Exit.NOT_ENOUGH_EVIDENCE
    wanted = None if guardrail.name is None else chosen.guardrail
    forecaster = _forecaster(topic, prompt_set, engine, wanted)
    result, interrupted = _refine(
        engine, forecaster, definition, prompt_set, time or _TIME, single=single
    )
    if result is None:
        raise KeyboardInterrupt
    refinement = Refinement(result, prompt_set, searched=not single)
    write(render(refinement, format_name), output)
    proposal = result.best
    _write_proposal(file, None if proposal is None else proposal.topic, new_topic)
    if interrupted:
        raise KeyboardInterrupt
    return Exit.DONE if proposal is not None else Exit.NOT_ENOUGH_EVIDENCE


def _require_fitting(
    kind: str, of_search: Mapping[str, object], of_wordings: Mapping[str, object]
) -> None:
    """Raise a usage error for an option of the other kind of refinement."""
    others = of_search if kind == DECISION else of_wordings
    for name, value in others.items():
        if value:
            problem = "needs --guardrail decision:URL#MODEL"
            if kind == DECISION:
                problem = "does not fit a decision model: omit it"
            raise click.UsageError(f"--{name} {problem}")


def _write_proposal(file: TopicFile, proposal: Topic | None, path: Path | None) -> None:
    """Write a proposal to a new file, if one was named, or print that there is no proposal.

    Comments and other keys of the old file are in the new one.
    """
    if path is None:
        return
    if proposal is None:
        diagnostics.note(f"no proposal: {path} is not written")
        return
    _require_new(path, None)  # it may have been created during the search
    # The file does not exist: `force` creates it from the given content.
    save_topic(replace(file, path=path), proposal, force=True)
    diagnostics.note(f"wrote {path}")


def _forecaster(
    topic: Path,
    prompts: PromptSet,
    engine: LocalScanner,
    wanted: Guardrail | None,
) -> Forecaster | None:
    """Return the forecaster of a guardrail, or None. Raises ForecastError if required.

    It is required of a `wanted` guardrail; by default it is that of the one that answered last.
    """
    if wanted is not None and wanted.kind == ENGINE:
        return None
    try:
        guardrail = recorded_guardrail(topic, wanted)
        return fit_recorded(topic, prompts, guardrail, engine, show_progress)
    except ForecastError:
        if wanted is not None:
            raise
        return None
    finally:
        diagnostics.progress("")


def _refine(
    scanner: LocalScanner,
    forecaster: Forecaster | None,
    topic: Topic,
    prompts: PromptSet,
    time: float,
    *,
    single: bool,
) -> tuple[SearchResult | None, bool]:
    """Return the result, and whether the search was interrupted.

    The result is None if it was interrupted before the definition was measured.
    """
    stop = threading.Event()
    shown: list[Progress | SearchProgress] = []

    def progress(now: Progress | SearchProgress) -> None:
        shown[:] = [now]

    def work() -> SearchResult | None:
        measure = open_measure(scanner, prompts, forecaster, progress, stop.is_set)
        if measure is None:
            return None
        if single:
            return measure.advised(topic, stop.is_set)
        return measure.searched(topic, time, stop.is_set, progress)

    try:
        return _watched(work, stop, lambda: _progress_line(shown))
    except (SplitError, TooFewPromptsError) as error:
        raise InputError(f"{prompts.source}: {error}") from error


def _watched(
    work: Callable[[], Result], stop: threading.Event, line: Callable[[], str]
) -> tuple[Result, bool]:
    """Run `work` while showing progress; return its result and whether it was interrupted."""
    done: list[Result] = []
    failed: list[BaseException] = []
    finished = threading.Event()

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            failed.append(error)
        finally:
            finished.set()

    # An interrupted `Thread.join` treats the thread as ended, so the event is
    # waited for instead. Exiting while native code runs in a thread would abort the process.
    threading.Thread(target=run, name="refine", daemon=True).start()
    interrupted = False
    while not finished.is_set():
        try:
            finished.wait(_POLL_SECONDS)
            diagnostics.progress(line())
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
    diagnostics.progress("")
    if failed:
        raise failed[0]
    return done[0], interrupted


def _progress_line(shown: list[Progress | SearchProgress]) -> str:
    now = next(iter(shown), None)
    if now is None:
        return ""
    if isinstance(now, Progress):
        return f"{now.phase} {now.done}/{now.total}"
    return (
        f"searching {now.seconds:.0f}/{now.budget:.0f} s: {now.measured} definitions, "
        f"beam {now.width}, edit {now.edits}, objective {now.gain:+.3f}"
    )


def _require_new(path: Path | None, output: Path | None) -> None:
    """Raise `InputError` if the new topic file exists or cannot be created."""
    if path is None:
        return
    if path.exists() or path.is_symlink():
        raise InputError(
            f"{path}: the file exists, and a topic file is never overwritten\n"
            "  name a file that does not exist yet"
        )
    if output is not None and output.resolve() == path.resolve():
        raise InputError(f"{path}: both --output and --write-topic name this file")


# --- wordings tried on a decision model ---------------------------------------------------


def _swept(
    guardrail: NamedGuardrail,
    topic: Topic,
    prompts: PromptSet,
    engine: LocalScanner,
    *,
    wordings: Path | None,
    count: int | None,
    writer: str | None,
    questions: int | None,
    fresh: bool,
    yes: bool,
) -> WordingsResult | None:
    """Try all wordings and choose; return None if the author did not agree to the cost.

    Raises UsageError, `InputError` and ScannerError.
    """
    configuration = guardrail.configuration
    assert isinstance(configuration, DecisionConfiguration)  # noqa: S101 - by its kind
    models, writing = models_and_writer(
        configuration.model,
        writer,
        allow_http=configuration.allow_http,
        retries=configuration.retries,
        max_tokens=configuration.max_tokens,
    )
    options = configured_model(configuration, models)
    assert isinstance(options, DecisionOptions)  # noqa: S101 - by its kind
    options = replace(options, questions=questions)
    try:
        split = split_prompts(prompts, CHOSEN_ON)
    except SplitError as error:
        raise InputError(f"{prompts.source}: {error}") from error
    typed = [] if wordings is None else read_wordings(wordings, topic)
    for wording in typed:
        for broken in violations(wording.topic):
            diagnostics.warn(f"{wording.origin}: {broken.message}: AIRS would refuse it")
    written: Sequence[Candidate] = ()
    failure: GuardtuiError | None = None
    if writing is not None:
        call = _writing_call(writing, engine, topic, prompts, split, fresh=fresh)
        if isinstance(call, SuggestionError):
            failure = call
        elif not call.is_cached and not _confirmed(yes=yes):
            return None
        else:
            try:
                written = _written(call)
            except WriterError as error:
                diagnostics.warn(f"--writer {error}\n  only the other wordings are tried")
                failure = error
            options = _rest_of_budget(options, call.budget.spent)
    count = count or WORDINGS
    searched: Sequence[Candidate] = ()
    if (rest := count - 1 - len(typed) - len(written)) > 0:
        searched = shortlist(engine, topic, prompts, split, rest, show_progress)
        diagnostics.progress("")
    tried = gather_wordings(topic, typed, written, searched, count)
    if len(tried) < 2:
        raise failure or InputError("no other wordings to try\n  give some with --wordings FILE")
    with open_verdicts() as cache:
        scanner = options.scanner(cache, fresh=fresh)
        asked = questions_about(scanner, tried, prompts, options.questions_at_once)
        if not _agreed(asked.plan(), len(tried), len(prompts), options, yes=yes):
            return None
        answers = _answers(asked)
        # Each wording has the threshold that was fitted to it.
        settings = replace(scanner.settings, threshold=None, threshold_source="")
    result = sweep_wordings(tried, answers.probabilities, prompts, split, settings)
    _say_missing(answers)
    return WordingsResult(result, prompts, answers.used)


def _writing_call(
    writer: JudgeOptions,
    engine: LocalScanner,
    topic: Topic,
    prompts: PromptSet,
    split: Split,
    *,
    fresh: bool,
) -> WritingCall | SuggestionError:
    """Return the call that asks a language model for wordings, and print what it is sent.

    Or the reason, printed as a warning, why there is nothing to ask it.
    """
    evaluation = engine.evaluate_now(topic, prompts, show_progress)
    diagnostics.progress("")
    assert evaluation is not None  # noqa: S101 - nothing stops it
    try:
        shown = shown_mistakes(evaluation, prompts, split.search_rows)
    except SuggestionError as error:
        diagnostics.warn(f"--writer {writer.title} is not asked: {error}")
        return error
    call = WritingCall(writer, topic, shown, fresh=fresh)
    if call.is_cached:
        diagnostics.note(f"no call to {writer.title}: its wordings are in the cache")
    else:
        diagnostics.note(f"{writer.title} is sent {call.sent_text}: {call.cost_text}")
    return call


def _written(call: WritingCall) -> Sequence[Candidate]:
    """Return the wordings of a language model. Raises WriterError."""
    written = signals.run(call.wordings())
    for problem in written.invalid:
        diagnostics.warn(f"--writer: {problem}")
    if call.budget.spent.calls:
        diagnostics.note(f"{call.writer.title}: {usage_text(call.budget.spent)}")
    return written.wordings


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
    prices = options.calls.prices
    price = 0.0 if prices is None else prices.of(plan.tokens, 0)
    cost = f" for {price:.4g}" if price else ""
    diagnostics.note(
        f"{plan.requests:,} request{'s' * (plan.requests != 1)} for {subject} "
        f"({options.questions_at_once} questions at most in each){known}, "
        f"about {plan.tokens:,} tokens{cost}"
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
