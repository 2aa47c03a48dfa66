"""Gates of an audit: the whole profile, each topic by itself, conflicts, missing verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import MAX_ERRORS, Result, State, errors_gate
from guardtui.cli.options import Fraction, Function
from guardtui.domain.audit import Audit
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.text import display_start

_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class AuditGates:
    """What is demanded; None where it is not."""

    min_coverage: float | None = None
    min_topic_coverage: float | None = None
    max_conflicts: int | None = None
    max_errors: int | None = None

    def results(self, audit: Audit) -> list[Result]:
        """What came of every gate that was asked for, in the order of the options.

        Coverage that is undefined fails. Topics without a prompt set are asked for none.
        """
        return list(self._results(audit))

    def _results(self, audit: Audit) -> Iterator[Result]:
        if self.min_coverage is not None:
            what = "coverage of the profile"
            yield _coverage("--min-coverage", what, audit.metrics, self.min_coverage)
        if self.min_topic_coverage is not None:
            for one in audit.members:
                if one.source:
                    what = f"coverage of {display_start(one.topic.name, _NAME_CHARACTERS)}"
                    least = self.min_topic_coverage
                    yield _coverage("--min-topic-coverage", what, one.alone, least)
        if self.max_conflicts is not None:
            count = audit.conflict_count
            yield _at_most("--max-conflicts", count, "conflict", "", self.max_conflicts)
        if self.max_errors is not None:
            yield errors_gate(audit.error_count, audit.open_count, self.max_errors)


def gate_options(function: Function) -> Function:
    """Add the options of the gates."""
    for option in reversed(
        (
            click.option(
                "--min-coverage",
                type=Fraction(),
                metavar="X",
                help="Exit with 1 when coverage of the whole profile is below X (0 to 1).",
            ),
            click.option(
                "--min-topic-coverage",
                type=Fraction(),
                metavar="X",
                help="Exit with 1 when coverage of a topic by itself is below X (0 to 1).",
            ),
            click.option(
                "--max-conflicts",
                type=click.IntRange(min=0),
                metavar="N",
                help="Exit with 1 when there are more than N conflicts.",
            ),
            MAX_ERRORS,
        )
    ):
        function = option(function)
    return function


def _coverage(option: str, what: str, metrics: Metrics, least: float) -> Result:
    coverage, interval = metrics.coverage, coverage_interval(metrics)
    if coverage is None or interval is None:
        text = f"{what} is undefined, at least {least:g} is asked for"
        return Result(option, State.FAILED, text, Exit.GATE_FAILED)
    failed = coverage < least
    # As many decimals as it takes to tell the two apart.
    shown = f"{coverage:.3f}"
    if (float(shown) < least) is not failed:
        shown = repr(coverage)
    span = f"(95 % interval {interval.low:.3f} – {interval.high:.3f})"
    text = f"{what} {shown} is {'below' if failed else 'at least'} {least:g} {span}"
    return _result(option, text, failed)


def _at_most(option: str, count: int, noun: str, what: str, most: int) -> Result:
    text = f"{count} {noun}{'s' * (count != 1)}{what}, at most {most} allowed"
    return _result(option, text, count > most)


def _result(option: str, text: str, failed: bool) -> Result:
    if failed:
        return Result(option, State.FAILED, text, Exit.GATE_FAILED)
    return Result(option, State.PASSED, text, Exit.DONE)
