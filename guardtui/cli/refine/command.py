"""`guardtui refine`: propose measured edits of a definition, and search for better ones.

Edits are measured by the engine, or in an experiment by the guardrail itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from guardtui.advice.measured_rows import TooFewPromptsError
from guardtui.advice.search import SearchProgress, SearchResult
from guardtui.advice.splits import SplitError
from guardtui.app.advice.refinement import open_measure
from guardtui.app.scan.recorded_forecast import last_forecaster
from guardtui.cli import diagnostics
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.guardrail_options import GuardrailFlags, guardrail_option
from guardtui.cli.inputs import say_findings
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.cli.options import (
    FILE,
    exits,
    output_option,
    prompts_option,
    reading_options,
    reading_words,
    threshold_option,
    writer_option,
)
from guardtui.cli.output import check_output, write
from guardtui.cli.output_options import format_choice, format_for
from guardtui.domain.figures import change_text
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.files.inputs import load_inputs
from guardtui.files.topic_files import TopicFile, load_topic, save_topic
from guardtui.forecast.forecaster import Forecaster
from guardtui.reports.refinement import Refinement, render
from guardtui.scanners.base import Progress
from guardtui.scanners.local.scanner import LocalScanner

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


@click.command(
    "refine",
    cls=Command,
    examples=(
        ("guardtui refine tax.yaml --prompts tax.csv --time 60s", "Search with the engine"),
        (
            "guardtui refine tax.yaml --prompts tax.csv --write-topic better.yaml",
            "Write the first proposal to a new file",
        ),
        (
            "guardtui refine tax.yaml --prompts tax.csv --experiment --guardrail airs:test",
            "Try edits on the guardrail itself",
        ),
    ),
)
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
    "last; engine: none), or that an experiment asks."
)
@threshold_option
@click.option(
    "--experiment",
    is_flag=True,
    help="Try candidates on the guardrail itself, prompt by prompt, until one is better.",
)
@click.option(
    "--calls",
    type=click.IntRange(1),
    metavar="N",
    help="With --experiment: maximum number of (further) calls, so that nothing is asked first.",
)
@click.option(
    "--test-profile",
    metavar="PROFILE",
    help="With --experiment on AIRS: the profile that has each candidate in turn.",
)
@click.option(
    "--resume", is_flag=True, help="With --experiment: go on with the newest unfinished one."
)
@click.option("--yes", is_flag=True, help="With --experiment: begin without asking first.")
@click.option(
    "--wordings",
    type=FILE,
    metavar="FILE",
    help="With --experiment: wordings to try, a description a line, or (.json) a list of "
    '{"description": "…", "examples": ["…"]}.',
)
@writer_option("With --experiment: a language model that writes wordings to try.")
@format_choice(_FORMATS)
@output_option
@click.option(
    "--write-topic",
    "new_topic",
    type=FILE,
    metavar="FILE",
    help="Write the first proposal, or what an experiment proves, to this new file. An existing "
    "file is never overwritten.",
)
@exits(
    {
        Exit.NOT_COMPLETED: "an experiment is not completed",
        Exit.NOT_ENOUGH_EVIDENCE: "no edit is proposed, or shown to be better",
    }
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
    experiment: bool,
    **of_experiment: Any,
) -> int:
    """Propose edits of a definition, measured; nothing is applied.

    The engine measures edits on all prompts, or on those that a column `split` (train, test)
    selects. Only an edit whose gain in coverage is likely on prompts that had no part in its choice
    is proposed, and written to a new file with --write-topic. The forecast of a guardrail that has
    answered stands beside. Ctrl-C ends a search and reports the best edit so far.

    With --experiment, wordings with subsets of their examples, or single edits, are tried on the
    guardrail; its verdicts are stored as they come, and --resume goes on after any end.
    """
    chosen, encoder, _ = guardrail.with_encoder(topic)
    of_search = {"time": time, "single": single}
    _require_fitting(of_search, of_experiment, experiment=experiment)
    more = (of_experiment["wordings"], getattr(chosen.configuration, "template", None))
    check_output(output, topic, prompts, *filter(None, more))
    _require_new(new_topic, output)
    shown = [] if format_name is None else ["--format", format_name]
    format_name = format_for(format_name, output, "table", _FORMATS)
    file = load_topic(topic)
    definition, prompt_set = load_inputs(topic, prompts, reading)
    say_findings(prompt_set)
    for violation in violations(definition):
        diagnostics.warn(f"{topic}: {violation.message}: only edits that fix it are tried")
    if experiment:
        from guardtui.app.scan.recording import EvaluatedFiles
        from guardtui.cli.refine.experiment import ExperimentCommand

        words = ["guardtui", "refine", str(topic), "--prompts", str(prompts)]
        words += [*reading_words(reading), *shown]
        given = ["--yes"] * of_experiment["yes"]
        given += [] if new_topic is None else ["--write-topic", str(new_topic)]
        given += [] if output is None else ["--output", str(output)]
        command = ExperimentCommand(
            EvaluatedFiles(topic, None if str(prompts) == "-" else prompts, reading or AS_WRITTEN),
            definition,
            prompt_set,
            chosen,
            threshold,
            encoder,
            (*words, *guardrail.words_for(chosen), "--experiment", *given),
            **of_experiment,
        )
        report = command.run(
            None if new_topic is None else lambda kept: _write_proposal(file, kept, new_topic)
        )
        if report is None:
            return Exit.DONE
        write(report.render(format_name), output)
        if report.best is None:
            _write_proposal(file, None, new_topic)
        if report.ending is None:
            return Exit.NOT_COMPLETED
        return Exit.DONE if report.best is not None else Exit.NOT_ENOUGH_EVIDENCE
    engine = settled_engine(encoder, threshold, definition, prompt_set)
    wanted = None if guardrail.name is None else chosen.guardrail
    try:
        forecaster = last_forecaster(topic, prompt_set, engine, wanted, show_progress)
    finally:
        diagnostics.progress("")
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
    of_search: Mapping[str, object], of_experiment: Mapping[str, object], *, experiment: bool
) -> None:
    """Raise a usage error for an option of a search in an experiment, or the other way round."""
    for name, value in (of_search if experiment else of_experiment).items():
        if value:
            problem = "does not fit --experiment: omit it" if experiment else "needs --experiment"
            raise click.UsageError(f"--{name.replace('_', '-')} {problem}")


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
        f"beam {now.width}, edit {now.edits}, objective {change_text(now.gain)}"
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
