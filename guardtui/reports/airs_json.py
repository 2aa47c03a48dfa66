"""The JSON that `airs runtime topics eval` prints, key for key and digit for digit."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from guardtui.domain.metrics import Metrics
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput, ReportRow
from guardtui.reports.json_text import dumps

_RATE = re.compile(r'^    "(tpr|tnr|coverage|f1)": ([^,\n]+)', re.MULTILINE)


def write(report: ReportInput) -> str:
    """Return the tool's output for these verdicts: indented by two blanks, with one line feed.

    Only how some characters are spelt differs: what does not show is escaped. That tool stops at a
    prompt without a verdict; here such prompts are left out, as from all rates. A prompt that is
    no longer in the prompt file is an empty text.
    """
    document = mirrored(report) | {
        "false_positives": [mistake(row) for row in report.with_outcome(Outcome.FP)],
        "false_negatives": [mistake(row) for row in report.with_outcome(Outcome.FN)],
    }
    for entry in (*document["false_positives"], *document["false_negatives"]):
        entry["prompt"] = entry["prompt"] or ""
    text = dumps(document, indent=2)
    # Line ends inside of texts are escaped, so these lines are always those of `metrics`.
    return _RATE.sub(lambda match: f'    "{match[1]}": {js_number(float(match[2]))}', text) + "\n"


def mirrored(report: ReportInput) -> dict[str, Any]:
    """Return the keys before the two lists, in their order; an undefined rate is 0."""
    metrics = report.evaluation.metrics
    true_positives = metrics.true_positive_rate or 0.0
    true_negatives = metrics.true_negative_rate or 0.0
    return {
        "profile": report.profile,
        "topic": report.topic.name,
        "intent": report.topic.intent.value,
        "metrics": {
            "tp": metrics.tp,
            "tn": metrics.tn,
            "fp": metrics.fp,
            "fn": metrics.fn,
            "tpr": true_positives,
            "tnr": true_negatives,
            # Not `metrics.coverage`: the other tool takes the minimum after its zeros.
            "coverage": min(true_positives, true_negatives),
            "f1": _f1(metrics),
            "total": metrics.total,
        },
    }


def mistake(row: ReportRow) -> dict[str, Any]:
    """Return an entry of the lists; `expected` is what the guardrail should have done."""
    return {"prompt": row.prompt, "expected": row.should_trigger, "actual": row.triggered}


def js_number(value: float) -> str:
    """Return a number from 0 to 1 as JavaScript writes it.

    Source: ECMA-262, Number::toString. Both languages write the fewest digits that read back as the
    same number; they differ in whole numbers and in when and how an exponent is written.
    """
    if value.is_integer():
        return str(int(value))
    text = repr(value)
    if "e-" not in text:
        return text
    digits, _, exponent = text.partition("e-")
    return f"{Decimal(text):f}" if value >= 1e-6 else f"{digits}e-{int(exponent)}"


def _f1(metrics: Metrics) -> float:
    # As the other tool computes it, which can differ from `Metrics.f1` in the last digit.
    precision, recall = metrics.precision or 0.0, metrics.true_positive_rate or 0.0
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0
