"""The results of `guardtui refine`: of a search, or of wordings tried on a decision model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from guardtui.advice.model_objective import ERROR, MeasuredWording, WordingSweep
from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.proposals import HeldOut, Proposal
from guardtui.advice.search import SearchResult
from guardtui.domain.definition_changes import definition_edits
from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Document,
    Edits,
    Foreign,
    Item,
    Paragraph,
    Phrase,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import count_text, rate_text, threshold_text
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.reports.base import usage_text
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import encode

_ENDED = {
    "budget": "the time is used up",
    "exhausted": "no other edit is worth its cost",
    "stopped": "interrupted",
}
_LISTED = 12  # proposals in a table


@dataclass(frozen=True)
class Refinement:
    """Result of a refinement; `searched` if a search went beyond the advised edits."""

    result: SearchResult
    prompts: PromptSet
    searched: bool


def render(refinement: Refinement, format_name: str) -> str:
    """Return the report in the format of this name."""
    if format_name == "json":
        return encode("refinement", _data(refinement))
    return render_document(refine_document(refinement), format_name)


def _closing(refinement: Refinement) -> str:
    share = f"{CONFIDENCE:.0%}"
    what = "The engine is a stand-in for the guardrail"
    if any(proposal.forecast is not None for proposal in refinement.result.proposals):
        what += ", and a forecast is not a scan"
    return (
        f"Gains are those on prompts that had no part in the choice, with {share} intervals for as "
        f"many other prompts. {what}: scan a proposal before you rely on it."
    )


def _no_proposal(result: SearchResult) -> str:
    """Return why there is no proposal, with figures."""
    best = next(iter(result.proposals), None)
    if best is None:
        if not result.single_edits:
            return "no edits to try: no single edit brings the definition within the limits"
        return f"none of {result.measured} definitions measured is worth an edit"
    if best.held_out is not None and best.gain.likely:
        held = best.held_out
        return (
            f"the best definition found is not better on the held-out prompts: coverage "
            f"{coverages(held.before, held.after)} there"
        )
    tried = f"no edit is likely to help on other prompts: of {result.measured} definitions"
    if not best.gain.is_positive:
        return f"{tried} none gains there"
    edit = f"{'; '.join(best.changes)}, {best.figures}"
    return f"{tried} the best is a guess; more labels or a scan would decide: {edit}"


def _details(best: Proposal) -> Iterator[str]:
    """Yield the figures of a proposal, a line each."""
    yield f"coverage {best.gain_text} on other prompts"
    if best.forecast is not None:
        yield best.forecast.text
    if best.transfer_text:
        yield best.transfer_text
    yield (
        f"on the prompts it was chosen on {coverages(best.before, best.after)}, "
        f"{count_text(len(best.fixes), 'fix', 'fixes')}, "
        f"{count_text(len(best.regressions), 'regression')}"
    )
    if best.held_out is not None:
        held = best.held_out
        yield f"on the held-out prompts {coverages(held.before, held.after)}"


def coverages(before: Metrics, after: Metrics) -> str:
    """Return the coverage of both: `0.640 → 0.700`."""
    return f"{rate_text(before.coverage)} → {rate_text(after.coverage)}"


def refine_document(refinement: Refinement) -> Document:
    """Return the proposals, best first, and the first in full."""
    result = refinement.result
    best = result.best
    sections = [Section("Search", "search", (Paragraph(_measured(refinement)),), titled=False)]
    if best is None:
        reason = Paragraph(("No proposal: ", Foreign(_no_proposal(result)), "."))
        sections.append(Section("No proposal", "proposal", (reason,), titled=False))
    else:
        sections = [
            Section(
                "Proposals, the greatest gain first",
                "proposals",
                tuple(_proposals(result.advised)),
            ),
            *sections,
            Section("First proposal", "proposal", tuple(_first(result.topic, best))),
            Section("Caution", "caution", (Paragraph(_closing(refinement)),), titled=False),
        ]
    return Document(
        ("Refinement of ", Foreign(result.topic.name)),
        (
            quoting(lambda quote: measured_by(result.settings, quote)),
            f"Coverage {rate_text(result.before.coverage)} on {result.before.total} prompts: "
            f"{result.rows.source}, without the definition's own examples.",
        ),
        tuple(sections),
        cautions=tuple(map(Foreign, result.rows.notes)),
    )


def _proposals(advised: Sequence[Proposal]) -> Iterator[Block]:
    left = ("for the engine", "forecast", "edit")
    known = any(proposal.forecast is not None for proposal in advised)
    forecast = ("forecast",) if known else ()
    titles = ("#", "for the engine", *forecast, "fixed", "broken", "edit")
    columns = tuple(Column(title, figure=title not in left) for title in titles)
    rows = tuple(
        (
            str(number),
            proposal.gain.text,
            *([proposal.forecast.text.partition(": ")[2] if proposal.forecast else ""] * known),
            str(len(proposal.fixes)),
            str(len(proposal.regressions)),
            Foreign("; ".join(proposal.changes)),
        )
        for number, proposal in enumerate(advised[:_LISTED], start=1)
    )
    yield Table(columns, rows, named="Proposals")
    if len(advised) > _LISTED:
        yield Paragraph(f"… and {len(advised) - _LISTED} more (in JSON).")


def _first(current: Topic, best: Proposal) -> Iterator[Block]:
    changes = (f"{number}. {change}" for number, change in enumerate(best.changes, start=1))
    yield Bullets(tuple(map(Item, _details(best))))
    yield Bullets(tuple(Item(Foreign(change)) for change in changes))
    yield Edits(definition_edits(current, best.topic))


def _measured(refinement: Refinement) -> str:
    result = refinement.result
    text = f"{result.measured} definitions measured in {result.seconds:.1f} s"
    return f"Search: {text}; {_ENDED[result.ended]}." if refinement.searched else f"{text}."


def _data(refinement: Refinement) -> dict[str, Any]:
    result = refinement.result
    lines = refinement.prompts.frame["line"]
    best = result.best
    return {
        "guardrail": refinement.result.settings.guardrail.to_json()
        | {
            "threshold": refinement.result.settings.threshold,
            "threshold_source": refinement.result.settings.threshold_source,
        },
        "prompts": refinement.prompts.source,
        "measured_on": {
            "source": result.rows.source,
            "prompts": len(result.rows.chosen_on),
            "held_out": len(result.rows.held_out),
            "notes": list(result.rows.notes),
        },
        "topic": result.topic,
        "before": _metrics(result.before),
        "confidence": CONFIDENCE,
        "proposals": [_proposal(proposal, lines) for proposal in result.advised],
        "proposal": None if best is None else _proposal(best, lines),
        "no_proposal": None
        if best is not None
        else {
            "reason": _no_proposal(result),
            "rejected": _proposal(result.proposals[0], lines) if result.proposals else None,
        },
        "search": {
            "seconds": result.seconds,
            "measured": result.measured,
            "ended": result.ended,
        }
        if refinement.searched
        else None,
    }


def _proposal(proposal: Proposal, lines: pl.Series) -> dict[str, Any]:
    held = proposal.held_out
    return {
        "topic": proposal.topic,
        "kinds": [str(kind) for kind in proposal.kinds],
        "changes": list(proposal.changes),
        "gain": proposal.gain.value,
        "interval": [proposal.gain.low, proposal.gain.high],
        "likely": proposal.gain.likely,
        "forecast": proposal.forecast,
        "separation": proposal.separation,
        "level": proposal.level,
        "before": _metrics(proposal.before),
        "after": _metrics(proposal.after),
        "held_out": None
        if held is None
        else {"before": _metrics(held.before), "after": _metrics(held.after), "gain": held.gain},
        "left_out_lines": lines.gather(proposal.left_out).to_list(),
        "fixed_lines": lines.gather(proposal.fixes).to_list(),
        "broken_lines": lines.gather(proposal.regressions).to_list(),
    }


def _metrics(metrics: Metrics) -> dict[str, Any]:
    return {
        "coverage": metrics.coverage,
        "true_positive_rate": metrics.true_positive_rate,
        "true_negative_rate": metrics.true_negative_rate,
        "tp": metrics.tp,
        "tn": metrics.tn,
        "fp": metrics.fp,
        "fn": metrics.fn,
    }


# --- wordings tried on a decision model ---------------------------------------------------


@dataclass(frozen=True)
class WordingsResult:
    """Result of a sweep of wordings, and its cost."""

    sweep: WordingSweep
    prompts: PromptSet
    used: Usage


def render_wordings(result: WordingsResult, format_name: str) -> str:
    """Return the report in the format of this name."""
    if format_name == "json":
        return encode("wordings", _wordings_data(result))
    return render_document(wordings_document(result), format_name)


_CAUTION = (
    "Gains are of prompts that had no part in the choice, each wording at the threshold fitted on "
    f"the others; the chance that a lower bound is too high is {ERROR:.0%} for all together."
)


def wordings_document(result: WordingsResult) -> Document:
    """Return the wordings, best first, and the proposed one."""
    sweep = result.sweep
    best = sweep.best
    sections = [Section("Wordings", "wordings", tuple(_wordings(sweep)))]
    if best is None:
        reason = Paragraph(f"No proposal: {_no_wording(sweep)}.")
        sections.append(Section("No proposal", "proposal", (reason,), titled=False))
    else:
        blocks = (
            Bullets(tuple(map(Item, _wording_details(best)))),
            Edits(definition_edits(sweep.current.wording.topic, best.topic)),
        )
        sections += [
            Section("Proposal", "proposal", blocks),
            Section("Caution", "caution", (Paragraph(_CAUTION),), titled=False),
        ]
    cautions: list[Phrase] = []
    if sweep.missing:
        missing = count_text(sweep.missing, "answer is missing", "answers are missing")
        cautions.append(f"{missing}: prompts without one count in no figure")
    return Document(
        ("Wordings of ", Foreign(sweep.current.wording.topic.name)),
        tuple(_lead(result)),
        tuple(sections),
        cautions=(*cautions, *map(Foreign, sweep.split.notes)),
    )


def _lead(result: WordingsResult) -> Iterator[Phrase]:
    sweep = result.sweep
    split = sweep.split
    yield quoting(lambda quote: measured_by(sweep.settings, quote))
    yield (
        f"{len(sweep.wordings) + 1} wordings on {len(result.prompts)} prompts, the definition "
        f"among them: chosen on {len(split.search_rows)}, reported on {len(split.report_rows)} "
        f"({split.source})."
    )
    if result.used.calls:
        yield f"Asked: {usage_text(result.used)}."


def _reported(wording: MeasuredWording) -> tuple[str, str]:
    """Return the gain, with fixes and regressions, on the held-out prompts."""
    if wording.proposal is None:
        return "", ""
    held = held_out(wording.proposal)
    return wording.proposal.gain.interval_text, f"{len(held.fixes)} / {len(held.regressions)}"


def held_out(proposal: Proposal) -> HeldOut:
    """Return the comparison of a finalist on the held-out prompts."""
    assert proposal.held_out is not None  # noqa: S101 - a finalist has one
    return proposal.held_out


def _wordings(sweep: WordingSweep) -> Iterator[Block]:
    yield Paragraph(
        f"The definition: coverage {rate_text(sweep.current.metrics.coverage)} on the prompts to "
        f"choose on, at the threshold {threshold_text(sweep.current.threshold)}."
    )
    titles = ("#", "chosen on", "threshold", "gain on the others", "fixed / broken", "wording")
    left = ("gain on the others", "wording")
    rows: list[tuple[Phrase, ...]] = []
    for number, wording in enumerate(sweep.wordings[:_LISTED], start=1):
        gain, counts = _reported(wording)
        change = wording.wording.change or wording.wording.topic.description
        coverage = rate_text(wording.metrics.coverage)
        threshold = threshold_text(wording.threshold)
        rows.append((str(number), coverage, threshold, gain, counts, Foreign(change)))
    columns = tuple(Column(title, figure=title not in left) for title in titles)
    yield Table(columns, tuple(rows), named="Wordings")
    if len(sweep.wordings) > _LISTED:
        yield Paragraph(f"… and {len(sweep.wordings) - _LISTED} more (in JSON).")


def _no_wording(sweep: WordingSweep) -> str:
    if not sweep.finalists:
        return "no wording is better than the definition on the prompts to choose on"
    return (
        "no wording is shown to be better on the prompts to report on: the best gains "
        f"{sweep.finalists[0].gain.interval_text}"
    )


def _wording_details(best: Proposal) -> Iterator[str]:
    held = held_out(best)
    yield (
        f"coverage {best.gain.text} on the prompts to report on: "
        f"{coverages(held.before, held.after)}, {len(held.fixes)} fixed, "
        f"{len(held.regressions)} broken"
    )
    assert best.threshold is not None  # noqa: S101 - a model has one
    yield (
        f"threshold {threshold_text(best.threshold)}, fitted on the prompts to choose on: "
        f"evaluate the wording with --threshold {best.threshold:.9g}"
    )
    yield f"from {best.origin}"


def _wordings_data(result: WordingsResult) -> dict[str, Any]:
    sweep, used = result.sweep, result.used
    lines = result.prompts.frame["line"]
    known = [wording.proposal for wording in sweep.wordings]
    return {
        "guardrail": sweep.settings.guardrail.to_json(),
        "prompts": {
            "total": len(result.prompts),
            "chosen_on": len(sweep.split.search_rows),
            "reported_on": len(sweep.split.report_rows),
            "split": sweep.split.source,
        },
        "missing_answers": sweep.missing,
        "usage": {
            "calls": used.calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost": used.cost,
        },
        "error": ERROR,
        "definition": _wording(sweep.current, lines),
        "wordings": [_wording(wording, lines) for wording in sweep.wordings],
        "proposals": [known.index(proposal) for proposal in sweep.advised],
    }


def _wording(wording: MeasuredWording, lines: pl.Series) -> dict[str, Any]:
    topic, proposal = wording.wording.topic, wording.proposal
    return {
        "description": topic.description,
        "examples": list(topic.examples),
        "change": wording.wording.change,
        "origin": wording.wording.origin,
        "threshold": wording.threshold,
        "value": wording.value,
        "coverage": wording.metrics.coverage,
        "report": None if proposal is None else _report(proposal, lines),
    }


def _report(proposal: Proposal, lines: pl.Series) -> dict[str, Any]:
    held, gain = held_out(proposal), proposal.gain
    return {
        "coverage_before": held.before.coverage,
        "coverage_after": held.after.coverage,
        "gain": gain.value,
        "low": gain.low,
        "high": gain.high,
        "fixes": [int(lines[row]) for row in held.fixes],
        "regressions": [int(lines[row]) for row in held.regressions],
        "advised": proposal.is_advised,
    }
