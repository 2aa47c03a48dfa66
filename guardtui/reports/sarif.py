"""The report for code scanning: a SARIF result for each mistake, at its line of the prompt file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from guardtui.domain.metrics import RATES
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput, ReportRow, missing_text
from guardtui.reports.json_data import RATE_KEYS
from guardtui.reports.prompt_problems import (
    about,
    claim,
    evidence,
    is_regression,
    prompt_hash,
    prompt_line,
    prompt_start,
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

_PLACES = {rule.id: place for place, rule in enumerate(RULES)}
_KINDS = {"FP": "false-positive", "FN": "false-negative", "ERROR": "no-verdict"}


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
        successful=not missing,
        problems=[missing] if missing else (),
        properties=_properties(report),
    )


def _findings(report: ReportInput) -> Iterator[SarifResult]:
    codes = report.evaluation.codes
    others = (Outcome.TP, Outcome.TN, Outcome.OPEN)
    rows = [report.row(int(number)) for number in np.flatnonzero(~np.isin(codes, others))]

    def order(row: ReportRow) -> tuple[bool, int, int]:
        return not is_regression(row), _PLACES[_KINDS[row.outcome]], row.number

    for row in sorted(rows, key=order):
        yield _finding(report, row)


def _finding(report: ReportInput, row: ReportRow) -> SarifResult:
    rule = RULES[_PLACES[_KINDS[row.outcome]]]
    regression = is_regression(row)
    grounds = evidence(report, row)
    message = f"{row.outcome}: {claim(row)}" + (f" ({grounds})" if grounds else "")
    properties: dict[str, Any] = {"outcome": row.outcome, "shouldTrigger": row.should_trigger}
    if row.score is not None:
        properties["score"] = row.score
    known = (("matched", row.matched), ("was", row.was), ("regression", regression))
    properties |= {name: value for name, value in known if value}
    path = report.prompt_file if row.line is not None else ""
    line = prompt_line(report, row)
    return SarifResult(
        rule=rule.id,
        level=_REGRESSION if regression else rule.level,
        message=f"{message}: {prompt_start(row, _CHARACTERS)}",
        path=path,
        lines=(line,) if line else (),
        fingerprint=prompt_hash(report, row),
        state=_state(report, row),
        properties=properties,
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
