"""Input of an audit's reports, the sentences they share, and the lookup of a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from guardtui.domain.document import Foreign, Phrase, Quote, quoting
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.profile_conflicts import Conflict, ConflictKind
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import Label
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Triggered
from guardtui.reports.base import ReportError
from guardtui.reports.formats import render

FORMATS = ("table", "json", "md", "html")
"""Names of the formats of an evaluation."""

KIND_CODES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "stopped_by_another",
    ConflictKind.BOTH: "matched_by_both",
    ConflictKind.LABELS: "labels_contradict",
    ConflictKind.OVERLAP: "topics_overlap",
}
"""Name of each kind of conflict for programs."""

KIND_TITLES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "Stopped by another topic",
    ConflictKind.BOTH: "Matched by an allow and a block topic",
    ConflictKind.LABELS: "Labels that contradict",
    ConflictKind.OVERLAP: "Topics that overlap",
}

REMEDIES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "narrow the topic that stops them; or, where it is right to, put the "
    "prompt into its prompt set too, with the label that says so",
    ConflictKind.BOTH: "the allow topic is taken to win: narrow it, or the block topic",
    ConflictKind.LABELS: "decide what should happen to them, and correct one of the two sets",
    ConflictKind.OVERLAP: "one of them may not be needed, or both are wider than meant",
}


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Content of an audit's report; `notices` are doubts about how it was measured."""

    evaluation: ProfileEvaluation
    settings: ScannerSettings
    profile: str = ""
    notices: tuple[str, ...] = ()


_ENDINGS = {"txt": "table", "json": "json", "md": "md", "markdown": "md"} | dict.fromkeys(
    ("html", "htm"), "html"
)


def format_of_name(name: str) -> str | None:
    """Return the format of an audit for a file name, or None for an unknown ending."""
    return _ENDINGS.get(name.lower().rpartition(".")[2]) if "." in name else None


Writer = Callable[[AuditReport], str]
"""Returns the whole text of a report; the same input gives the same text."""


def load_writer(name: str) -> Writer:
    """Return the writer of a format. Raises `ReportError` for an unknown format."""
    if name not in FORMATS:
        raise ReportError(
            f"unknown report format {name[:40]!r} of an audit: choose one of {', '.join(FORMATS)}"
        )
    if name == "json":
        from guardtui.reports.audit_json import write

        return write
    from guardtui.reports.audit_document import audit_document

    return lambda report: render(audit_document(report), name)


def scanner_text(report: AuditReport, quote: Quote) -> str:
    """Return the scanner with its revision and threshold."""
    settings = report.settings
    revision = f", revision {settings.revision}" if settings.revision else ""
    text = quote(settings.identity + revision)
    if settings.threshold is not None:
        source = f" ({settings.threshold_source})" if settings.threshold_source else ""
        text += f", threshold {settings.threshold:.3f}{source}"
    return text


def default_text(evaluation: ProfileEvaluation) -> str:
    """Return what happens to a prompt that no topic matches."""
    return "stopped" if evaluation.closed else "let through"


def verdict_text(evaluation: ProfileEvaluation) -> str:
    """Return the result of the audit in two sentences."""
    metrics, count = evaluation.metrics, evaluation.conflict_count
    parts = [
        f"The profile stops {metrics.tp} of {metrics.tp + metrics.fn} prompts that it should stop, "
        f"and lets {metrics.tn} of {metrics.tn + metrics.fp} pass that it should let pass.",
        f"{count} conflict{'s' * (count != 1)} between topics." if count else "No conflicts.",
    ]
    return " ".join(parts)


def open_text(evaluation: ProfileEvaluation) -> str:
    """Return the uncertainty of the profile's rates that is due to labels and errors, or ""."""
    parts = []
    undecided = int(evaluation.undecided.sum())
    if undecided:
        right = evaluation.metrics_if_right
        parts.append(
            f"{_prompts(undecided, 'counts', 'count')} as a mistake only because a topic that "
            "matched has no label there: if it is right to match, "
            f"coverage is {rate_text(right.coverage)} (TPR {rate_text(right.true_positive_rate)}, "
            f"TNR {rate_text(right.true_negative_rate)})"
        )
    contradictory = int(evaluation.contradictory.sum())
    if contradictory:
        parts.append(
            f"{_prompts(contradictory, 'has', 'have')} labels that contradict, and no part in rates"
        )
    if evaluation.error_count:
        parts.append(
            f"{_prompts(evaluation.error_count, 'has', 'have')} no verdict, and no part in rates"
        )
    if evaluation.open_count:
        parts.append(
            f"{_prompts(evaluation.open_count, 'was', 'were')} not asked, and have no part in rates"
        )
    return "; ".join(parts)


def doubts(report: AuditReport) -> Iterator[Phrase]:
    """Yield cautions about the figures, a sentence each."""
    evaluation = report.evaluation
    yield from map(Foreign, report.notices)
    if evaluation.idle:
        yield quoting(
            lambda quote: (
                "block topics change no verdict here: what no allow topic matches is stopped "
                "without them, and what one matches is let through: "
                + ", ".join(quote(evaluation.name(index)) for index in evaluation.idle)
            )
        )
    for index, member in enumerate(evaluation.members):
        name = Foreign(evaluation.name(index))
        if not member.labelled:
            reason = "has no prompt set" if member.given else "is in the profile too"
            yield (name, f" {reason}: it is seen on the prompts of the others only")
        unknown = member.alone.missing
        if unknown and unknown > sum(row in evaluation.errors for row in member.own.tolist()):
            yield (
                name,
                f": of {count_text(unknown, 'prompt')} it is not known whether the topic matches, "
                "since the service does not say so; they are in none of its rates",
            )
    if count := len(evaluation.against_rule):
        yield (
            f"{_prompts(count, 'has', 'have')} another verdict than the topics explain that the "
            "service named"
        )


def conflict_text(evaluation: ProfileEvaluation, conflict: Conflict, quote: Quote) -> str:
    """Return one conflict as a sentence; names are quoted."""
    first, second = quote(evaluation.name(conflict.first)), quote(evaluation.name(conflict.second))
    count = len(conflict.rows)
    if conflict.kind is ConflictKind.STOPPED:
        labels = evaluation.members[conflict.second].labels[conflict.rows]
        unlabelled = int((labels == Label.UNLABELLED).sum())
        block = evaluation.members[conflict.first].topic.intent is Intent.BLOCK
        lets = "lets pass" if block else "should let pass"
        part = "" if unlabelled == count else f"{unlabelled} of them "
        tail = f", {part}without a label for it" if unlabelled else ""
        return f"{_prompts(count, '', '')}that {first} {lets}, stopped by {second}{tail}"
    if conflict.kind is ConflictKind.BOTH:
        through = int((evaluation.stopped[conflict.rows] == Triggered.NO).sum())
        part = "" if through == count else f"{through} of them "
        return (
            f"{_prompts(count, '', '')}matched by {first} (allow) and {second} (block), "
            f"{part}let through"
        )
    if conflict.kind is ConflictKind.LABELS:
        return (
            f"{_prompts(count, '', '')}that must pass as part of {first}, and must be stopped as "
            f"part of {second}"
        )
    interval = conflict.interval
    bounds = f" [{interval.low:.3f} – {interval.high:.3f}]" if interval else ""
    total = round(count / conflict.share) if conflict.share else count
    return (
        f"{first} and {second} both match {count} of the {total} prompts that either matches: "
        f"{rate_text(conflict.share)}{bounds}"
    )


def labels_text(
    evaluation: ProfileEvaluation, row: int, quote: Quote, limit: int | None = None
) -> str:
    """Return the labels of a prompt with the names of their topics; the first `limit`."""
    words = {Label.YES: "in", Label.NO: "not in", Label.BOTH: "in and not in"}
    labels = []
    for index, member in enumerate(evaluation.members):
        label = Label(int(member.labels[row]))
        if label is not Label.UNLABELLED:
            labels.append(f"{words[label]} {quote(evaluation.name(index))}")
    more = f" and {len(labels) - limit} more" if limit is not None and len(labels) > limit else ""
    return ", ".join(labels[:limit]) + more


def fate_text(evaluation: ProfileEvaluation, row: int, quote: Quote) -> str:
    """Return what the profile did with a prompt."""
    if row in evaluation.errors:
        state = "not asked" if evaluation.stopped[row] == Triggered.NOT_ASKED else "no verdict"
        reason = evaluation.errors[row]
        return state if reason == state else f"{state}: {quote(reason)}"
    if stopped_by := evaluation.stopped_by.get(row, ()):
        return f"stopped by {', '.join(map(quote, stopped_by))}"
    matched = evaluation.matched(row)
    return f"let through, matched by {', '.join(map(quote, matched))}" if matched else "let through"


def _prompts(count: int, singular: str, plural: str) -> str:
    """Return a number of prompts with the singular or plural form of a verb, or a blank."""
    return f"{count_text(count, 'prompt')} {singular if count == 1 else plural}"
