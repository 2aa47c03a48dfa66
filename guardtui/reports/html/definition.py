"""The definition in a report: its fields, word by word against another, and what measured it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from guardtui import __version__
from guardtui.domain.topic import Topic, byte_length, total_bytes, violations
from guardtui.domain.word_diff import Kind, word_diff
from guardtui.reports.base import UNDEFINED, ReportInput
from guardtui.reports.html.page import (
    Content,
    Markup,
    bullets,
    facts,
    join,
    paragraph,
    quoted,
    tag,
    text,
)

_COMPARED = 20_000  # characters of two texts; of longer ones the words are not compared


def difference(before: str, after: str) -> Markup:
    """A text word by word against the one before: what was put in, and what was taken out.

    Both are marked by their elements and by signs, so that no colour is needed to tell them.
    """
    if before == after:
        return quoted(after)
    pieces = [(Kind.REMOVED, before), (Kind.ADDED, after)]
    if len(before) + len(after) <= _COMPARED:
        pieces = word_diff(before, after)
    made: list[Markup] = []
    for kind, piece in pieces:
        if kind is Kind.ADDED and piece:
            made.append(tag("ins", text(piece)))
        elif kind is Kind.REMOVED and piece:
            made.append(tag("del", text(piece)))
        else:
            made.append(text(piece))
    return tag("bdi", *made, class_="quoted")


def paired_examples(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Examples as they became, in their order, each with the one that it is held against.

    An example that was there at any place is the same; what is left is paired in order.
    """
    left = [one for one in before if one not in after]
    fresh = [one for one in after if one not in before]
    partner = dict(zip(fresh, left, strict=False))
    pairs = [(one if one in before else partner.get(one, ""), one) for one in after]
    return pairs + [(one, "") for one in left[len(fresh) :]]


def topic_facts(before: Topic, after: Topic) -> Markup:
    """A definition, and what became of it since the one before; twice the same for no change."""
    pairs: list[tuple[Content, Content]] = [
        ("name", difference(before.name, after.name)),
        ("description", difference(before.description, after.description)),
    ]
    for number, (old, new) in enumerate(paired_examples(before.examples, after.examples), 1):
        pairs.append((f"example {number}", difference(old, new)))
    pairs.append(("intent", difference(before.intent.value, after.intent.value)))
    return facts(pairs)


def definition_section(report: ReportInput) -> Markup:
    """The definition with its differences from the baseline's, and the limits that it breaks."""
    topic = report.topic
    before = report.baseline.topic if report.baseline is not None else topic
    sentence: Content = None
    if report.baseline is not None:
        against = "the baseline's"
        if report.baseline_number is not None:
            against += f" (iteration {report.baseline_number})"
        if before == topic:
            sentence = f"The same definition as {against}."
        else:
            changed = ", ".join(report.changes)
            sentence = join(
                f"Against {against}: ",
                tag("ins", "added"),
                ", ",
                tag("del", "taken out"),
                f". Edited: {changed}." if changed else ".",
            )
    broken = [one.message for one in violations(topic)]
    parts: list[Content] = [
        paragraph(sentence) if sentence is not None else None,
        topic_facts(before, topic),
        paragraph(
            f"Description {byte_length(topic.description)} bytes, "
            f"all texts together {total_bytes(topic)} bytes.",
            class_="muted",
        ),
    ]
    if broken:
        parts += [paragraph("It breaks the limits of a definition:"), bullets(broken)]
    if report.companions:
        parts.append(tag("h3", "Measured together with"))
        parts.append(
            facts(
                (quoted(one.name), join(f"({one.intent.value}) ", quoted(one.description)))
                for one in report.companions
            )
        )
    return join(*parts)


def provenance_section(report: ReportInput) -> Markup:
    """What measured what, with the hashes that say whether two reports speak of the same."""
    return facts(_provenance(report))


def _provenance(report: ReportInput) -> Iterator[tuple[Content, Content]]:
    evaluation = report.evaluation
    settings, prompts = evaluation.settings, report.prompts
    yield "guardtui", __version__
    yield "scanner", join(quoted(settings.name), ", ", quoted(settings.identity))
    if settings.revision:
        yield "revision", quoted(settings.revision)
    if settings.threshold is None:
        yield "threshold", UNDEFINED
    else:
        source = f" ({settings.threshold_source})" if settings.threshold_source else ""
        yield "threshold", f"{settings.threshold:.6g}{source}"
    if report.profile:
        yield "profile", quoted(report.profile)
    yield "definition", _hash(report.topic.fingerprint)
    if report.baseline is not None:
        yield "baseline's definition", _hash(report.baseline.topic.fingerprint)
    yield "prompt set", _hash(evaluation.prompt_set)
    if report.baseline is not None and report.baseline.prompt_set != evaluation.prompt_set:
        yield "baseline's prompt set", _hash(report.baseline.prompt_set)
    should = int(evaluation.should_trigger.sum())
    count = len(evaluation.keys)
    yield "prompts", f"{count}: {should} should trigger, {count - should} should not"
    if prompts is not None:
        yield "prompt file", quoted(PurePath(prompts.source).name)
        if findings := [quoted(finding.message) for finding in prompts.findings]:
            yield "about the prompts", bullets(findings)


def _hash(value: str) -> Markup:
    return tag("code", value)
