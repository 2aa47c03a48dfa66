"""What an audit's reports are made from, the sentences they share, and finding a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from guardtui.domain.audit import Audit, Conflict, Kind, Label
from guardtui.domain.document import Foreign, Phrase, Quote, quoting
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Triggered
from guardtui.reports.base import ReportError
from guardtui.reports.renderers import render

FORMATS = ("table", "json", "md", "html")
"""Names of the formats of an audit."""

KIND_CODES: dict[Kind, str] = {
    Kind.STOPPED: "stopped_by_another",
    Kind.BOTH: "matched_by_both",
    Kind.LABELS: "labels_contradict",
    Kind.OVERLAP: "topics_overlap",
}
"""Name of each kind of conflict for programs."""

KIND_TITLES: dict[Kind, str] = {
    Kind.STOPPED: "Stopped by another topic",
    Kind.BOTH: "Matched by an allow and a block topic",
    Kind.LABELS: "Labels that contradict",
    Kind.OVERLAP: "Topics that overlap",
}

REMEDIES: dict[Kind, str] = {
    Kind.STOPPED: "narrow the topic that stops them; or, where it is right to, put the prompt into "
    "its prompt set too, with the label that says so",
    Kind.BOTH: "the allow topic is taken to win: narrow it, or the block topic",
    Kind.LABELS: "decide what should happen to them, and correct one of the two sets",
    Kind.OVERLAP: "one of them may not be needed, or both are wider than meant",
}


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Everything an audit's report may tell; `notices` are doubts about how it was measured."""

    audit: Audit
    settings: ScannerSettings
    profile: str = ""
    notices: tuple[str, ...] = ()


_ENDINGS = {"txt": "table", "json": "json", "md": "md", "markdown": "md"} | dict.fromkeys(
    ("html", "htm"), "html"
)


def format_of_name(name: str) -> str | None:
    """The format of an audit whose file is called so; None for another ending."""
    return _ENDINGS.get(name.lower().rpartition(".")[2]) if "." in name else None


Writer = Callable[[AuditReport], str]
"""Makes the whole text of a report; the same input gives the same text."""


def load_writer(name: str) -> Writer:
    """The writer of a format; raises `ReportError` for an unknown one."""
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
    """What answered, for a line about it."""
    settings = report.settings
    revision = f", revision {settings.revision}" if settings.revision else ""
    text = quote(settings.identity + revision)
    if settings.threshold is not None:
        source = f" ({settings.threshold_source})" if settings.threshold_source else ""
        text += f", threshold {settings.threshold:.3f}{source}"
    return text


def default_text(audit: Audit) -> str:
    """What happens to a prompt that no topic matches."""
    return "stopped" if audit.closed else "let through"


def verdict_text(audit: Audit) -> str:
    """The whole audit in two sentences."""
    metrics, count = audit.metrics, audit.conflict_count
    parts = [
        f"The profile stops {metrics.tp} of {metrics.tp + metrics.fn} prompts that it should stop, "
        f"and lets {metrics.tn} of {metrics.tn + metrics.fp} pass that it should let pass.",
        f"{count} conflict{'s' * (count != 1)} between topics." if count else "No conflicts.",
    ]
    return " ".join(parts)


def open_text(audit: Audit) -> str:
    """What the labels leave open about the profile's rates; empty when nothing."""
    parts = []
    undecided = int(audit.undecided.sum())
    if undecided:
        right = audit.metrics_if_right
        parts.append(
            f"{_prompts(undecided, 'counts', 'count')} as a mistake only because a topic that "
            "matched has no label there: if it is right to match, "
            f"coverage is {rate_text(right.coverage)} (TPR {rate_text(right.true_positive_rate)}, "
            f"TNR {rate_text(right.true_negative_rate)})"
        )
    contradictory = int(audit.contradictory.sum())
    if contradictory:
        parts.append(
            f"{_prompts(contradictory, 'has', 'have')} labels that contradict, and no part in rates"
        )
    if audit.error_count:
        parts.append(
            f"{_prompts(audit.error_count, 'has', 'have')} no verdict, and no part in rates"
        )
    if audit.open_count:
        parts.append(
            f"{_prompts(audit.open_count, 'was', 'were')} not asked, and have no part in rates"
        )
    return "; ".join(parts)


def doubts(report: AuditReport) -> Iterator[Phrase]:
    """Yield what a reader should know before the figures, a sentence each."""
    audit = report.audit
    yield from map(Foreign, report.notices)
    if audit.idle:
        yield quoting(
            lambda quote: (
                "block topics change no verdict here: what no allow topic matches is stopped "
                "without them, and what one matches is let through: "
                + ", ".join(quote(audit.name(index)) for index in audit.idle)
            )
        )
    for index, member in enumerate(audit.members):
        name = Foreign(audit.name(index))
        if not member.labelled:
            why = "has no prompt set" if member.given else "is in the profile too"
            yield (name, f" {why}: it is seen on the prompts of the others only")
        unknown = member.alone.missing
        if unknown and unknown > sum(row in audit.errors for row in member.own.tolist()):
            yield (
                name,
                f": of {count_text(unknown, 'prompt')} it is not known whether the topic matches, "
                "since the service does not say so; they are in none of its rates",
            )
    if count := len(audit.against_rule):
        yield (
            f"{_prompts(count, 'has', 'have')} another verdict than the topics explain that the "
            "service named"
        )


def conflict_text(audit: Audit, conflict: Conflict, quote: Quote) -> str:
    """One conflict in a sentence; names are quoted."""
    first, second = quote(audit.name(conflict.first)), quote(audit.name(conflict.second))
    count = len(conflict.rows)
    if conflict.kind is Kind.STOPPED:
        labels = audit.members[conflict.second].labels[conflict.rows]
        unlabelled = int((labels == Label.UNLABELLED).sum())
        block = audit.members[conflict.first].topic.intent is Intent.BLOCK
        lets = "lets pass" if block else "should let pass"
        part = "" if unlabelled == count else f"{unlabelled} of them "
        tail = f", {part}without a label for it" if unlabelled else ""
        return f"{_prompts(count, '', '')}that {first} {lets}, stopped by {second}{tail}"
    if conflict.kind is Kind.BOTH:
        through = int((audit.stopped[conflict.rows] == Triggered.NO).sum())
        part = "" if through == count else f"{through} of them "
        return (
            f"{_prompts(count, '', '')}matched by {first} (allow) and {second} (block), "
            f"{part}let through"
        )
    if conflict.kind is Kind.LABELS:
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


def labels_text(audit: Audit, row: int, quote: Quote, limit: int | None = None) -> str:
    """What the sets say of a prompt, with the names of their topics; the first `limit`."""
    words = {Label.YES: "in", Label.NO: "not in", Label.BOTH: "in and not in"}
    told = []
    for place, one in enumerate(audit.members):
        label = Label(int(one.labels[row]))
        if label is not Label.UNLABELLED:
            told.append(f"{words[label]} {quote(audit.name(place))}")
    more = f" and {len(told) - limit} more" if limit is not None and len(told) > limit else ""
    return ", ".join(told[:limit]) + more


def fate_text(audit: Audit, row: int, quote: Quote) -> str:
    """What became of a prompt."""
    if row in audit.errors:
        state = "not asked" if audit.stopped[row] == Triggered.NOT_ASKED else "no verdict"
        reason = audit.errors[row]
        return state if reason == state else f"{state}: {quote(reason)}"
    if stopped_by := audit.stopped_by(row):
        return f"stopped by {', '.join(map(quote, stopped_by))}"
    matched = audit.matched(row)
    return f"let through, matched by {', '.join(map(quote, matched))}" if matched else "let through"


def _prompts(count: int, one: str, many: str) -> str:
    """How many prompts, with a verb in its form, or with a blank."""
    verb = one if count == 1 else many
    return f"{count} prompt{'s' * (count != 1)} {verb}"
