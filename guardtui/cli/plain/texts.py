"""What the lines say: the figures of a definition, its mistakes, and the next steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardtui.app.advice.ideas import Ideas
from guardtui.app.reporting import ReportSubject
from guardtui.app.services import Services
from guardtui.domain.definition_changes import definition_edits
from guardtui.domain.document import (
    Depth,
    Document,
    Edits,
    Facts,
    Kind,
    Section,
    quoting,
)
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import measured_by
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.reports import as_text
from guardtui.reports.base import ReportInput
from guardtui.reports.brief import LISTS, rows_of
from guardtui.reports.forecast import RecordedForecast, RecordedGuardrail, forecast_document
from guardtui.reports.topic_document import topic_document
from guardtui.reports.topic_prompts import prompt_line

KINDS = {
    "fp": (LISTS["fp"], Kind.STOPPED),
    "fn": (LISTS["fn"], Kind.MISSED),
    "broke": (LISTS["broke"], Kind.BROKE),
    "fixed": (LISTS["fixed"], Kind.FIXED),
    "failed": (rows_of(Outcome.ERROR), "without a verdict"),
}
"""Kinds of prompts that can be listed: what returns their rows, and what they are called."""

PAGE = 20
"""Prompts that are listed at a time."""

NOTHING = "Nothing is evaluated yet."

_ALWAYS = frozenset({"rates"})  # of a forecast, whose lead has no figures
_WHOLE = _ALWAYS | {"metrics", "definition"}
_SHOWN = 100  # characters of a prompt in a list


def figures_text(services: Services, *, whole: bool) -> str:
    """Return the shown figures, their guardrail, and what they are worth, in one sentence.

    With the `whole` also the table of rates, and what was edited since the baseline.
    """
    state, evaluation = services.state, services.state.evaluation
    if evaluation is None:
        return NOTHING
    if state.forecast is None:
        report = _report(services, evaluation)
        document = topic_document(report, Depth.FULL)
        lead = topic_document(replace(report, comparison=None), Depth.BRIEF).lead
        document = replace(document, lead=lead)
    else:
        known = RecordedGuardrail(state.forecast.grounds.settings, (), state.iterations)
        forecast = RecordedForecast(known, state.forecast, state.prompts, (), None, None)
        document = forecast_document(forecast)
    worth = f"{capitalized(_worth(services, evaluation))}."
    shown = _WHOLE if whole else _ALWAYS
    sections = (part for part in document.sections if part.anchor in shown)
    return as_text.write(
        replace(
            document,
            lead=(*(phrase for phrase in document.lead if phrase != worth), worth),
            made_with=Facts(()),
            sections=tuple(replace(part, depth=Depth.BRIEF) for part in sections),
        )
    )


def _worth(services: Services, evaluation: Evaluation) -> str:
    """Return what the figures are worth, as on the screen, with the change of coverage."""
    state, baseline = services.state, services.session.baseline
    text = services.judgement(state, evaluation).text
    if state.forecast is not None or state.comparison is None or baseline is None:
        return text
    changes = state.comparison.significance.changes
    return f"{changes} against #{baseline.number}: {text}" if changes else text


def _report(services: Services, evaluation: Evaluation) -> ReportInput:
    """Return a report on the shown evaluation, compared as on the screen."""
    baseline = services.session.baseline
    return replace(
        services.reporting.report(evaluation, ReportSubject("", "")),
        baseline=None if baseline is None else baseline.evaluation,
        baseline_number=None if baseline is None else baseline.number,
        comparison=services.state.comparison,
        changes=(),
    )


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Listed prompts of some kinds; `rows` of the report are numbered from 1."""

    title: str
    report: ReportInput
    rows: Sequence[int]

    @classmethod
    def of(cls, services: Services, evaluation: Evaluation, kinds: Sequence[str]) -> Mistakes:
        """Return the prompts of these `KINDS`."""
        report = _report(services, evaluation)
        found = [(KINDS[kind][0](report).tolist(), KINDS[kind][1]) for kind in kinds]
        counts = ", ".join(f"{len(rows)} {name}" for rows, name in found)
        guardrail = quoting(lambda quote: measured_by(evaluation.settings, quote))
        rows = [row for rows, _ in found for row in rows]
        return cls(f"{as_text.plain(guardrail)[:-1]}: {counts}", report, rows)

    def page(self, start: int) -> list[str]:
        """Return numbered lines, from the row of this index."""
        stop = min(start + PAGE, len(self.rows))
        lines = [f"{index + 1}. {self.line(index, _SHOWN)}" for index in range(start, stop)]
        left = len(self.rows) - stop
        return [*lines, f"… and {left} more: mistakes more"] if left > 0 else lines

    def line(self, index: int, characters: int) -> str:
        """Return the line of a row, with so many characters of its texts."""
        row = self.report.row(self.rows[index])
        return as_text.plain(prompt_line(self.report, row), characters)

    def key(self, index: int) -> int:
        """Return the key of the prompt of a row."""
        return int(self.report.evaluation.keys[self.rows[index]])

    def prompt(self, index: int) -> str:
        """Return the text of the prompt of a row."""
        return self.report.row(self.rows[index]).prompt or ""


def ideas_text(ideas: Ideas) -> str:
    """Return the best idea with its changes, and the others in a line each."""
    if ideas.best is None:
        return f"{ideas.note}."
    first, proposal = ideas.best, ideas.best.proposal
    lines = [f"1. {first.line}"]
    if proposal is None:
        lines += [first.detail] if first.detail else []
    else:
        transfer = capitalized(proposal.transfer_text)
        lines.append(edit_text(ideas.topic, proposal.topic, f"{transfer}." if transfer else ""))
    lines += [f"{number}. {idea.line}" for number, idea in enumerate(ideas.ranked[1:], 2)]
    return "\n".join([*lines, "take N takes one."])


def edit_text(before: Topic, after: Topic, lead: str = "") -> str:
    """Return the lines of a definition that an edit removes and adds, below a `lead`."""
    section = Section("", "edit", (Edits(definition_edits(before, after)),), titled=False)
    return as_text.write(Document("", (lead,) if lead else (), (section,))).rstrip("\n")
