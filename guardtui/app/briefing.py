"""What a brief report says beside the figures: its baseline, ideas, and the next command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from guardtui.advice.candidates import same
from guardtui.advice.judgement import Code, judge, missing_prompts
from guardtui.advice.prompt_set import survey
from guardtui.app.advice.idea_advice import needed_labels, with_unsure_steps
from guardtui.app.advice.ideas import ranked_ideas
from guardtui.app.advice.refinement import open_measure
from guardtui.app.editing.deciding import against_discarding, not_shown, other_measure
from guardtui.app.experiments.planning import experiment_step
from guardtui.app.scan.recorded_forecast import last_forecaster
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.prompts import PromptSet
from guardtui.files.command_lines import command_line
from guardtui.reports.base import ReportInput
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.report_reader import has_iterations
from guardtui.session.session import Decision, Session
from guardtui.session.store import SessionStore

MOST_PROMPTS = 2_000
"""Prompts above which none are embedded for ideas: that takes 5 CPU-seconds a thousand."""

BEST = 3
"""Maximum number of ideas."""


@dataclass(frozen=True, slots=True)
class CommandWords:
    """A command line that was given: its topic file and prompt file, `-` for standard input.

    `evaluate` are the words that evaluate again, () if they are not known; `reading` are the
    options that say how the prompts are read. To evaluate again would be in vain if this evaluation
    `failed`: it could not be recorded, or got no verdict that was not known. Nothing is recorded
    next if the author excludes that (`records`). `before` are the words of a command without which
    other figures would mislead too.
    """

    topic: Path
    prompts: Path
    evaluate: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    failed: bool = False
    records: bool = True
    before: tuple[str | Path, ...] = ()


def recorded_session(topic: Path, evaluation: Evaluation, prompts: PromptSet) -> Session | None:
    """Return the session of a topic file as the app shows it with an evaluation on these prompts.

    None if nothing is recorded. Raises StoreError.
    """
    if not has_iterations(topic):
        return None
    store = SessionStore(topic, reading=True)
    session = Session(evaluation.topic, store.iterations(), store.pinned(), prompts)
    session.shown = evaluation.settings
    return session


def with_ideas(
    report: ReportInput, topic: Path, session: Session | None, engine: LocalScanner
) -> ReportInput:
    """Return a report with the best measured edits, or why there are none, and the next step.

    Blocks. The edits are those that the app proposes: likely ones, or else the best guess, with the
    forecast of the guardrail that answered last. Discarded definitions are not among them.
    """
    prompts = report.prompts
    if prompts is None or report.evaluation.metrics.missing:
        return replace(report, no_ideas="verdicts are missing: they come first")
    if len(prompts) > MOST_PROMPTS and not engine.has(prompts):
        text = f"not measured, as more than {MOST_PROMPTS:,} prompts would be embedded first"
        return replace(report, no_ideas=f"{text}: guardtui refine --single measures them")
    try:
        measure = open_measure(engine, prompts, last_forecaster(topic, prompts, engine))
        result = None if measure is None else measure.advised(report.topic)
    except GuardtuiError as error:  # the report may be on a scan that was paid for
        return replace(report, no_ideas=str(error), next_step=missing_prompts(prompts))
    iterations = () if session is None else session.iterations
    discarded = {
        same(iteration.evaluation.topic)
        for iteration in iterations
        if iteration.decision is Decision.DISCARD
    }
    settings = report.evaluation.settings
    measured = np.array_equal(report.evaluation.keys, prompts.keys)  # no label came since
    experiment = ""
    if settings.kind != ENGINE:
        known = report.evaluation if measured else None
        experiment = experiment_step(prompts, settings.guardrail.badge(), known)
    ideas = ranked_ideas(
        report.topic,
        prompts,
        result,
        None,
        discarded=discarded,
        experiment=experiment,
    )
    near = None
    if measured and needed_labels(ideas, report.evaluation) is not None:
        near = survey(engine, prompts, report.evaluation)
    ideas = with_unsure_steps(ideas, report.evaluation, near)
    edits = [idea.proposal for idea in ideas.ranked if idea.proposal is not None]
    return replace(
        report, ideas=tuple(edits[:BEST]), no_ideas=ideas.note, next_step=ideas.next_step
    )


def with_next_command(
    report: ReportInput, session: Session | None, words: CommandWords
) -> ReportInput:
    """Return a report with the command to run next, by the rules of keep and discard.

    And with the one that writes it again, from the record if there is one.
    """
    if str(words.prompts) == "-":  # another command could not read them
        return report
    again: tuple[str | Path, ...] = words.evaluate
    if report.iteration is not None:
        again = ("guardtui", "export", words.topic, "--iteration", str(report.iteration))
        again = (*again, "--format", "brief")
    return replace(
        report,
        next_command=command_line(*_next_words(report, session, words)),
        more_command=command_line(*again),
    )


def _next_words(
    report: ReportInput, session: Session | None, words: CommandWords
) -> tuple[str | Path, ...]:
    evaluation, number = report.evaluation, report.iteration
    if words.before:
        return words.before
    if evaluation.metrics.missing:
        return () if words.failed else words.evaluate
    if number is None and (report.doubt or words.failed or not words.records):
        return ()  # the author knows what the guardrail has, or what prevents a record
    if number is None or session is None:
        return (*words.evaluate, "--record") if words.evaluate else ()
    search: tuple[str | Path, ...]
    search = ("guardtui", "refine", words.topic, "--prompts", words.prompts, *words.reading)
    judgement = judge(evaluation, report.comparison, report.baseline_number)
    if judgement.code in (Code.NO_COVERAGE, Code.TOO_FEW_LABELS):
        return search if report.ideas else ()  # labels decide, which no command writes
    iteration, best = session.iteration(number), session.best
    decided = iteration.decision is not Decision.UNDECIDED
    if not decided and (best is None or best.evaluation.topic != evaluation.topic):
        decision = ("--iteration", str(number))
        if other_measure(session, evaluation):
            return ()  # a scan of both definitions by the same guardrail decides
        if not_shown(session, evaluation) is None:
            return ("guardtui", "history", "keep", words.topic, *decision)
        if not against_discarding(session, evaluation):
            return ("guardtui", "history", "discard", words.topic, *decision)
        # Nothing shows that it is better or worse: labels decide, or another edit.
    # A search measures edits like these: where none is listed, the author's own edit comes next.
    return search if report.ideas is None or report.ideas else ()
