"""The steps of `guardtui eval`: read, scan, compare, deliver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray

from guardtui.cli.delivery import deliver
from guardtui.cli.diagnostics import InputError, error, note, warn
from guardtui.cli.eval.command import EvalRequest
from guardtui.cli.eval.thresholds import report_thresholds, sweep_of, threshold_outputs
from guardtui.cli.expressions import load_plugins, own_metrics
from guardtui.cli.inputs import say_blank_texts, say_findings
from guardtui.cli.options import reading_words
from guardtui.cli.output import path_from_here
from guardtui.cli.output_options import ReportOutput, check_outputs, choose_reports, page_of
from guardtui.cli.scans.run import ScanJob, ScanRun, make_run, say_notes
from guardtui.domain.comparison import Change, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.operating_point import FITTED, ThresholdFit
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, describe_changes
from guardtui.files.inputs import load_inputs
from guardtui.files.profile_files import files_of
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import WITH_NEXT_STEP
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.companions import Companions, kept_path, load_companions
from guardtui.session.evaluation_refs import (
    RecordedEvaluation,
    find_baseline,
    is_of_session,
    read_files,
)
from guardtui.session.evaluator import measured_with
from guardtui.session.own_metrics import OwnMetric, own_figures
from guardtui.session.series import series_of
from guardtui.session.session import Decision
from guardtui.session.session_file import session_file
from guardtui.session.store import StoreError

if TYPE_CHECKING:
    from guardtui.cli.eval.flip_rounds import FlipRounds
    from guardtui.domain.forecast_record import ForecastBefore
    from guardtui.session.session import Iteration, Session


_NEAR = 0.1
"""Maximum distance of a score of the engine from its threshold that counts as near."""


def evaluate(request: EvalRequest) -> int:
    """Evaluate and deliver the reports; return the exit code.

    Errors in the request are found before the files are read.
    """
    files = _files_read(request)
    outputs = _outputs(request, files)
    page = page_of(request.more, request.page, outputs)
    if page is not None and request.options.fresh:
        raise click.UsageError("--more asks nothing: omit --fresh")
    load_plugins(request.plugins)
    metrics = own_metrics(request.metrics)
    run = make_run(request.guardrail, request.options)
    report = replace(_report(request, run, metrics, outputs), page=page)
    if request.thresholds:
        evaluation = report.evaluation
        if run.remote and evaluation.metrics.missing:
            run.say_incomplete(evaluation, allowed=False)
        return report_thresholds(request, sweep_of(evaluation), evaluation, outputs)

    shorter = any(output.format_name not in ("csv", "brief") for output in outputs)
    if report.listed is not None and shorter:
        note(
            f"of {len(report.evaluation.keys):,} prompts, {len(report.listed):,} that are wrong or "
            "without a verdict are listed; csv lists all"
        )

    def say_incomplete() -> None:
        metrics = report.evaluation.metrics
        if request.flips and not metrics.errors:
            error(
                f"{metrics.open} of {metrics.prompts} prompts were not asked, as --likely-changes "
                "requests\n"
                "  gates need verdicts on all prompts: run the command without --likely-changes"
            )
            return
        allowed = request.gates.max_errors is not None
        run.say_incomplete(report.evaluation, allowed=allowed)

    return deliver(
        report,
        outputs,
        request.gates,
        files,
        say_incomplete=say_incomplete if run.remote else None,
    )


def _files_read(request: EvalRequest) -> list[Path]:
    """Return the files that are read, the prompts first and then the topic."""
    baseline = request.baseline
    template = getattr(request.guardrail.configuration, "template", None)
    compared = () if baseline is None or is_of_session(baseline) else read_files(baseline)
    more = [] if template is None else [template]
    companions = [file for path in request.options.companion_paths for file in files_of(path)]
    return [request.prompts, request.topic, *compared, *companions, *more]


def _outputs(request: EvalRequest, files: Sequence[Path]) -> list[ReportOutput]:
    """Return the outputs; an unknown format fails here. Raises UsageError and InputError."""
    check_outputs(request.outputs, *files, session_file(request.topic))
    if request.thresholds:
        return threshold_outputs(request)
    outputs = choose_reports(request.format_name, request.outputs, request.variants)
    if request.baseline is None and "junit" in request.variants:
        raise click.UsageError("--only-regressions needs --baseline")
    return outputs


def _report(
    request: EvalRequest,
    run: ScanRun,
    metrics: Sequence[OwnMetric],
    outputs: Sequence[ReportOutput],
) -> ReportInput:
    """Evaluate, and return the input of the reports. Raises InputError and ScannerError."""
    topic, prompts = load_inputs(request.topic, request.prompts, request.reading)
    companions = _companions(request, topic)
    named = _baseline(request)
    before = None if named is None else named.evaluation
    say_findings(prompts)
    say_blank_texts(request.topic, topic)
    _require_cluster(request, prompts)
    rounds = _flip_rounds(request, topic, prompts)
    job = ScanJob(
        request.topic,
        topic,
        prompts,
        companions,
        before,
        request.epochs,
        repeated=_repeated(request, topic, prompts, before),
        rows=None if rounds else _rows_in_doubt(request, run, topic, prompts),
        begin=None if rounds is None else rounds.begin,
        guardrail_words=request.guardrail_words,
    )
    job = _with_logged(request, run, job)
    evaluation, fit = _evaluated(request, run, job)
    say_notes(prompts, evaluation)
    forecast, engine = None, run.engine or LocalScanner()
    if run.remote and (request.records or any(output.format_name == "json" for output in outputs)):
        from guardtui.app.scan.recorded_forecast import recorded_forecast_before

        # This scan is not in the session yet, so this is the forecast before it.
        forecast = recorded_forecast_before(request.topic, evaluation, prompts, engine)
    recorded, is_new = _record(request, run, evaluation, prompts, forecast)
    iteration = None if recorded is None else recorded.number
    number = None if named is None else named.number
    told = any(output.format_name in WITH_NEXT_STEP for output in outputs)
    session = _session(request, evaluation, prompts) if told else None
    if named is None and session is not None:
        baseline = session.baseline
        if iteration is not None:
            baseline = session.baseline_of(session.iteration(iteration))
        if baseline is not None:
            before, number = baseline.evaluation, baseline.number
    comparison = compare(before, evaluation) if before else None
    series = None if named is None else named.series
    if session is not None:
        series = series_of(session.iterations, session.best)
    report = ReportInput(
        topic=topic,
        evaluation=evaluation,
        prompts=prompts,
        baseline=before,
        comparison=comparison,
        figures=own_figures(metrics, evaluation, prompts, comparison),
        iterations=() if session is None else session.iterations,
        changes=describe_changes(before.topic, topic) if before else (),
        profile=evaluation.settings.guardrail.profile,
        baseline_number=number,
        series=series,
        companions=companions.topics,
        cluster=request.cluster or "",
        reducer=request.epochs.name if request.epochs else "",
        prompt_path=path_from_here(Path(prompts.source)),
        every_mistake=request.every_mistake,
        fit=fit,
        checked=None if rounds is None else rounds.checked,
        before=forecast,
        template=run.template,
        iteration=iteration,
        by=None if recorded is None else recorded.by,
        doubt="" if run.doubt is None else f"{capitalized(run.doubt.text)}.",
    )
    if not told or request.more is not None:
        return report
    from guardtui.app.briefing import CommandWords, with_ideas, with_next_command

    measuring = run.engine or LocalScanner(threshold=FITTED)
    report = with_ideas(report, request.topic, session, measuring)
    counts = evaluation.metrics
    failed = request.records and not is_new and bool(counts.errors or not counts.missing)
    reading = tuple(reading_words(request.reading))
    words = CommandWords(
        request.topic,
        request.prompts,
        request.again,
        reading,
        failed,
        records=request.record is not False,
        before=() if run.doubt is None else run.doubt.remedy,
    )
    return with_next_command(report, session, words)


def _session(request: EvalRequest, evaluation: Evaluation, prompts: PromptSet) -> Session | None:
    """Return the session of the topic; None, with a warning, if it cannot be read."""
    from guardtui.app.briefing import recorded_session

    try:
        return recorded_session(request.topic, evaluation, prompts)
    except StoreError as problem:
        warn(str(problem))
        return None


def _evaluated(
    request: EvalRequest, run: ScanRun, job: ScanJob
) -> tuple[Evaluation, ThresholdFit | None]:
    """Evaluate as `run`; verdicts of an interrupted or failed scan are recorded."""

    def titled(evaluation: Evaluation) -> Evaluation:
        return replace(evaluation, settings=evaluation.settings.titled(request.guardrail.name))

    partial: list[Evaluation] = []
    try:
        evaluation, fit = run.evaluate(replace(job, ended=partial.append))
    except BaseException:
        for so_far in partial:
            _record(request, run, titled(so_far), job.prompts, None)
        raise
    return titled(evaluation), fit


def _record(
    request: EvalRequest,
    run: ScanRun,
    evaluation: Evaluation,
    prompts: PromptSet,
    forecast: ForecastBefore | None,
) -> tuple[Iteration | None, bool]:
    """Record an evaluation in the session, and print its number, or why it cannot be recorded.

    Returns its iteration, or None; and whether that has got verdicts.
    """
    if not request.records or not evaluation.metrics.total:
        return None, False
    doubt = run.doubt
    if doubt is not None and doubt.prevents_record and request.record is None:
        note(f"not recorded: {doubt.text}\n  --record records it, if you know that it has")
        return None, False
    from guardtui.app.briefing import recorded_session
    from guardtui.app.editing.iteration_decisions import open_decision
    from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation

    path = None if str(request.prompts) == "-" else request.prompts
    files = EvaluatedFiles(request.topic, path, request.reading or AS_WRITTEN, run.stored_template)
    try:
        iteration, new = record_evaluation(files, evaluation, forecast)
        session = recorded_session(request.topic, evaluation, prompts)
    except StoreError as problem:
        warn(f"not recorded: {problem}".replace("\n ", ";"))  # one line beside the report
        return None, False
    decision, missing = iteration.decision, iteration.evaluation.metrics.missing
    text = f"{'recorded as' if new else 'recorded already:'} #{iteration.number}"
    if decision is not Decision.UNDECIDED:
        text += f" ({decision.value})"
    if missing:
        text += f", {count_text(missing, 'prompt')} without a verdict"
    elif decision is Decision.UNDECIDED:
        text += f"\n  {open_decision(session, request.topic, iteration)}"
    note(text)
    return iteration, new


def _flip_rounds(request: EvalRequest, topic: Topic, prompts: PromptSet) -> FlipRounds | None:
    """Return a check in rounds if --likely-changes has a goal, or None."""
    if request.within is None and request.max_calls is None:
        return None
    from guardtui.app.scan.plan import FlipGoal
    from guardtui.cli.eval.flip_rounds import FlipRounds

    goal = FlipGoal(request.within or 0.0, request.max_calls or len(prompts))
    return FlipRounds(request.topic, topic, prompts, goal)


def _rows_in_doubt(
    request: EvalRequest, run: ScanRun, topic: Topic, prompts: PromptSet
) -> NDArray[np.intp] | None:
    """Return the rows that --likely-changes scans, the most doubtful first; None for all.

    Raises ForecastError if the session has too few verdicts of this guardrail.
    """
    if not request.flips:
        return None
    from guardtui.app.scan.recorded_forecast import forecast_recorded, recorded_guardrail
    from guardtui.domain.guardrail import guardrail_text
    from guardtui.session.scan_order import forecast_order

    wanted = measured_with(run.guardrail, request.epochs)
    guardrail = recorded_guardrail(request.topic, wanted)
    recorded = forecast_recorded(request.topic, topic, prompts, guardrail, LocalScanner())
    _, rows = forecast_order(recorded.forecast.changes)
    note(
        f"{len(rows):,} of {len(prompts):,} prompts may change, by the forecast of "
        f"{guardrail_text(guardrail.settings)}; the others are not asked"
    )
    return rows


def _with_logged(request: EvalRequest, run: ScanRun, job: ScanJob) -> ScanJob:
    """Return the job without the prompts whose verdicts a log of production has, if any.

    All are asked with --fresh, in several epochs, and in a check of likely changes.
    """
    if not run.remote or request.options.fresh or job.epochs is not None or job.begin is not None:
        return job
    from guardtui.app.scan.record import logged_in_session

    known = logged_in_session(job.topic_path, run.guardrail, job.topic, job.prompts)
    if known is None:
        return job
    logged, rest = known
    rows = rest if job.rows is None else job.rows[np.isin(job.rows, rest)]
    count = count_text(logged.metrics.total, "verdict")
    note(f"{count} of production, from a log, are used: --fresh asks again")
    return replace(job, rows=rows, onto=logged)


def _companions(request: EvalRequest, topic: Topic) -> Companions:
    """Return the other topics of the profile. Raises `InputError` with all their problems."""
    paths = [kept_path(request.topic, path) for path in request.options.companion_paths]
    loaded = load_companions(request.topic, paths, topic)
    if loaded.problems:
        raise InputError("\n".join(map(str, loaded.problems)))
    return loaded


def _baseline(request: EvalRequest) -> RecordedEvaluation | None:
    """Return the baseline. Raises `RecordedError`."""
    if request.baseline is None:
        return None
    named = find_baseline(request.baseline, request.topic, request.guardrail.kind)
    if named.series is not None:
        click.echo(f"baseline: {named.series.text}", err=True)
    return named


def _require_cluster(request: EvalRequest, prompts: PromptSet) -> None:
    cluster = request.cluster
    if cluster is not None and cluster not in prompts.extra_columns:
        columns = ", ".join(map(display_text, prompts.extra_columns)) or "none"
        raise InputError(
            f"{request.prompts}: no column {display_text(cluster)!r} to cluster by\n"
            f"  columns besides prompt, expected and intent: {columns}"
        )


def _repeated(
    request: EvalRequest, topic: Topic, prompts: PromptSet, before: Evaluation | None
) -> Callable[[Evaluation], NDArray[np.intp]] | None:
    """Return the function that chooses the rows to scan again after the first epoch; None for all.

    `before` is the baseline.
    """
    if request.repeat == "changed" and before is not None:
        baseline = before

        def flipped(now: Evaluation) -> NDArray[np.intp]:
            changes = compare(baseline, now).changes
            return np.flatnonzero((changes == Change.REGRESSION) | (changes == Change.FIX))

        return flipped
    if request.repeat == "near":

        def near(now: Evaluation) -> NDArray[np.intp]:
            engine = LocalScanner(threshold=FITTED).evaluate_now(topic, prompts)
            assert engine is not None  # noqa: S101 - nothing stops it
            assert engine.settings.threshold is not None  # noqa: S101 - the engine has one
            distances = np.abs(engine.verdicts.score - engine.settings.threshold)
            return np.flatnonzero(distances <= _NEAR)

        return near
    return None
