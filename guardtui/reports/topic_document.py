"""The report on one evaluation of a definition, as a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePath

from guardtui import __version__
from guardtui.advice.judgement import Code, judge
from guardtui.domain.comparison import Comparison
from guardtui.domain.definition_changes import definition_edits
from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Depth,
    Document,
    Edits,
    Facts,
    Foreign,
    Groups,
    Item,
    Paragraph,
    Phrase,
    Quote,
    Section,
    Table,
    Tone,
    quoting,
)
from guardtui.domain.figures import (
    ON_NEW_PROMPTS,
    UNDEFINED,
    capitalized,
    count_text,
    interval_text,
    rate_text,
)
from guardtui.domain.guardrail import ENGINE, Guardrail, guardrail_label, guardrail_text
from guardtui.domain.significance import Difference
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.topic import Intent, byte_length, total_bytes, violations
from guardtui.reports.base import (
    GateOutcome,
    ReportInput,
    delta_text,
    guardrail_phrase,
    missing_text,
    usage_text,
)
from guardtui.reports.glossary import CHANGE_TERMS, RATE_TERMS
from guardtui.reports.rate_charts import result_charts, threshold_blocks
from guardtui.reports.rates import Row as RateRow
from guardtui.reports.rates import change_interval_text, counts_text, rates_table
from guardtui.reports.topic_prompts import changed_groups, mistake_groups, prompt_blocks
from guardtui.session.history import recorded_history
from guardtui.session.session import Decision

LIMIT = 200
"""Iterations and categories in one table."""

_ALLOWED = (
    "This topic allows: what does not belong to it should be stopped. A false negative is such a "
    "prompt that is let through, a false positive a prompt of the topic that is stopped."
)


def topic_document(report: ReportInput, depth: Depth = Depth.PAGE) -> Document:
    """Return the result, the edit, what it broke and fixed, and every prompt.

    Sections beyond `depth` are left out. If two recorded evaluations are compared, the edit is
    always shown.
    """
    compared, baseline = bool(report.baseline_title), report.baseline
    edited = baseline is not None and baseline.topic != report.topic
    sections = []
    for title, anchor, of, blocks in _SECTIONS:
        edit = anchor == "definition"
        if of <= depth or (edit and compared):
            section = Section(
                "What changed" if edit and edited else title,
                anchor,
                tuple(blocks(report)),
                Depth.BRIEF if edit and compared else of,
                titled=of is not Depth.BRIEF,
                details=anchor in _DETAILS,
            )
            sections.append(section)
    kind = "comparison" if compared else "report"
    return Document(
        (f"Guardrail topic {kind}: ", Foreign(report.topic.name)),
        tuple(_lead(report)),
        tuple(part for part in sections if part.blocks),
        made_with=Facts(tuple(_made_with(report))),
        verdict=quoting(lambda quote: _verdict(report, quote)),
        cautions=report.cautions,
        next_step=Foreign(report.next_step) if report.next_step else "",
        glossary=RATE_TERMS if report.comparison is None else (*RATE_TERMS, *CHANGE_TERMS),
    )


# --- the result ---------------------------------------------------------------------------


def _lead(report: ReportInput) -> Iterator[Phrase]:
    metrics, comparison = report.evaluation.metrics, report.comparison
    baseline, settings = report.baseline, report.evaluation.settings
    if baseline is not None and report.baseline_title and baseline.settings != settings:
        before = baseline.settings
        yield quoting(lambda quote: f"The baseline: {guardrail_text(before, quote)}.")
    gates = _deciding_gates(report)
    if gates:
        yield f"{capitalized('; '.join(gate.text for gate in gates))}."
    if not any(gate.option == "--min-coverage" and gate.passed is not None for gate in gates):
        interval = interval_text(report.evaluation.intervals["coverage"])
        spread = f" ({interval} {ON_NEW_PROMPTS})" if interval else ""
        yield f"Coverage is {rate_text(metrics.coverage)}{spread}."
    if comparison is not None:
        yield f"{capitalized(_change(comparison, report.baseline_name))}{report.baseline_caution}."
    judgement = judge(report.evaluation, comparison, report.baseline_number)
    if judgement.code in (Code.NO_COVERAGE, Code.TOO_FEW_LABELS):
        yield f"{capitalized(judgement.text)}."
    if missing := missing_text(report):
        yield f"{capitalized(missing)}."
    if report.unlabelled:
        yield f"{capitalized(report.unlabelled)}."


def _change(comparison: Comparison, baseline: str) -> str:
    """Return what a comparison shows; for figures of different measures no verdict, but why."""
    before, now = (side.settings for side in comparison.evaluations)
    significance = comparison.significance
    none = significance.difference in (Difference.NONE, Difference.NOT_COMPARABLE)
    if none or now.measures_as(before):
        return comparison.describe(baseline)
    how = "by another guardrail" if before.guardrail != now.guardrail else "at another threshold"
    return f"{baseline} is measured {how}: {significance.changes}"


def _verdict(report: ReportInput, quote: Quote) -> str:
    """Return whether the gates passed, how much is wrong, and who says so, in a sentence."""
    metrics, settings = report.evaluation.metrics, report.evaluation.settings
    states, start = {gate.passed for gate in report.gates}, ""
    if False in states:
        start = "Not good enough: "
    elif None in states:
        start = "Not known to be good enough: "
    elif states:
        start = "Good enough: "
    missed, stopped = metrics.fn, metrics.fp
    should, should_not = metrics.tp + missed, metrics.tn + stopped
    parts = (
        f"{missed} of {count_text(should, 'prompt')} {'is' if missed == 1 else 'are'} missed"
        if should
        else f"missed prompts are {UNDEFINED}",
        f"{stopped} of {should_not} wrongly stopped"
        if should_not
        else f"wrongly stopped ones are {UNDEFINED}",
    )
    if settings.kind == ENGINE:  # its version and threshold stand below
        settings = replace(settings, guardrail=Guardrail(ENGINE), threshold=None)
    verb = "expected" if settings.is_forecast else "measured"
    by = guardrail_text(settings, quote)
    return capitalized(f"{start}{' and '.join(parts)}, {verb} by {by}.")


def _deciding_gates(report: ReportInput) -> Sequence[GateOutcome]:
    """Return the gates that failed, or else those that could not be decided, or else all."""
    for state in (False, None):
        if some := [gate for gate in report.gates if gate.passed is state]:
            return some
    return report.gates


def _made_with(report: ReportInput) -> Iterator[tuple[Phrase, Phrase]]:
    if report.name:
        yield "compared", Foreign(report.name)
    if report.baseline_title:
        yield "baseline", Foreign(report.baseline_title)
    yield "topic", (Foreign(report.topic.name), f" ({report.topic.intent.value})")
    if report.profile:
        yield "profile", Foreign(report.profile)
    for companion in report.companions:
        yield "with", (Foreign(companion.name), f" ({companion.intent.value})")
    if report.sample:
        yield "sample", report.sample
    if report.prompt_file:
        yield "prompts", Foreign(PurePath(report.prompt_file).name)
    yield "guardrail", guardrail_phrase(report.evaluation.settings)
    if report.measured_at:
        yield "measured", Foreign(time_text(report.measured_at))


def time_text(created: str) -> str:
    """Return a time of ISO 8601 as `2026-11-23 14:05 UTC`; other texts are unchanged."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


# --- what was measured --------------------------------------------------------------------


def _metrics(report: ReportInput) -> Iterator[Block]:
    figures: list[RateRow] = [
        (
            Foreign(figure.name),
            figure.text,
            Foreign(figure.problem) if figure.problem else "",
        )
        for figure in report.figures
    ]
    comparison = report.comparison
    yield rates_table(
        report.evaluation.metrics,
        None if comparison is None else comparison.deltas,
        None if comparison is None else comparison.significance,
        baseline=report.baseline.metrics if report.baseline and report.baseline_title else None,
        after_coverage=_separation(report),
        more=figures,
        fitted=report.evaluation.settings.has_fitted_threshold,
        baseline_fitted=report.baseline is not None
        and report.baseline.settings.has_fitted_threshold,
    )
    yield Paragraph(f"{counts_text(report.evaluation.metrics)}.")
    if report.baseline is not None and report.comparison is not None and report.baseline_title:
        before = counts_text(report.baseline.metrics)
        wrong = report.comparison.wrong_in_both
        yield Paragraph(f"The baseline: {before}. Wrong in both: {wrong}.")
    if report.topic.intent is Intent.ALLOW:
        yield Paragraph(_ALLOWED)
    yield from _remarks(report)


def _separation(report: ReportInput) -> Iterator[RateRow]:
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return
    row = ("separation", rate_text(separation.area), interval_text(separation.interval))
    change = comparison and comparison.separation
    if change:
        yield (*row, delta_text(change.value), change_interval_text(change))
    else:
        yield row


def _remarks(report: ReportInput) -> Iterator[Block]:
    if report.checked is not None:
        yield Paragraph(f"Likely changes checked: {report.checked.text}.")
    if used := usage_text(report.evaluation.verdicts.used):
        yield Paragraph(f"Asked: {used}.")
    if report.epochs_text:
        yield Paragraph(("Repeated: ", Foreign(report.epochs_text), "."))
    if report.comparison is None:
        return
    if report.changes:
        yield Paragraph(("Edited: ", Foreign(", ".join(report.changes)), "."))
    if report.comparison.caveats:
        items = tuple(Item(Foreign(caveat)) for caveat in report.comparison.caveats)
        yield Bullets(items, Tone.CAUTION)


def _gates(report: ReportInput) -> Iterator[Block]:
    states = {True: "passed", False: "failed", None: "unsure"}
    if report.gates:
        columns = tuple(Column(title, figure=False) for title in ("gate", "outcome", "why"))
        rows = tuple((gate.option, states[gate.passed], gate.text) for gate in report.gates)
        yield Table(columns, rows, named="Gates")


# --- the definition -----------------------------------------------------------------------


def _definition(report: ReportInput) -> Iterator[Block]:
    topic, baseline = report.topic, report.baseline
    if baseline is not None:
        reference = "the definition of the baseline"
        if report.baseline_number is not None:
            reference += f" (iteration {report.baseline_number})"
        same = baseline.topic == topic
        yield Paragraph(f"The same as {reference}." if same else f"Compared with {reference}.")
    yield Edits(definition_edits(topic if baseline is None else baseline.topic, topic))
    yield Paragraph(
        f"Description {byte_length(topic.description)} bytes, "
        f"all texts together {total_bytes(topic)} bytes.",
        Tone.ASIDE,
    )
    if broken := violations(topic):
        yield Paragraph("It exceeds the limits of a definition:")
        yield Bullets(tuple(Item(Foreign(violation.message)) for violation in broken))
    if report.companions:
        yield Paragraph("Measured together with:")
        yield Facts(
            tuple(
                (
                    Foreign(companion.name),
                    (f"({companion.intent.value}) ", Foreign(companion.description)),
                )
                for companion in report.companions
            )
        )
    if changed := tuple(changed_groups(report)):
        yield Groups(changed)


# --- history, categories ------------------------------------------------------------------


def _history(report: ReportInput) -> Iterator[Block]:
    if not report.iterations:
        return
    if report.series is not None:
        yield Paragraph(f"{capitalized(report.series.text)}.")
    texts = ("decision", "measured by", "edit", "recorded")
    titles = ("#", "decision", "coverage", "TPR", "TNR", "F1", "measured by", "edit", "recorded")
    signs = {Decision.KEEP: "✓ ", Decision.DISCARD: "✗ "}
    rows: list[tuple[Phrase, ...]] = []
    entries = recorded_history(report.iterations)[-LIMIT:]
    for iteration, entry in zip(list(report.iterations)[-LIMIT:], entries, strict=True):
        names = ("coverage", "true_positive_rate", "true_negative_rate", "f1")
        rates = map(iteration.evaluation.rate, names)
        rows.append(
            (
                str(iteration.number),
                f"{signs.get(iteration.decision, '')}{iteration.decision.value}",
                *map(rate_text, rates),
                Foreign(guardrail_label(iteration.evaluation.settings)),
                Foreign(entry.what_changed),
                Foreign(time_text(iteration.created)),
            )
        )
    columns = tuple(Column(title, figure=title not in texts) for title in titles)
    yield Table(columns, tuple(rows), named="Iterations")
    yield from _cut(len(report.iterations), "iterations before these")


def _mistakes(report: ReportInput) -> Iterator[Block]:
    if not report.by_category:
        yield Groups(tuple(mistake_groups(report)))
        return
    some_open = any(metrics.open for metrics in report.by_category.values())
    titles = ["prompts", "TPR", ON_NEW_PROMPTS, "TNR", ON_NEW_PROMPTS, "FP", "FN"]
    titles += ["open"] * some_open + ["no verdict"]
    rows = []
    for name, metrics in list(report.by_category.items())[:LIMIT]:
        intervals = rate_intervals(metrics)
        rows.append(
            (
                Foreign(name) if name else "(none)",
                str(metrics.prompts),
                rate_text(metrics.true_positive_rate),
                interval_text(intervals["true_positive_rate"]),
                rate_text(metrics.true_negative_rate),
                interval_text(intervals["true_negative_rate"]),
                str(metrics.fp),
                str(metrics.fn),
                *[str(metrics.open)] * some_open,
                str(metrics.errors),
            )
        )
    columns = (Column("category", figure=False), *map(Column, titles))
    table = Table(columns, tuple(rows), named="By category")
    yield Groups(tuple(mistake_groups(report)), table)
    yield from _cut(len(report.by_category), "more categories")


def _cut(count: int, noun: str) -> Iterator[Block]:
    if count > LIMIT:
        yield Paragraph(f"… and {count - LIMIT} {noun}.")


# --- provenance -----------------------------------------------------------------------


def _provenance(report: ReportInput) -> Iterator[tuple[Phrase, Phrase]]:
    evaluation, prompts, baseline = report.evaluation, report.prompts, report.baseline
    yield "guardtui", __version__
    if revision := evaluation.settings.revision:
        yield "revision", Foreign(revision)
    yield "definition", f"sha256 {report.topic.fingerprint}"
    if baseline is not None and baseline.topic != report.topic:
        yield "baseline's definition", f"sha256 {baseline.topic.fingerprint}"
    yield "prompt set", f"sha256 {evaluation.prompt_set}"
    if baseline is not None and baseline.prompt_set != evaluation.prompt_set:
        yield "baseline's prompt set", f"sha256 {baseline.prompt_set}"
    should = int(evaluation.should_trigger.sum())
    count = len(evaluation.keys)
    yield "prompts", f"{count}: {should} should trigger, {count - should} should not"
    if prompts is not None:
        for finding in prompts.findings:
            yield "about the prompts", Foreign(finding.message)


_SECTIONS: tuple[tuple[str, str, Depth, Callable[[ReportInput], Iterable[Block]]], ...] = (
    ("Result", "result", Depth.PAGE, lambda report: [result_charts(report)]),
    ("Metrics", "metrics", Depth.BRIEF, _metrics),
    ("Gates", "gates", Depth.FULL, _gates),
    ("Definition", "definition", Depth.FULL, _definition),
    ("History", "history", Depth.FULL, _history),
    ("Threshold", "threshold", Depth.PAGE, threshold_blocks),
    ("Mistakes by category", "mistakes", Depth.BRIEF, _mistakes),
    ("Prompts", "prompts", Depth.BRIEF, prompt_blocks),
    ("Provenance", "provenance", Depth.FULL, lambda report: [Facts(tuple(_provenance(report)))]),
)
"""Title, anchor, depth and blocks of each section; one without blocks is left out."""

_DETAILS = ("metrics", "gates", "history", "threshold", "provenance")
"""Sections for readers who want to know more."""
