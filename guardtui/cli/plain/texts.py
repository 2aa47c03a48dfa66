"""What the lines say: a definition, its figures, its mistakes, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from guardtui.app.advice.ideas import Ideas
from guardtui.app.reporting import ReportSubject
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.comparison import Change
from guardtui.domain.definition_changes import definition_edits
from guardtui.domain.document import Depth, Document, Edits, Facts, Section, quoting
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.guardrail import measured_by
from guardtui.domain.verdicts import Outcome
from guardtui.reports import as_text
from guardtui.reports.base import ReportInput
from guardtui.reports.forecast import RecordedForecast, RecordedGuardrail, forecast_document
from guardtui.reports.topic_document import topic_document
from guardtui.reports.topic_prompts import prompt_line

PAGE = 20
"""Prompts that are listed at a time."""

_SHOWN = 100  # characters of a prompt in a list
_ALWAYS = frozenset({"rates"})  # of a forecast, whose lead has no figures
_WHOLE = _ALWAYS | {"metrics", "definition"}

_OUTCOMES = {"fp": Outcome.FP, "fn": Outcome.FN, "failed": Outcome.ERROR}
_CHANGES = {"broke": Change.REGRESSION, "fixed": Change.FIX}
KINDS = {
    "fp": ("false positive", ""),
    "fn": ("false negative", ""),
    "broke": ("regression", ""),
    "fixed": ("fix", "fixes"),
    "failed": ("prompt without a verdict", "prompts without a verdict"),
}
"""Kinds of prompts that can be listed, and their names, with plurals that are not regular."""


def figures_text(services: Services, *, whole: bool) -> str:
    """Return the shown figures, their guardrail, and what they are worth against the baseline.

    With the `whole` also the table of rates, and what was edited since the baseline.
    """
    state = services.state
    if state.evaluation is None:
        return "Nothing is evaluated yet."
    document = _document(services, state, state.evaluation)
    judgement = services.judgement(state, state.evaluation)
    shown = _WHOLE if whole else _ALWAYS
    sections = (part for part in document.sections if part.anchor in shown)
    return as_text.write(
        replace(
            document,
            lead=(*document.lead, f"{capitalized(judgement.text)}."),
            made_with=Facts(()),
            sections=tuple(replace(part, depth=Depth.BRIEF) for part in sections),
        )
    )


def _document(services: Services, state: AppState, evaluation: Evaluation) -> Document:
    forecast = state.forecast
    if forecast is None:
        return topic_document(_report(services, state, evaluation), Depth.FULL)
    known = RecordedGuardrail(forecast.grounds.settings, (), state.iterations)
    return forecast_document(RecordedForecast(known, forecast, state.prompts, (), None, None))


def _report(services: Services, state: AppState, evaluation: Evaluation) -> ReportInput:
    """Return a report on the shown evaluation, compared as on the screen."""
    report = services.reporting.report(evaluation, ReportSubject("", ""))
    baseline = services.session.baseline
    return replace(
        report,
        baseline=None if baseline is None else baseline.evaluation,
        baseline_number=None if baseline is None else baseline.number,
        comparison=state.comparison,
        changes=(),
    )


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The listed prompts: `rows` of the report, which are numbered from 1."""

    report: ReportInput
    rows: Sequence[int]
    title: str

    @classmethod
    def of(cls, services: Services, kinds: Sequence[str]) -> Mistakes | None:
        """Return the prompts of some `KINDS`; None before the first evaluation."""
        state, evaluation = services.state, services.state.evaluation
        if evaluation is None:
            return None
        rows: list[int] = []
        counts = []
        for kind in kinds:
            if kind in _OUTCOMES:
                found = np.flatnonzero(evaluation.codes == _OUTCOMES[kind])
            elif state.comparison is None:
                found = np.empty(0, np.intp)
            else:
                found = np.flatnonzero(state.comparison.changes == _CHANGES[kind])
            counts.append(count_text(len(found), *KINDS[kind]))
            rows += found.tolist()
        measured = as_text.plain(quoting(lambda quote: measured_by(evaluation.settings, quote)))
        title = f"{measured[:-1]}: {', '.join(counts)}"
        return cls(_report(services, state, evaluation), rows, title)

    def lines(self, start: int) -> list[str]:
        """Return a page of numbered lines, from the row of this index."""
        shown = range(start, min(start + PAGE, len(self.rows)))
        lines = [f"{index + 1}. {self._line(index, _SHOWN)}" for index in shown]
        if left := len(self.rows) - shown.stop:
            lines.append(f"… and {left} more: mistakes more")
        return lines

    def _line(self, index: int, characters: int) -> str:
        row = self.report.row(self.rows[index])
        return as_text.plain(prompt_line(self.report, row), characters)

    def whole_line(self, index: int) -> str:
        """Return the line of a row with its whole texts."""
        return self._line(index, 10**6)

    def prompt(self, index: int) -> str | None:
        """Return the text of the prompt of a row; None if it is unknown."""
        return self.report.row(self.rows[index]).prompt


def ideas_text(ideas: Ideas) -> str:
    """Return the best idea with its changes, and the others in a line each."""
    if ideas.best is None:
        return f"{ideas.note}."
    first, proposal = ideas.best, ideas.best.proposal
    lines = [f"1. {first.line}"]
    if proposal is not None:
        if proposal.transfer_text:
            lines.append(f"{capitalized(proposal.transfer_text)}.")
        edits = Edits(definition_edits(ideas.topic, proposal.topic))
        section = Section("", "edit", (edits,), titled=False)
        lines.append(as_text.write(Document("", (), (section,))).rstrip("\n"))
    elif first.detail:
        lines.append(first.detail)
    lines += [f"{number}. {idea.line}" for number, idea in enumerate(ideas.ranked[1:], 2)]
    return "\n".join(lines)
