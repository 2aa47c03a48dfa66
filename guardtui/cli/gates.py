"""Gates of an evaluation: requirements of automation, their results, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import SHARE
from guardtui.domain.figures import ON_NEW_PROMPTS, count_text, interval_text

if TYPE_CHECKING:
    from guardtui.domain.metrics import Metrics
    from guardtui.reports.base import GateOutcome, ReportInput


class State(StrEnum):
    """Result of a gate. `UNSURE`: evidence was required, but the data are not enough."""

    PASSED = "passed"
    FAILED = "failed"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a gate, by its option, with a sentence of our own words and numbers.

    `code` is the exit code for this result.
    """

    option: str
    state: State
    text: str
    code: Exit


@dataclass(frozen=True, slots=True)
class Gates:
    """Thresholds of the gates; None or False for a gate that was not requested."""

    min_coverage: float | None = None
    max_regressions: int | None = None
    max_errors: int | None = None
    require_complete: bool = False
    require_significant: bool = False

    def check_usage(self, *, baseline: bool) -> None:
        """Raise `click.UsageError` for gates that cannot be combined."""
        if self.max_regressions is not None and not baseline:
            raise click.UsageError(
                "--max-regressions needs --baseline: add --baseline last, or a JSON report"
            )
        if self.require_complete and self.max_errors is not None:
            raise click.UsageError(
                "--require-complete allows no prompt without a verdict: leave --max-errors out"
            )
        if self.require_significant and self.min_coverage is None and not baseline:
            raise click.UsageError(
                "--require-significant needs --min-coverage or --baseline: add the one to show"
            )

    def results(self, report: ReportInput) -> list[Result]:
        """Return the result of each requested gate, in the order of the options."""
        results: list[Result] = []
        if self.min_coverage is not None:
            results.append(_coverage(report, self.min_coverage))
            if self.require_significant and results[-1].state is State.PASSED:
                results.append(_sure_coverage(report, self.min_coverage))
        if self.max_regressions is not None:
            results.append(_regressions(report, self.max_regressions))
        if self.require_significant and report.comparison is not None:
            results.append(_sure_change(report))
        if self.max_errors is not None or self.require_complete:
            metrics = report.evaluation.metrics
            results.append(_errors_gate(metrics.errors, metrics.open, self.max_errors))
        return results


MAX_ERRORS = click.option(
    "--max-errors",
    type=click.IntRange(min=0),
    metavar="N",
    help="Exit with 1 if more than N prompts have no verdict.",
)
"""The gate of every evaluation."""


def gate_options(function: Function) -> Function:
    """Add the options of the gates; `gates_of` takes their values."""
    for option in reversed(
        (
            click.option(
                "--min-coverage",
                type=SHARE,
                metavar="X",
                help="Exit with 1 if coverage is below X (0 to 1).",
            ),
            click.option(
                "--max-regressions",
                type=click.IntRange(min=0),
                metavar="N",
                help="Exit with 1 if more than N prompts got worse (needs --baseline).",
            ),
            MAX_ERRORS,
            click.option(
                "--require-complete",
                is_flag=True,
                help="Exit with 3 if any prompt has no verdict, for every guardrail.",
            ),
            click.option(
                "--require-significant",
                is_flag=True,
                help="Exit with 4 if the 95 % interval of coverage, or of its change since "
                "--baseline, leaves the answer open; with 1 when coverage is worse.",
            ),
        )
    ):
        function = option(function)
    return function


def gates_of(values: dict[str, Any]) -> Gates:
    """Return the requested gates; takes their values out of a command's options."""
    return Gates(**{name: values.pop(name) for name in Gates.__slots__})


def exit_code(results: Sequence[Result]) -> Exit:
    """Return the exit code of all gates: 3 takes precedence over 1, and 1 over 4."""
    codes = {result.code for result in results if result.state is not State.PASSED}
    for code in (Exit.NOT_COMPLETED, Exit.GATE_FAILED, Exit.NOT_ENOUGH_EVIDENCE):
        if code in codes:
            return code
    return Exit.DONE


def summary(results: Sequence[Result], code: int) -> str:
    """Return how many gates passed, failed and are unsure, and the exit code; "" without gates."""
    if not results:
        return ""
    counts = (
        f"{sum(result.state is state for result in results)} {state}"
        for state in State
        if state is not State.UNSURE or any(result.state is state for result in results)
    )
    return f"gates: {', '.join(counts)}; exit code {int(code)}"


def outcomes(results: Sequence[Result]) -> tuple[GateOutcome, ...]:
    """Return the results of the gates for a report."""
    from guardtui.reports.base import GateOutcome

    passed = {State.PASSED: True, State.FAILED: False}
    return tuple(
        GateOutcome(result.option, passed.get(result.state), result.text) for result in results
    )


def _coverage(report: ReportInput, least: float) -> Result:
    metrics, bounds = report.evaluation.metrics, report.coverage_bounds
    if metrics.open and bounds is not None and bounds.low < least <= bounds.high:
        text = (
            f"coverage may be from {bounds.low:.3f} to {bounds.high:.3f}, at least {least:g} is "
            f"asked for: {_not_asked(metrics.open)}"
        )
        return Result("--min-coverage", State.UNSURE, text, Exit.NOT_COMPLETED)
    fitted = report.evaluation.settings.has_fitted_threshold
    result = coverage_gate("--min-coverage", "coverage", metrics, least, fitted=fitted)
    return replace(result, text="; ".join([result.text, *report.cautions]))


def coverage_gate(
    option: str, subject: str, metrics: Metrics, least: float, *, fitted: bool = False
) -> Result:
    """Return whether coverage is at least `least`; undefined coverage fails.

    `fitted` tells whether the threshold was fitted to these labels.
    """
    from guardtui.domain.statistics import coverage_interval

    coverage, interval = metrics.coverage, coverage_interval(metrics, fitted=fitted)
    if coverage is None or interval is None:
        text = f"{subject} is undefined, at least {least:g} is asked for"
        return Result(option, State.FAILED, text, Exit.GATE_FAILED)
    failed = coverage < least
    # Enough decimals to tell the two apart.
    shown = f"{coverage:.3f}"
    if (float(shown) < least) is not failed:
        shown = repr(coverage)
    span = f"({interval_text(interval)} {ON_NEW_PROMPTS})"
    text = f"{subject} {shown} is {'below' if failed else 'at least'} {least:g} {span}"
    return Result(option, State.FAILED if failed else State.PASSED, text, _gate(failed))


def _sure_coverage(report: ReportInput, least: float) -> Result:
    """Return whether coverage is certainly enough, for its whole interval and missing verdicts.

    Called only if coverage itself is enough.
    """
    interval, bounds = report.evaluation.intervals["coverage"], report.coverage_bounds
    low = interval.low if interval else 0.0
    state, code = State.PASSED, Exit.DONE
    text = f"coverage {ON_NEW_PROMPTS} is at least {low:.3f}, not below {least:g}"
    if low < least:
        shown = f"{low:.3f}" if round(low, 3) < least else repr(low)
        text = f"coverage {ON_NEW_PROMPTS} may be below {least:g}: at least {shown}"
        state, code = State.UNSURE, Exit.NOT_ENOUGH_EVIDENCE
    elif bounds is not None and bounds.low < least:
        text = f"coverage may be {bounds.low:.3f} with the verdicts that are missing"
        state, code = State.UNSURE, Exit.NOT_ENOUGH_EVIDENCE
    return Result("--require-significant", state, text, code)


def _regressions(report: ReportInput, most: int) -> Result:
    assert report.comparison is not None  # noqa: S101 - usage was checked
    significance = report.comparison.significance
    count, compared = significance.regressions, significance.compared
    if not compared:
        text = f"regressions are unknown: {significance.sentence}"
        return Result("--max-regressions", State.UNSURE, text, Exit.NOT_ENOUGH_EVIDENCE)
    failed = count > most
    text = f"{count_text(count, 'regression')}, at most {most} allowed{report.baseline_caution}"
    total = len(report.evaluation.keys)
    if compared < total:
        text += f" ({compared} of {count_text(total, 'prompt')} can be compared)"
    if report.evaluation.metrics.open and not failed:
        text += f"; {_not_asked(report.evaluation.metrics.open)}"
        return Result("--max-regressions", State.UNSURE, text, Exit.NOT_COMPLETED)
    return Result(
        "--max-regressions", State.FAILED if failed else State.PASSED, text, _gate(failed)
    )


def _sure_change(report: ReportInput) -> Result:
    """Return whether a change of coverage since the baseline is certain, and not for the worse."""
    from guardtui.domain.significance import Difference

    assert report.comparison is not None  # noqa: S101 - the caller looked
    state, code = {
        Difference.BETTER: (State.PASSED, Exit.DONE),
        Difference.NONE: (State.PASSED, Exit.DONE),
        Difference.WORSE: (State.FAILED, Exit.GATE_FAILED),
    }.get(report.comparison.significance.difference, (State.UNSURE, Exit.NOT_ENOUGH_EVIDENCE))
    text = report.comparison.describe(report.baseline_name) + report.baseline_caution
    return Result("--require-significant", state, text, code)


def _errors_gate(errors: int, unasked: int, most: int | None) -> Result:
    """Return the gate on prompts without a verdict: at most `most`; None is --require-complete.

    Prompts that were not asked are never allowed: the scan is incomplete.
    """
    option = "--require-complete" if most is None else "--max-errors"
    failed = errors > (most or 0)
    text = f"{count_text(errors, 'prompt')} without a verdict, at most {most or 0} allowed"
    if unasked:
        text = f"{_not_asked(unasked)}; {text}"
        return Result(option, State.FAILED, text, Exit.NOT_COMPLETED)
    code = Exit.NOT_COMPLETED if most is None and failed else _gate(failed)
    return Result(option, State.FAILED if failed else State.PASSED, text, code)


def _not_asked(unasked: int) -> str:
    verb = "was" if unasked == 1 else "were"
    return f"{count_text(unasked, 'prompt')} {verb} not asked, the scan is not complete"


def _gate(failed: bool) -> Exit:
    return Exit.GATE_FAILED if failed else Exit.DONE
