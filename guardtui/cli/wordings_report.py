"""The result of `guardtui refine --scanner decision` as a table, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from guardtui.advice.model_objective import ERROR, MeasuredWording, WordingSweep
from guardtui.advice.proposals import HeldOut, Proposal
from guardtui.app.next_steps import gain_text
from guardtui.cli.refine_report import coverages
from guardtui.domain.definition_edits import definition_edits
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
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Usage
from guardtui.reports.base import usage_text
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import encode

_LISTED = 12  # wordings in a table


@dataclass(frozen=True)
class WordingsResult:
    """Result of a sweep of wordings, and its cost."""

    sweep: WordingSweep
    prompts: PromptSet
    used: Usage


def render(result: WordingsResult, format_name: str) -> str:
    """Return the report in the format of this name."""
    if format_name == "json":
        return encode("wordings", _data(result))
    return render_document(wordings_document(result), format_name)


def wordings_document(result: WordingsResult) -> Document:
    """Return the wordings, best first, and the proposed one."""
    sweep = result.sweep
    best = sweep.best
    sections = [Section("Wordings", "wordings", tuple(_wordings(sweep)))]
    if best is None:
        reason = Paragraph(f"No proposal: {_no_proposal(sweep)}.")
        sections.append(Section("No proposal", "proposal", (reason,), titled=False))
    else:
        blocks = (
            Bullets(tuple(map(Item, _details(best)))),
            Edits(definition_edits(sweep.current.wording.topic, best.topic)),
        )
        sections += [
            Section("Proposal", "proposal", blocks),
            Section("Caution", "caution", (Paragraph(_closing(sweep)),), titled=False),
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
    return gain_text(wording.proposal.gain), f"{len(held.fixes)} / {len(held.regressions)}"


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


def _closing(sweep: WordingSweep) -> str:
    return (
        "Gains are of prompts that had no part in the choice, each wording at the threshold fitted "
        f"on the others; the chance that a lower bound is too high is {ERROR:.0%} for all together."
    )


def _no_proposal(sweep: WordingSweep) -> str:
    if not sweep.finalists:
        return "no wording is better than the definition on the prompts to choose on"
    return (
        "no wording is shown to be better on the prompts to report on: the best gains "
        f"{gain_text(sweep.finalists[0].gain)}"
    )


def _details(best: Proposal) -> Iterator[str]:
    held = held_out(best)
    yield (
        f"coverage {gain_text(best.gain)} on the prompts to report on: "
        f"{coverages(held.before, held.after)}, {len(held.fixes)} fixed, "
        f"{len(held.regressions)} broken"
    )
    assert best.threshold is not None  # noqa: S101 - a model has one
    yield (
        f"threshold {threshold_text(best.threshold)}, fitted on the prompts to choose on: "
        f"evaluate the wording with --threshold {best.threshold:.9g}"
    )
    yield f"from {best.origin}"


def _data(result: WordingsResult) -> dict[str, Any]:
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
