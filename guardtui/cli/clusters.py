"""The survey of a prompt set, for `guardtui check --clusters` and for reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from guardtui.advice.prompt_set import Survey, survey
from guardtui.advice.report_survey import survey_for_report
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import Interval
from guardtui.domain.topic import Topic
from guardtui.reports.base import ReportInput
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner


def survey_of(engine: LocalScanner, topic: Topic, prompts: PromptSet) -> Survey | None:
    """Evaluate the prompts with an engine, at its threshold, and return their survey.

    None only if stopped. Raises ScannerError.
    """
    evaluation = engine.evaluate_now(topic, prompts)
    assert evaluation is not None  # noqa: S101 - nothing stops it
    return survey(engine, prompts, evaluation)


def with_survey(report: ReportInput, encoder: str | None = None) -> ReportInput:
    """Return the report with the survey of its prompts, or unchanged if the engine cannot load."""
    try:
        scanner = LocalScanner(encoder=encoder or ENCODERS[0])
    except ScannerError:
        return report
    return replace(report, survey=survey_for_report(scanner, report.prompts, report.evaluation))


def document(survey: Survey) -> dict[str, Any]:
    """Return the survey as JSON types; undefined rates are null, lines are those of the file."""
    lines = survey.prompts.frame["line"].to_list()
    texts = survey.prompts.prompts
    labels = survey.prompts.expected.tolist()

    def prompt(row: int) -> dict[str, Any]:
        return {"line": int(lines[row]), "expected": labels[row], "prompt": str(texts[row])}

    duplicates = survey.duplicates
    return {
        "guardrail": survey.evaluation.settings.guardrail.to_json(),
        "silhouette": survey.silhouette,
        "clusters": [
            {
                "cluster": cluster.number,
                "size": cluster.size,
                "expected_true": cluster.belong,
                "expected_false": cluster.others,
                "lacks": cluster.lacks or None,
                "words": list(cluster.words),
                "central": prompt(cluster.central),
                "counts": {
                    "tp": cluster.metrics.tp,
                    "tn": cluster.metrics.tn,
                    "fp": cluster.metrics.fp,
                    "fn": cluster.metrics.fn,
                    "errors": cluster.metrics.errors,
                    "open": cluster.metrics.open,
                },
                "error_rate": _rate(cluster.error_rate, cluster.error_interval),
                "false_positive_rate": _rate(*cluster.false_positive_rate),
                "false_negative_rate": _rate(*cluster.false_negative_rate),
                "lines": [int(lines[row]) for row in cluster.rows.tolist()],
            }
            for cluster in survey.clusters
        ],
        "near_duplicates": {
            "cosine": duplicates.near,
            "total": duplicates.total,
            "contradicting": duplicates.contradicting,
            "compared": duplicates.among,
            "exact": duplicates.exact,
            "pairs": [
                {
                    "cosine": round(pair.cosine, 4),
                    "contradicts": pair.contradicts,
                    "first": prompt(pair.first),
                    "second": prompt(pair.second),
                }
                for pair in duplicates.pairs
            ],
        },
        "label_next": [
            {
                "cluster": suggestion.cluster,
                "score": round(suggestion.score, 4),
                "rare_label": suggestion.wanted,
                "labels_nearby": {
                    "true": round(suggestion.belong, 3),
                    "false": round(suggestion.others, 3),
                },
                "unsure": suggestion.near_threshold,
                "prompts": [prompt(row) for row in suggestion.rows],
            }
            for suggestion in survey.spots
        ],
    }


def _rate(rate: float | None, interval: Interval | None) -> dict[str, float | None]:
    return {
        "value": rate,
        "low": interval.low if interval is not None else None,
        "high": interval.high if interval is not None else None,
    }
