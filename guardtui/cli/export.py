"""`guardtui export`: a report of a recorded session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from guardtui.cli.command_help import Command
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import InputError, warn
from guardtui.cli.options import FILE, reading_words
from guardtui.cli.output import path_from_here
from guardtui.cli.output_options import (
    check_outputs,
    choose,
    format_option,
    outputs_option,
    page_of,
    page_options,
    variants_of,
    with_variants,
)
from guardtui.domain.comparison import compare
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.operating_point import FITTED
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import describe_changes
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import WITH_NEXT_STEP, load_writer
from guardtui.session.prompt_file import load_prompts_of, reading_of
from guardtui.session.report_reader import recorded_topics
from guardtui.session.series import series_of
from guardtui.session.session import Iteration, Session
from guardtui.session.session_file import has_session, session_file
from guardtui.session.store import SessionStore


@click.command(
    "export",
    cls=Command,
    examples=(("guardtui export tax.yaml -o report.html", "The best iteration"),),
)
@click.argument("topic", type=FILE, required=False)
@format_option("md")
@outputs_option
@page_options
@click.option(
    "--iteration",
    "which",
    default="best",
    metavar="N|best|last",
    help="The iteration to report on (default: best).",
)
def command(
    topic: Path | None,
    format_name: str | None,
    outputs: tuple[Path, ...],
    which: str,
    more: str | None,
    page: int | None,
    **others: Any,
) -> int:
    """Write a report of a topic's session: by default of its best iteration.

    Without TOPIC, the session used last in this folder is taken. It is compared with the pinned
    baseline, or else with the iteration of the same guardrail that was kept before it.
    """
    wanted = with_variants(choose(format_name, outputs, "md"), variants_of(others))
    wanted_page = page_of(more, page, wanted)
    writers = [load_writer(output.format_name, variant=output.variant) for output in wanted]
    if topic is None:
        names = recorded_topics(Path())
        if not names:
            raise InputError(
                "there is no session in this folder\n  name the topic file: guardtui export TOPIC"
            )
        topic = Path(names[0])
    store = SessionStore(topic, reading=True) if has_session(topic) else None
    iterations = store.iterations() if store else []
    remembered = store.prompt_file() if store else ""
    read = [topic.parent / remembered] if remembered else []
    check_outputs(outputs, topic, session_file(topic), *read)
    if store is None or not iterations:
        problem = "no iterations are recorded" if topic.exists() else "no such file"
        raise InputError(
            f"{topic}: {problem}, so there is nothing to export\n"
            f"  'guardtui eval {topic} --prompts FILE --record' records one, and so does the app"
        )
    session = Session(iterations[-1].evaluation.topic, iterations, store.pinned())
    chosen = _chosen(session, which, topic)
    before = session.baseline_of(chosen)
    evaluation = chosen.evaluation
    only_log = all(output.format_name == "tsv" for output in wanted)
    report = ReportInput(
        topic=evaluation.topic,
        evaluation=evaluation,
        # The log of iterations has no single prompts.
        prompts=None if only_log else _prompts(store, topic),
        baseline=before.evaluation if before else None,
        comparison=compare(before.evaluation, evaluation) if before else None,
        iterations=iterations,
        series=series_of(iterations, session.best),
        changes=describe_changes(before.evaluation.topic, evaluation.topic) if before else (),
        baseline_number=before.number if before else None,
        before=chosen.forecast,
        measured_at=chosen.created,
        prompt_path=path_from_here(topic.parent / remembered) if remembered else "",
        template=store.template(evaluation.settings.guardrail.template),
        iteration=chosen.number,
        by=chosen.by,
    )
    if wanted_page is not None:
        report = replace(report, page=wanted_page)
    elif any(output.format_name in WITH_NEXT_STEP for output in wanted):
        if report.prompts is not None:
            session.use_prompts(report.prompts)
        session.shown = report.evaluation.settings
        in_brief = any(output.format_name == "brief" for output in wanted)
        complete = _with_next_command if in_brief else _with_next_step
        report = complete(report, session, topic, store)
    return write_all(
        (output, writer(report)) for output, writer in zip(wanted, writers, strict=True)
    )


def _with_next_command(
    report: ReportInput, session: Session, topic: Path, store: SessionStore
) -> ReportInput:
    """Return a report with the command to run next, by the prompts that the session remembers."""
    from guardtui.app.briefing import CommandWords, with_next_command

    remembered, reading = store.prompt_file(), reading_of(store)
    prompts = path_from_here(topic.parent / remembered) if remembered else "-"
    options = () if reading == AS_WRITTEN else tuple(reading_words(reading))
    words = CommandWords(topic, Path(prompts), reading=options)
    return with_next_command(report, session, words)


def _with_next_step(
    report: ReportInput, session: Session, topic: Path, store: SessionStore
) -> ReportInput:
    """Return a report with the edits that the app would propose, measured by the engine."""
    from guardtui.app.briefing import with_ideas
    from guardtui.scanners.local.encoder import ENCODERS
    from guardtui.scanners.local.scanner import LocalScanner

    encoder = report.evaluation.settings.guardrail.encoder
    engine = LocalScanner(encoder if encoder in ENCODERS else ENCODERS[0], FITTED)
    return with_ideas(report, topic, session, engine)


def _chosen(session: Session, which: str, topic: Path) -> Iteration:
    last = session.iterations[-1]
    if which == "last":
        return last
    if which == "best":
        return session.best or last
    try:
        return session.iteration(int(which))
    except ValueError:
        raise click.BadParameter(
            f"{which!r} is not a number, 'best' or 'last'", param_hint="'--iteration'"
        ) from None
    except KeyError:
        numbers = ", ".join(str(iteration.number) for iteration in session.iterations[-20:])
        raise InputError(f"{topic}: no iteration {which}\n  existing: {numbers}") from None


def _prompts(store: SessionStore, topic: Path) -> PromptSet | None:
    """Return the session's prompts, or None, with a warning, if their file cannot be used."""
    if not store.prompt_file():
        warn("the session remembers no prompt file: the report has no prompt texts")
        return None
    try:
        return load_prompts_of(topic, store)
    except GuardtuiError as error:
        warn(f"{error}\n  the report has no prompt texts")
        return None
