"""`guardtui score`: score the outputs of a model against their targets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

import click

from guardtui.cli import diagnostics, signals
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.expressions import (
    load_plugins,
    named_metrics,
    named_reducers,
    named_scorers,
    plugin_option,
)
from guardtui.cli.options import FILE, Number, exits, output_option
from guardtui.cli.output import check_output, write
from guardtui.cli.output_options import format_choice, format_for
from guardtui.cli.score.graders import grader_maker, model_role_option, models_named, roles_of
from guardtui.domain.figures import count_text
from guardtui.domain.findings import located
from guardtui.files.output_files import OutputSet, load_outputs
from guardtui.reports.score_document import FORMATS, write_scores
from guardtui.reports.score_report import ScoreReport
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scorer.matching import finds_empty_target
from guardtui.scorer.models import GraderModel
from guardtui.scorer.types import is_unscored
from guardtui.session.caches import SqliteCache, open_answers
from guardtui.session.graders import Graders, ScoreError
from guardtui.session.score_run import (
    NamedScorer,
    RowScores,
    make_judges,
    require_epochs,
    score_rows,
    summarised,
    with_standard_errors,
)

_SHOWN_SECONDS = 0.1
_LISTED = 5
_BAR = 24


@click.command(
    "score",
    cls=Command,
    examples=(
        ("guardtui score answers.csv --scorer 'match()'", "The target stands at the end"),
        (
            "guardtui score answers.csv --scorer 'model_graded_qa()' --model URL#MODEL",
            "A model grades",
        ),
    ),
)
@click.argument("file", type=FILE)
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="EXPRESSION",
    help="A scorer, such as 'match()' or 'pattern(\"(\\d+)\")'; (repeatable).",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="EXPRESSION",
    help="A metric instead of the scorer's own (repeatable).",
)
@click.option(
    "--reducer",
    "reducers",
    multiple=True,
    metavar="EXPRESSION",
    help="How the epochs of a sample become one score (default: mean); (repeatable).",
)
@click.option("--cluster", metavar="COLUMN", help="Cluster standard errors by this column.")
@click.option(
    "--group", metavar="COLUMN", help="Also report metrics for each value of this column."
)
@format_choice(FORMATS)
@output_option
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="URL#NAME",
    help="A model that grades, behind an OpenAI-compatible address; several are a panel. "
    "Its key: GUARDTUI_MODEL_KEY; for several addresses GUARDTUI_MODEL_KEYS.",
)
@model_role_option
@plugin_option
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=8,
    metavar="N",
    help="Maximum rows graded concurrently (default: 8).",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 20),
    default=5,
    metavar="N",
    help="Retries per failed request (default: 5).",
)
@click.option(
    "--sample-timeout",
    type=Number(0.1, 86_400),
    default=5.0,
    metavar="SECONDS",
    help="Time for one scorer to compute the score of one row, without the time that it waits for "
    "a model (default: 5).",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="Allow http:// to other machines, which sends key and texts unencrypted.",
)
@click.option("--fresh", is_flag=True, help="Ignore cached grades.")
@exits(
    {
        Exit.NOT_COMPLETED: "rows could not be scored, or it was interrupted; the others are "
        "reported, and what a model graded is kept"
    }
)
def command(
    file: Path,
    scorers: tuple[str, ...],
    metrics: tuple[str, ...],
    reducers: tuple[str, ...],
    cluster: str | None,
    group: str | None,
    format_name: str | None,
    output: Path | None,
    models: tuple[str, ...],
    model_roles: tuple[str, ...],
    plugins: tuple[Path, ...],
    concurrency: int,
    retries: int,
    sample_timeout: float,
    allow_http: bool,
    fresh: bool,
) -> int:
    """Score a model's outputs: a file with the columns input, target and output.

    Scorers, metrics and reducers are those of guardtui.scorer, written as in Python, but only
    read, never evaluated.
    """
    if not scorers:
        raise click.UsageError("no scorer is named: add one, such as --scorer 'match()'")
    roles = roles_of(model_roles)
    load_plugins(plugins)
    measures, reduce = named_metrics(metrics), named_reducers(reducers)
    with _warnings():
        judges = make_judges(named_scorers(scorers), measures)
    check_output(output, file)
    format_name = format_for(format_name, output, "table", FORMATS)
    make = grader_maker(
        concurrency=concurrency,
        retries=retries,
        allow_http=allow_http,
        models=[*models, *chain(*roles.values()), *models_named(scorers)],
    )
    graders = _graders({"--model": models, **roles}, make, fresh)
    outputs = _loaded(file, judges)
    cluster, group = _column(outputs, "--cluster", cluster), _column(outputs, "--group", group)
    if cluster is not None:
        _require_values(outputs, cluster)
    require_epochs(outputs, reduce)
    if cluster is not None or group is not None:
        judges = [
            replace(judge, metrics=with_standard_errors(judge.metrics, cluster)) for judge in judges
        ]
    with _warnings():
        scored = _scored(outputs, judges, graders, models, roles, concurrency, sample_timeout)
        failed = any(scores.errors for scores in scored)
        if (models or roles) and not failed and not graders.sent + graders.cached:
            option = "--model" if models else "--model-role"
            diagnostics.warn(f"no scorer used a model: {option} has no effect")
        results = [
            summarised(outputs, scores, reduce, group=group, cluster=cluster) for scores in scored
        ]
    for result in results:
        if format_name != "table" and (reason := result.without_metrics):
            diagnostics.warn(f"{result.scores.judge.expression}: {reason}")
    report = ScoreReport(
        outputs, results, group, cluster,
        models=list(graders.known), roles=graders.names_of(roles),
        asked=graders.sent, found=graders.cached,
    )  # fmt: skip
    write(write_scores(report, format_name), output)
    return _outcome(outputs, scored, graders)


# --- meaning of the arguments -----------------------------------------------------------------


def _graders(
    models: Mapping[str, Sequence[str]],
    make: Callable[[str], tuple[str, GraderModel]],
    fresh: bool,
) -> Graders:
    """Return the named models, from --model or by role. Raises InputError."""
    cache: list[SqliteCache] = []

    def opened() -> SqliteCache:
        # Only a run with a model needs the file.
        if not cache:
            cache.append(open_answers(cache_folder()))
            if not cache[0].works:
                diagnostics.warn(
                    f"{cache[0].path}: cannot be used, so grades are not cached\n"
                    "  make the folder writable, or name another with GUARDTUI_CACHE"
                )
        return cache[0]

    graders = Graders(make, opened, fresh=fresh)
    for role, named in models.items():
        option = role if role == "--model" else f"--model-role {role}"
        panel: set[str] = set()
        for name in named:
            try:
                full = graders.get(name).name
            except ScoreError as error:
                raise InputError(f"{option}: {error}") from error
            if full in panel:
                raise InputError(
                    f"{option}: {name} is given twice\n"
                    "  the models of a panel must differ: omit one"
                )
            panel.add(full)
    return graders


def _loaded(file: Path, judges: Sequence[NamedScorer]) -> OutputSet:
    outputs = load_outputs(file)
    for finding in outputs.findings:
        if finding.code == "target" and not any(
            finds_empty_target(judge.scorer) for judge in judges
        ):
            continue
        diagnostics.warn(located(outputs.source, finding.message, finding.lines))
    return outputs


def _column(outputs: OutputSet, option: str, name: str | None) -> str | None:
    """Return the column's name as in the file."""
    if name is None:
        return None
    column = outputs.column(name)
    if column is None:
        known = ", ".join(["id", "input", "epoch", *outputs.metadata])
        raise InputError(
            f"{option}: {outputs.source} has no column {name!r}\n  the columns are: {known}"
        )
    return column[0]


def _require_values(outputs: OutputSet, cluster: str) -> None:
    column = outputs.column(cluster)
    values: Sequence[Any] = [] if column is None else column[1]
    for row, value in enumerate(values):
        if isinstance(value, list | dict):
            raise InputError(
                f"{outputs.location(row)}: {cluster!r} is neither text nor number\n"
                "  name a plain column with --cluster"
            )
        if value is None or value == "" or is_unscored(value):
            raise InputError(
                f"{outputs.location(row)}: {cluster!r} is empty, so the row is in no cluster\n"
                "  write its cluster, or name another column with --cluster"
            )


# --- the work ---------------------------------------------------------------------------------


def _scored(
    outputs: OutputSet,
    judges: Sequence[NamedScorer],
    graders: Graders,
    models: Sequence[str],
    roles: Mapping[str, Sequence[str]],
    concurrency: int,
    sample_timeout: float,
) -> list[RowScores]:
    total = len(outputs) * len(judges)
    progress = _progress(total) if diagnostics.is_terminal() else None

    results: list[RowScores] = []

    # Returns None: asyncio makes a text of the result and discards it.
    async def scored() -> None:
        try:
            with graders.used(models, roles):
                results.extend(
                    await score_rows(
                        outputs,
                        judges,
                        concurrency=concurrency,
                        progress=progress,
                        settle=graders.settle,
                        sample_timeout=sample_timeout,
                    )
                )
            await graders.settle()
        finally:
            await graders.close()

    try:
        signals.run(scored())
        return results
    except KeyboardInterrupt:
        diagnostics.progress("")
        if graders.sent:
            diagnostics.note("grades are cached: the same command resumes")
        raise
    finally:
        diagnostics.progress("")


def _progress(total: int) -> Callable[[int], None]:
    """Show a progress bar on standard error, a few times a second."""
    started, shown = monotonic(), 0.0

    def tell(done: int) -> None:
        nonlocal shown
        now = monotonic()
        if now - shown < _SHOWN_SECONDS:
            return
        shown = now
        full = _BAR * done // total
        rate = done / max(now - started, 1e-6)
        left = (total - done) / rate
        diagnostics.progress(
            f"scoring {'━' * full}{'─' * (_BAR - full)} {done}/{total}  "
            f"{rate:,.0f}/s  {left:.0f} s left"
        )

    return tell


@contextmanager
def _warnings() -> Iterator[None]:
    """Print warnings of scorers and metrics, a few of each run."""
    heard: dict[str, int] = {}

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            if text in heard or len(heard) < 1000:
                heard[text] = heard.get(text, 0) + 1

    logger, listener = logging.getLogger("guardtui.scorer"), Listener(logging.WARNING)
    before = logger.propagate
    logger.addHandler(listener)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.propagate = before
        for text, count in list(heard.items())[:_LISTED]:
            diagnostics.warn(text[:500] + (f" ({count} times)" if count > 1 else ""))
        if len(heard) > _LISTED:
            diagnostics.warn(f"{len(heard) - _LISTED} more warnings of this kind")


def _outcome(outputs: OutputSet, scored: Sequence[RowScores], graders: Graders) -> int:
    """Return the exit code; print a message if rows could not be scored."""
    reasons: dict[tuple[bool, str, str], list[int]] = {}
    for scores in scored:
        for row, reason in sorted(scores.errors.items()):
            # Failed rows are more informative than open ones.
            cause = (row in scores.not_asked, scores.judge.name, reason)
            reasons.setdefault(cause, []).append(row)
    failed = sum(map(len, reasons.values()))
    if not failed:
        return Exit.DONE
    total = len(outputs) * len(scored)
    problem = "rows could not be scored" if len(scored) == 1 else "scores could not be made"
    lines = [f"{failed} of {total} {problem}; the report has the other {total - failed}"]
    for cause in sorted(reasons, key=lambda cause: cause[0])[:_LISTED]:
        rows = reasons[cause]
        reason = cause[2].replace("\n", "\n  ")
        lines.append(
            f"  {outputs.location(rows[0])} (id {outputs.ids[rows[0]]}, {cause[1]}): {reason}"
        )
        if len(rows) > 1:
            further = ", ".join(str(outputs.lines[row]) for row in rows[1:10])
            more = ", …" if len(rows) > 10 else ""
            lines.append(f"  likewise lines {further}{more} ({count_text(len(rows), 'row')})")
    if len(reasons) > _LISTED:
        lines.append(f"  … and {len(reasons) - _LISTED} reasons more")
    if graders.known:
        lines.append("  answers of models are cached: fix this, and run the same command again")
    diagnostics.error("\n".join(lines))
    return Exit.NOT_COMPLETED
