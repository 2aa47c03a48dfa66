"""The results of a search by `guardtui refine`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl
from pydantic import Field

from guardtui.advice.candidates import CandidateKind
from guardtui.advice.judgement import missing_prompts
from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.proposals import ForecastChange, Proposal
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
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import capitalized, count_text, rate_text
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.separation import SeparationChange
from guardtui.domain.topic import Topic
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import (
    Count,
    Measured,
    MeasuredGuardrail,
    Rate,
    Share,
    encode,
)

_ENDED = {
    "budget": "the time is used up",
    "exhausted": "no other is worth trying",
    "stopped": "interrupted",
}
_LISTED = 12  # proposals in a table


@dataclass(frozen=True)
class Refinement:
    """Result of a refinement; `searched` if a search went beyond the advised edits."""

    result: SearchResult
    prompts: PromptSet
    searched: bool

    @property
    def no_proposal(self) -> str:
        """Why there is no proposal, as the app and a brief say it; not display-safe."""
        return missing_prompts(self.prompts) or capitalized(self.result.no_proposal)


def render(refinement: Refinement, format_name: str) -> str:
    """Return the report in the format of this name."""
    if format_name == "json":
        return encode("refinement", RefinementData.of(refinement))
    return render_document(refine_document(refinement), format_name)


def _closing(refinement: Refinement) -> str:
    share = f"{CONFIDENCE:.0%}"
    what = "The engine is a quick approximation of your guardrail"
    if any(proposal.forecast is not None for proposal in refinement.result.proposals):
        what += ", and a forecast is not a scan"
    return (
        f"Gains are those on prompts that had no part in the choice, with {share} intervals for as "
        f"many new prompts. {what}: scan a proposal before you rely on it."
    )


def _details(best: Proposal) -> Iterator[str]:
    """Yield the figures of a proposal, a line each."""
    yield f"coverage {best.gain_text} on new prompts"
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
        reason = Paragraph((Foreign(refinement.no_proposal), "."))
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
    rows: tuple[tuple[str | Foreign, ...], ...] = tuple(
        (
            str(number),
            proposal.gain.text,
            *_forecast_cell(proposal, known=known),
            str(len(proposal.fixes)),
            str(len(proposal.regressions)),
            Foreign("; ".join(proposal.changes)),
        )
        for number, proposal in enumerate(advised[:_LISTED], start=1)
    )
    yield Table(columns, rows, named="Proposals")
    if len(advised) > _LISTED:
        yield Paragraph(f"… and {len(advised) - _LISTED} more (in JSON).")


def _forecast_cell(proposal: Proposal, *, known: bool) -> tuple[str, ...]:
    if not known:
        return ()
    return ("" if proposal.forecast is None else proposal.forecast.text.partition(": ")[2],)


def _first(current: Topic, best: Proposal) -> Iterator[Block]:
    changes = (f"{number}. {change}" for number, change in enumerate(best.changes, start=1))
    yield Bullets(tuple(map(Item, _details(best))))
    yield Bullets(tuple(Item(Foreign(change)) for change in changes))
    yield Edits(definition_edits(current, best.topic))


def _measured(refinement: Refinement) -> str:
    result = refinement.result
    text = f"{result.measured} definitions measured in {result.seconds:.1f} s"
    return f"Search: {text}; {_ENDED[result.ended]}." if refinement.searched else f"{text}."


# --- for programs -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeasuredOn:
    """The prompts that edits were measured on."""

    source: str
    prompts: Count
    held_out: Count
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldOutData:
    """A proposal on prompts that had no part in the choice."""

    before: Measured
    after: Measured
    gain: float | None


@dataclass(frozen=True, slots=True)
class ProposalData:
    """A definition with its gain of coverage; lines are those of the prompt file."""

    topic: Topic
    kinds: tuple[CandidateKind, ...]
    changes: tuple[str, ...]
    gain: float
    interval: tuple[float, float]
    likely: bool
    forecast: ForecastChange | None
    separation: SeparationChange | None
    level: float | None
    before: Measured
    after: Measured
    held_out: HeldOutData | None
    left_out_lines: list[int]
    fixed_lines: list[int]
    broken_lines: list[int]

    @classmethod
    def of(cls, proposal: Proposal, lines: pl.Series) -> ProposalData:
        """Return a proposal; `lines` are those of all prompts."""
        held, gain = proposal.held_out, proposal.gain
        return cls(
            topic=proposal.topic,
            kinds=proposal.kinds,
            changes=proposal.changes,
            gain=gain.value,
            interval=(gain.low, gain.high),
            likely=gain.likely,
            forecast=proposal.forecast,
            separation=proposal.separation,
            level=proposal.level,
            before=Measured.of(proposal.before),
            after=Measured.of(proposal.after),
            held_out=None
            if held is None
            else HeldOutData(Measured.of(held.before), Measured.of(held.after), held.gain),
            left_out_lines=lines.gather(proposal.left_out).to_list(),
            fixed_lines=lines.gather(proposal.fixes).to_list(),
            broken_lines=lines.gather(proposal.regressions).to_list(),
        )


@dataclass(frozen=True, slots=True)
class NoProposal:
    """Why nothing is proposed, and the best definition that was not."""

    reason: str
    rejected: ProposalData | None


@dataclass(frozen=True, slots=True)
class SearchData:
    """How a search ended."""

    seconds: float
    measured: Count
    ended: str


@dataclass(frozen=True, slots=True)
class RefinementData:
    """Proposed edits of a topic; nothing was applied."""

    guardrail: MeasuredGuardrail
    threshold: Rate
    threshold_source: str
    prompts: Annotated[str, Field(description="The prompt file.")]
    measured_on: MeasuredOn
    topic: Topic
    before: Measured
    confidence: Annotated[Share, Field(description="Of the intervals of gains.")]
    proposals: list[ProposalData]
    proposal: Annotated[ProposalData | None, Field(description="The best; null if none is.")]
    no_proposal: NoProposal | None
    search: Annotated[SearchData | None, Field(description="Null if single edits were measured.")]

    @classmethod
    def of(cls, refinement: Refinement) -> RefinementData:
        """Return the content of a refinement's JSON."""
        result, settings = refinement.result, refinement.result.settings
        lines = refinement.prompts.frame["line"]
        best, rows = result.best, result.rows
        rejected = next(iter(result.proposals), None)
        return cls(
            guardrail=settings,
            threshold=settings.threshold,
            threshold_source=settings.threshold_source,
            prompts=refinement.prompts.source,
            measured_on=MeasuredOn(
                rows.source, len(rows.chosen_on), len(rows.held_out), tuple(rows.notes)
            ),
            topic=result.topic,
            before=Measured.of(result.before),
            confidence=CONFIDENCE,
            proposals=[ProposalData.of(proposal, lines) for proposal in result.advised],
            proposal=None if best is None else ProposalData.of(best, lines),
            no_proposal=None
            if best is not None
            else NoProposal(
                refinement.no_proposal,
                None if rejected is None else ProposalData.of(rejected, lines),
            ),
            search=SearchData(result.seconds, result.measured, result.ended)
            if refinement.searched
            else None,
        )
