"""What `guardtui check --clusters` adds: clusters, near-duplicates, where to label next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from guardtui.advice.prompt_set import Cluster, Survey, survey
from guardtui.advice.reported import survey_for_report
from guardtui.cli.inputs import agreed_topic
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import Interval
from guardtui.domain.text import display_start, display_text
from guardtui.files.topic_files import TopicFile
from guardtui.reports.base import ReportInput
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

PAIRS_SHOWN = 20
"""Pairs that the table lists; the JSON has up to 500."""

_PROMPT_CHARACTERS = 100


def survey_of(file: TopicFile, prompts: PromptSet) -> Survey | None:
    """Judge the prompts by the embedded engine and look through them; None where they cannot be.

    Raises ScannerError; prompts of another intent give None, as the check says so itself.
    """
    topic = agreed_topic(file, prompts)
    if topic is None:
        return None
    scanner = LocalScanner()
    verdicts = scanner.scan_now(topic, prompts, lambda progress: None)
    assert verdicts is not None  # noqa: S101 - nothing stops it
    evaluation = Evaluation(
        topic, scanner.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )
    return survey(scanner, prompts, evaluation)


def with_survey(report: ReportInput, encoder: str | None = None) -> ReportInput:
    """The report with its clusters for a form that tells of them; as it is where there are none."""
    try:
        scanner = LocalScanner(encoder=encoder or ENCODERS[0])
    except ScannerError:
        return report
    return replace(report, survey=survey_for_report(scanner, report.prompts, report.evaluation))


# --- for programs -------------------------------------------------------------------------


def document(survey: Survey) -> dict[str, Any]:
    """The survey as JSON's types; rates are null where they are undefined, lines are the file's."""
    lines = survey.prompts.frame["line"].to_list()
    texts = survey.prompts.prompts
    labels = survey.prompts.expected.tolist()

    def prompt(row: int) -> dict[str, Any]:
        return {"line": int(lines[row]), "expected": labels[row], "prompt": str(texts[row])}

    found = survey.duplicates
    return {
        "scanner": survey.evaluation.settings.identity,
        "silhouette": survey.silhouette,
        "clusters": [
            {
                "cluster": one.number,
                "size": one.size,
                "expected_true": one.belong,
                "expected_false": one.others,
                "lacks": one.lacks or None,
                "words": list(one.words),
                "central": prompt(one.central),
                "counts": {
                    "tp": one.metrics.tp,
                    "tn": one.metrics.tn,
                    "fp": one.metrics.fp,
                    "fn": one.metrics.fn,
                    "errors": one.metrics.errors,
                    "open": one.metrics.open,
                },
                "error_rate": _rate(one.error_rate, one.error_interval),
                "false_positive_rate": _rate(*one.false_positive_rate),
                "false_negative_rate": _rate(*one.false_negative_rate),
                "lines": [int(lines[row]) for row in one.rows.tolist()],
            }
            for one in survey.clusters
        ],
        "near_duplicates": {
            "cosine": found.near,
            "total": found.total,
            "contradicting": found.contradicting,
            "compared": found.among,
            "exact": found.exact,
            "pairs": [
                {
                    "cosine": round(pair.cosine, 4),
                    "contradicts": pair.contradicts,
                    "first": prompt(pair.first),
                    "second": prompt(pair.second),
                }
                for pair in found.pairs
            ],
        },
        "label_next": [
            {
                "cluster": spot.cluster,
                "score": round(spot.score, 4),
                "rare_label": spot.wanted,
                "labels_nearby": {"true": round(spot.belong, 3), "false": round(spot.others, 3)},
                "unsure": spot.near_threshold,
                "prompts": [prompt(row) for row in spot.rows],
            }
            for spot in survey.spots
        ],
    }


def _rate(rate: float | None, interval: Interval | None) -> dict[str, float | None]:
    return {
        "value": rate,
        "low": interval.low if interval is not None else None,
        "high": interval.high if interval is not None else None,
    }


# --- for readers --------------------------------------------------------------------------


def table(survey: Survey) -> str:
    """The survey as text; what is not ours in it is inert."""
    lines = [
        "",
        "clusters, worst error rate first, each with its central prompt (embedded engine; 95 %)",
    ]
    lines.append(
        f"{'':>4} {'error':>5}  {'interval':<15}{'wrong':>11}{'true':>7}{'false':>7}  words"
    )
    for one in survey.clusters:
        lines += [_cluster(one), f"{'':>6}{_prompt(survey, one.central)}"]
    for lack in ("no negatives", "no positives"):
        names = [f"#{one.number}" for one in survey.clusters if one.lacks == lack]
        if names:
            lines.append(f"clusters with {lack}: {', '.join(names)}")
    found = survey.duplicates
    lines.append("")
    lines.append(
        f"near-duplicates (cosine {found.near} or more): {found.total} pairs, "
        f"{found.contradicting} with contradicting labels"
    )
    if found.among < len(survey.prompts):
        lines.append(f"  looked for among {found.among} of {len(survey.prompts)} prompts")
    elif not found.exact:
        lines.append("  of so many prompts some pairs may be missed")
    for pair in found.pairs[:PAIRS_SHOWN]:
        lines.append(f"  {'!' if pair.contradicts else ' '} {pair.cosine:.3f}")
        lines += [f"      {_prompt(survey, row)}" for row in (pair.first, pair.second)]
    if found.total > PAIRS_SHOWN:
        lines.append(f"  … and {found.total - PAIRS_SHOWN} more")
    lines.append("")
    if not survey.spots:
        lines.append("label next: the engine hesitates nowhere")
    for spot in survey.spots:
        few = "true" if spot.wanted else "false"
        lines.append(
            f"label next ({spot.score:.3f}), cluster #{spot.cluster}: prompts like these; "
            f"few labels nearby are {few}"
        )
        lines += [f"      {_prompt(survey, row)}" for row in spot.rows]
    return "\n".join(lines) + "\n"


def _cluster(one: Cluster) -> str:
    rate, interval = one.error_rate, one.error_interval
    shown = "n/a" if rate is None else f"{rate:.3f}"
    span = "" if interval is None else f"[{interval.low:.2f} – {interval.high:.2f}]"
    wrong = f"{one.mistakes}/{one.metrics.total}"
    words = ", ".join(map(display_text, one.words)) or "(no typical words)"
    number = f"#{one.number}"
    return f"{number:>4} {shown:>5}  {span:<15}{wrong:>11}{one.belong:>7}{one.others:>7}  {words}"


def _prompt(survey: Survey, row: int) -> str:
    label = "true" if survey.prompts.expected[row] else "false"
    line = int(survey.prompts.frame["line"][row])
    text = display_start(str(survey.prompts.prompts[row]), _PROMPT_CHARACTERS)
    return f"line {line:<6} {label:<5}  {text}"
