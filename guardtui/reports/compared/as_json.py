"""Two evaluations compared, for programs: JSON with the keys of the report on one."""

from __future__ import annotations

from typing import Any

from guardtui.reports.compared.base import ComparedPrompt, ComparisonReport
from guardtui.reports.json_report import (
    RATE_KEYS,
    counts_of,
    definition_of,
    dumps,
    guardrail_of,
    intervals_of,
    rates_of,
    significance_of,
)
from guardtui.session.evaluation_refs import Mistakes, RecordedEvaluation

SCHEMA_VERSION = 1


def write(compared: ComparisonReport) -> str:
    """Return JSON with every differing prompt; undefined rates are null."""
    comparison = compared.comparison
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": "comparison",
        "compared_by": "mistakes" if comparison is None else "prompts",
        "a": _side(compared.before),
        "b": _side(compared.after),
        "deltas": {key: compared.deltas.get(name) for name, key in RATE_KEYS.items()},
        "counts": {group.key: len(group) for group in compared.groups}
        | {"wrong_in_both": compared.still_wrong},
        "p_value": comparison and comparison.p_value,
        "sentence": compared.sentence,
        "significance": comparison and significance_of(comparison.significance),
        "caveats": list(compared.caveats),
        "definition_changes": list(compared.changes),
        **{group.key: [_item(item) for item in group.first()] for group in compared.groups},
    }
    return dumps(document, indent=2) + "\n"


def _side(side: RecordedEvaluation | Mistakes) -> dict[str, Any]:
    result: dict[str, Any] = {"name": side.name, "profile": side.profile}
    if isinstance(side, Mistakes):
        result |= {
            "kind": "mistakes",
            "iteration": None,
            "topic": side.topic,
            "intent": side.intent.value,
            "guardrail": None,
            "threshold": None,
            "definition": None,
            "prompt_set_fingerprint": None,
        }
    else:
        evaluation = side.evaluation
        settings = evaluation.settings
        result |= {
            "kind": "report" if side.number is None else "iteration",
            "iteration": side.number,
            "topic": evaluation.topic.name,
            "intent": evaluation.topic.intent.value,
            "guardrail": guardrail_of(settings),
            "threshold": settings.threshold,
            "definition": definition_of(evaluation.topic),
            "prompt_set_fingerprint": evaluation.prompt_set,
        }
    return result | {
        "counts": counts_of(side.metrics),
        "rates": rates_of(side.metrics),
        "intervals": intervals_of(side.metrics),
    }


def _item(item: ComparedPrompt) -> dict[str, Any]:
    return {
        "prompt": item.prompt,
        "line": item.line,
        "was": item.was or None,
        "now": item.now or None,
        "expected_label": item.expected,
        "score": item.score,
    }
