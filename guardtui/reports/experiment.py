"""The report of an experiment on a guardrail: what was tried, what each showed, what is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.experiment import ALPHA, Ending, Standing
from guardtui.advice.experiment_candidates import names, new_examples
from guardtui.domain.definition_changes import definition_edits
from guardtui.domain.document import (
    Block,
    Column,
    Document,
    Edits,
    Foreign,
    Paragraph,
    Phrase,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import capitalized, change_text, count_text
from guardtui.domain.guardrail import ScannerSettings, measured_by
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import Count, MeasuredGuardrail, Rate, Share, encode

_SHOWN = 60  # characters of an example

SHARE = f"{1 - ALPHA:.0%}"
"""Confidence of the lower bounds."""


@dataclass(frozen=True, eq=False)
class ExperimentReport:
    """An experiment with `candidates` for `topic`, on `prompts` prompts.

    `calls` verdicts were asked for, those on the definition included. `best` is the index of the
    better candidate, or None, and `kept` whether it was kept. `ending` is None if it is not
    completed, for the reason `stopped`.
    """

    topic: Topic
    settings: ScannerSettings
    candidates: tuple[tuple[Candidate, Standing], ...]
    prompts: int
    calls: int
    best: int | None
    ending: Ending | None
    stopped: str = ""
    kept: bool = False

    @property
    def whole(self) -> int:
        """Number of calls that scans of all candidates would take."""
        return len(self.candidates) * self.prompts

    @property
    def names(self) -> list[str]:
        """The name of each candidate."""
        return names(self.topic, [candidate for candidate, _ in self.candidates])

    def render(self, format_name: str) -> str:
        """Return the report in the format of this name."""
        if format_name == "json":
            return encode("experiment", ExperimentData.of(self))
        return render_document(experiment_document(self), format_name)


def evidence(standing: Standing) -> str:
    """Return what the verdicts prove of a candidate, in a sentence without its end."""
    assert standing.gain is not None  # noqa: S101 - it took part in a round
    assert standing.low is not None  # noqa: S101 - as above
    return (
        f"coverage {change_text(standing.gain)} on these prompts, at least "
        f"{change_text(standing.low)} with {SHARE} confidence for all candidates together"
    )


def _result(report: ExperimentReport) -> Phrase:
    """Return the result in a sentence."""
    if report.best is not None:
        return f"Candidate {report.best + 1}: {evidence(report.candidates[report.best][1])}."
    if report.ending is None:
        return ("Not completed: ", Foreign(report.stopped), ".")
    measured = [known for _, known in report.candidates if known.gain is not None]
    best = max(measured, key=lambda known: known.gain or 0.0, default=None)
    shown = "" if best is None else f": the best shows {_shown(best)}"
    return f"{capitalized(str(report.ending))}{shown}."


def _shown(standing: Standing) -> str:
    gain, low = standing.gain or 0.0, standing.low or 0.0
    return f"{change_text(gain)}, at least {change_text(low)}"


def experiment_document(report: ExperimentReport) -> Document:
    """Return what each candidate showed, and the better one in full."""
    sections = [Section("Candidates", "candidates", tuple(_candidates(report)))]
    if report.best is None:
        title = "Not completed" if report.ending is None else "None shown to be better"
        sections.append(Section(title, "result", (Paragraph(_result(report)),), titled=False))
    else:
        candidate, _ = report.candidates[report.best]
        title = "Kept" if report.kept else "Better, not kept yet"
        blocks = (
            Paragraph(_result(report)),
            Edits(definition_edits(report.topic, candidate.topic)),
        )
        sections.append(Section(title, "result", blocks))
    return Document(
        ("Experiment with ", Foreign(report.topic.name)),
        (quoting(lambda quote: measured_by(report.settings, quote)), _work(report)),
        tuple(sections),
    )


def _work(report: ExperimentReport) -> str:
    return (
        f"{len(report.candidates)} tried on {count_text(report.prompts, 'prompt')} with "
        f"{count_text(report.calls, 'call')}, those on the definition included; whole scans of "
        f"all would take {report.whole:,}."
    )


def _candidates(report: ExperimentReport) -> Iterator[Block]:
    titles = ("#", "verdicts", "gain of coverage", "at least", "dropped", "candidate")
    columns = tuple(Column(title, figure=title != "candidate") for title in titles)
    yield Table(columns, tuple(map(_row, by_gain(report))), named="Candidates")
    new = new_examples(report.topic, [candidate for candidate, _ in report.candidates]).items()
    if new:
        texts = ", ".join(f"{letter} “{display_start(text, _SHOWN)}”" for text, letter in new)
        yield Paragraph(("New examples: ", Foreign(texts), "."))
    yield Paragraph(
        "A gain is that on the prompts of the last round a candidate took part in, against the "
        f"definition on the same prompts; its lower bound holds for all of them with {SHARE} "
        "confidence."
    )


def by_gain(report: ExperimentReport) -> list[tuple[int, str, Candidate, Standing]]:
    """Return the candidates by number (from 1) and name, the better one first, then by gain."""
    named = enumerate(zip(report.names, report.candidates, strict=True), start=1)
    rows = [(number, name, *candidate) for number, (name, candidate) in named]
    return sorted(
        rows,
        key=lambda row: (row[0] - 1 != report.best, -(-1.0 if row[3].low is None else row[3].low)),
    )


def _row(row: tuple[int, str, Candidate, Standing]) -> tuple[Phrase, ...]:
    number, name, _, known = row
    return (
        str(number),
        str(known.answers),
        "" if known.gain is None else change_text(known.gain),
        "" if known.low is None else change_text(known.low),
        "" if known.dropped is None else f"round {known.dropped}",
        (Foreign(name),),
    )


@dataclass(frozen=True, slots=True)
class CandidateData:
    """A candidate of an experiment; gains are of coverage, `low` is a lower bound."""

    topic: Topic
    kind: CandidateKind
    name: str
    origin: str
    verdicts: Count
    gain: float | None
    low: float | None
    dropped_in_round: int | None
    better: bool


@dataclass(frozen=True, slots=True)
class ExperimentData:
    """An experiment on a guardrail; `best` is the index of the better candidate."""

    guardrail: MeasuredGuardrail
    threshold: Rate
    topic: Topic
    prompts: Count
    calls: Count
    calls_of_whole_scans: Count
    confidence: Annotated[Share, Field(description="Of all lower bounds together.")]
    ending: Annotated[str | None, Field(description="Null if it is not completed.")]
    stopped: Annotated[str | None, Field(description="Why it is not completed.")]
    best: int | None
    kept: bool
    candidates: list[CandidateData]

    @classmethod
    def of(cls, report: ExperimentReport) -> ExperimentData:
        """Return the content of an experiment's JSON."""
        return cls(
            guardrail=report.settings,
            threshold=report.settings.threshold,
            topic=report.topic,
            prompts=report.prompts,
            calls=report.calls,
            calls_of_whole_scans=report.whole,
            confidence=1 - ALPHA,
            ending=None if report.ending is None else report.ending.name.lower(),
            stopped=report.stopped or None,
            best=report.best,
            kept=report.kept,
            candidates=[
                CandidateData(
                    topic=candidate.topic,
                    kind=candidate.kind,
                    name=name,
                    origin=candidate.origin,
                    verdicts=known.answers,
                    gain=known.gain,
                    low=known.low,
                    dropped_in_round=known.dropped,
                    better=known.is_better,
                )
                for name, (candidate, known) in zip(report.names, report.candidates, strict=True)
            ],
        )
