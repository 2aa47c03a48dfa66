"""The report for code scanning: a SARIF result for each mistake, at its line of the prompt file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from guardtui.domain.metrics import RATES
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput, ReportRow, missing_text
from guardtui.reports.json_data import RATE_KEYS
from guardtui.reports.prompt_problems import (
    about,
    is_regression,
    prompt_hash,
    prompt_line,
    prompt_start,
    statement,
)
from guardtui.reports.sarif_log import SarifResult, SarifRule, sarif_log

RULES = (
    SarifRule(
        "false-negative",
        "FalseNegative",
        "The guardrail did not trigger, and should",
        "The label says that the guardrail should trigger on this prompt, and it did not. Bring "
        "the description or an example nearer to it; correct the label if it is wrong.",
        "warning",
    ),
    SarifRule(
        "false-positive",
        "FalsePositive",
        "The guardrail triggered, and should not",
        "The label says that the guardrail should not trigger on this prompt, and it did. The "
        "property `matched` names the part of the definition that is nearest to it: make that more "
        "narrow; correct the label if it is wrong.",
        "warning",
    ),
    SarifRule(
        "no-verdict",
        "NoVerdict",
        "The guardrail gave no verdict",
        "The guardrail failed on this prompt, so that it counts in no rate. Run the evaluation "
        "again: only what is missing is asked for.",
        "note",
    ),
)

_CHARACTERS = 300  # of a prompt
_REGRESSION = "error"
"""Level of a regression."""

_OUTCOMES = ("FN", "FP", "ERROR")
"""Outcome of each of `RULES`, in the order of the results."""


def write(report: ReportInput) -> str:
    """Return SARIF 2.1.0: regressions, false negatives, false positives, prompts without a verdict.

    The rule of a result is its kind of mistake and does not depend on the baseline, so that an
    alert stays open when a pull request is merged. A regression has the level `error` and a
    property.

    The fingerprint of a result is the hash of its prompt, so it stays the same when lines move.
    Right prompts and those that were not requested have no result, and there are no times.
    """
    missing = missing_text(report)
    return sarif_log(
        RULES,
        list(_findings(report)),
        run=report.topic.name,
        problems=[missing] if missing else (),
        properties=_properties(report),
    )


def _findings(report: ReportInput) -> Iterator[SarifResult]:
    outcomes = (Outcome.FN, Outcome.FP, Outcome.ERROR)
    rows = [row for outcome in outcomes for row in report.with_outcome(outcome)]
    for row in sorted(rows, key=lambda row: not is_regression(row)):
        yield _finding(report, row)


def _finding(report: ReportInput, row: ReportRow) -> SarifResult:
    rule = RULES[_OUTCOMES.index(row.outcome)]
    regression = is_regression(row)
    known = {
        "score": row.score,
        "matched": row.matched,
        "was": row.was or None,
        "regression": regression or None,
    }
    line = prompt_line(report, row)
    message = f"{row.outcome}: {statement(report, row)}: {prompt_start(row, _CHARACTERS)}"
    return SarifResult(
        rule=rule.id,
        level=_REGRESSION if regression else rule.level,
        message=message,
        path=report.prompt_file if row.line is not None else "",
        lines=(line,) if line else (),
        fingerprint=prompt_hash(report, row),
        state=_state(report, row),
        properties={"outcome": row.outcome, "shouldTrigger": row.should_trigger}
        | {name: value for name, value in known.items() if value is not None},
    )


def _state(report: ReportInput, row: ReportRow) -> str:
    """Return the baseline state of a result in SARIF, or ""."""
    if report.comparison is None:
        return ""
    if not row.was or is_regression(row):
        return "new"
    return "unchanged" if row.was == row.outcome else "updated"


def _properties(report: ReportInput) -> dict[str, Any]:
    metrics = report.evaluation.metrics
    properties: dict[str, Any] = {}
    for name, value in about(report):
        if name == "companion":
            properties.setdefault("companions", []).append(value)
        else:
            properties[name] = value
    properties["metrics"] = {RATE_KEYS[name]: getattr(metrics, name) for name in RATES} | {
        name: getattr(metrics, name) for name in ("tp", "fn", "fp", "tn", "errors", "open")
    }
    if report.comparison is not None:
        properties["comparison"] = {
            "regressions": report.comparison.regressions,
            "fixes": report.comparison.fixes,
            "sentence": report.comparison.sentence,
        }
    return properties
