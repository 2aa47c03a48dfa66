"""The end of an evaluation: reports are written, gates told, and the exit code follows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from guardtui.cli import diagnostics, github
from guardtui.cli.clusters import with_survey
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import Gates, exit_code, outcomes, summary
from guardtui.cli.output import write
from guardtui.cli.outputs import Output
from guardtui.domain.errors import GuardtuiError
from guardtui.reports.base import ReportInput, load_writer


def deliver(
    report: ReportInput,
    outputs: Sequence[Output],
    gates: Gates,
    files: Sequence[Path],
    *,
    encoder: str | None = None,
    say_incomplete: Callable[[], None] | None = None,
) -> int:
    """Write each report where it belongs, tell every gate, and give the exit code.

    `files` are what was read, the prompts first and then the topic. `encoder` groups the prompts
    for a report that shows groups. `say_incomplete` tells what to do about prompts without a
    verdict, where asking again can help. A report that cannot be written is told, and gives code
    2, and so does a metric that failed. Raises `ReportError`.
    """
    if any(one.format_name == "html" for one in outputs):
        report = replace(report, measured_at=report.measured_at or _time())
        if report.category_metrics is None:
            report = with_survey(report, encoder)
    results = gates.results(report)
    report = replace(report, gates=outcomes(results))
    failed = write_all((one, load_writer(one.format_name)(report)) for one in outputs)
    for figure in report.figures:
        if figure.problem:
            diagnostics.error(
                f"--metric {figure.name}: {figure.problem}\n"
                "  correct the metric, or leave it out: all else is reported"
            )
            failed = failed or Exit.BAD_INPUT
    for result in results:
        diagnostics.gate(result.state, result.text)
    code: int = exit_code(results)
    metrics = report.evaluation.metrics
    if say_incomplete is not None and metrics.missing:
        say_incomplete()
        if gates.max_errors is None or metrics.open:
            code = Exit.NOT_COMPLETED
    code = failed or code
    if told := summary(results, code):
        diagnostics.note(told)
    github.tell(report, results, *files)
    return code


def _time() -> str:
    """Return the time of a report: $SOURCE_DATE_EPOCH, for reports that can be made again, or now.

    Source: reproducible-builds.org, "SOURCE_DATE_EPOCH": seconds since 1970.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    return moment.isoformat(timespec="seconds")


def write_all(made: Iterable[tuple[Output, str]]) -> int:
    """Write each text where it belongs; what cannot be written is told, and the others are written.

    Gives the exit code of what failed last, 0 when nothing did. A table on the screen is defused.
    """

    failed: int = Exit.DONE
    for one, text in made:
        for_people = one.path is None and one.format_name == "table"
        try:
            write(diagnostics.defused(text) if for_people else text, one.path)
        except (GuardtuiError, OSError) as problem:
            failed = diagnostics.failure(problem)
    return failed
