"""Delivery of an evaluation: write reports, print gates, return the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from guardtui.cli import diagnostics, github
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import Gates, exit_code, outcomes, summary
from guardtui.cli.output import write
from guardtui.cli.output_options import ReportOutput
from guardtui.domain.errors import GuardtuiError
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer


def deliver(
    report: ReportInput,
    outputs: Sequence[ReportOutput],
    gates: Gates,
    files: Sequence[Path],
    *,
    say_incomplete: Callable[[], None] | None = None,
) -> int:
    """Write each report to its output, print every gate, and return the exit code.

    `files` are the files read, the prompts first and then the topic. `say_incomplete` prints a
    remedy for prompts without a verdict, if another scan can help. A report that cannot be written,
    or a metric that failed, is printed as an error and gives code 2. Raises `ReportError`.
    """
    if any(output.format_name == "html" for output in outputs):
        report = replace(report, measured_at=report.measured_at or _time())
    results = gates.results(report)
    report = replace(report, gates=outcomes(results), least=gates.min_coverage)
    failed = write_all(
        (output, load_writer(output.format_name, variant=output.variant)(report))
        for output in outputs
    )
    for figure in report.figures:
        if figure.problem:
            diagnostics.error(
                f"--metric {figure.name}: {figure.problem}\n"
                "  fix the metric, or omit it: everything else is reported"
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
    if message := summary(results, code):
        diagnostics.note(message)
    github.annotate(report, results, *files)
    return code


def _time() -> str:
    """Return the time of a report: $SOURCE_DATE_EPOCH, for reproducible reports, or now.

    Source: reproducible-builds.org, "SOURCE_DATE_EPOCH": seconds since 1970.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    return moment.isoformat(timespec="seconds")


def write_all(texts: Iterable[tuple[ReportOutput, str]]) -> int:
    """Write each text to its output; a failure is printed, and the others are still written.

    Returns the exit code of the last failure, or 0. A table on the screen is defused.
    """

    failed: int = Exit.DONE
    for output, text in texts:
        for_people = output.path is None and output.format_name == "table"
        try:
            write(diagnostics.defused(text) if for_people else text, output.path)
        except (GuardtuiError, OSError) as problem:
            failed = diagnostics.failure(problem)
    return failed
