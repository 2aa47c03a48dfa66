"""Gates of an audit: the whole profile, each topic by itself, conflicts, missing verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import MAX_ERRORS, Result, State, errors_gate
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import Fraction
from guardtui.domain.figures import count_text
from guardtui.domain.metrics import Metrics
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.text import display_start

_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class AuditGates:
    """Thresholds of the gates; None for a gate that was not requested."""

    min_coverage: float | None = None
    min_topic_coverage: float | None = None
    max_conflicts: int | None = None
    max_errors: int | None = None

    def results(self, evaluation: ProfileEvaluation) -> list[Result]:
        """Return the result of each requested gate, in the order of the options.

        Undefined coverage fails. Topics without a prompt set have no gate.
        """
        return list(self._results(evaluation))

    def _results(self, evaluation: ProfileEvaluation) -> Iterator[Result]:
        if self.min_coverage is not None:
            subject = "coverage of the profile"
            yield _coverage("--min-coverage", subject, evaluation.metrics, self.min_coverage)
        if self.min_topic_coverage is not None:
            for member in evaluation.members:
                if member.source:
                    subject = f"coverage of {display_start(member.topic.name, _NAME_CHARACTERS)}"
                    least = self.min_topic_coverage
                    yield _coverage("--min-topic-coverage", subject, member.alone, least)
        if self.max_conflicts is not None:
            count = evaluation.conflict_count
            yield _at_most("--max-conflicts", count, "conflict", self.max_conflicts)
        if self.max_errors is not None:
            yield errors_gate(evaluation.error_count, evaluation.open_count, self.max_errors)


def gate_options(function: Function) -> Function:
    """Add the options of the gates."""
    for option in reversed(
        (
            click.option(
                "--min-coverage",
                type=Fraction(),
                metavar="X",
                help="Exit with 1 if coverage of the whole profile is below X (0 to 1).",
            ),
            click.option(
                "--min-topic-coverage",
                type=Fraction(),
                metavar="X",
                help="Exit with 1 if coverage of a topic by itself is below X (0 to 1).",
            ),
            click.option(
                "--max-conflicts",
                type=click.IntRange(min=0),
                metavar="N",
                help="Exit with 1 if there are more than N conflicts.",
            ),
            MAX_ERRORS,
        )
    ):
        function = option(function)
    return function


def _coverage(option: str, subject: str, metrics: Metrics, least: float) -> Result:
    coverage, interval = metrics.coverage, coverage_interval(metrics)
    if coverage is None or interval is None:
        text = f"{subject} is undefined, at least {least:g} is required"
        return Result(option, State.FAILED, text, Exit.GATE_FAILED)
    failed = coverage < least
    # Enough decimals to tell the two apart.
    shown = f"{coverage:.3f}"
    if (float(shown) < least) is not failed:
        shown = repr(coverage)
    span = f"(95 % interval {interval.low:.3f} – {interval.high:.3f})"
    text = f"{subject} {shown} is {'below' if failed else 'at least'} {least:g} {span}"
    return _result(option, text, failed)


def _at_most(option: str, count: int, noun: str, most: int) -> Result:
    text = f"{count_text(count, noun)}, at most {most} allowed"
    return _result(option, text, count > most)


def _result(option: str, text: str, failed: bool) -> Result:
    if failed:
        return Result(option, State.FAILED, text, Exit.GATE_FAILED)
    return Result(option, State.PASSED, text, Exit.DONE)
