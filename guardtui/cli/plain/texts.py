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
    Prompts,
    Section,
    quoting,
)
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import measured_by
from guardtui.reports import as_text
from guardtui.reports.base import ReportInput
from guardtui.reports.forecast import RecordedForecast, RecordedGuardrail, forecast_document
from guardtui.reports.topic_document import topic_document
from guardtui.reports.topic_prompts import topic_prompts

KINDS = {
    "fp": "False positives",
    "fn": "False negatives",
    "broke": "Regressions",
    "fixed": "Fixes",
    "failed": "Without a verdict",
}
"""Kinds of prompts that can be listed, and the views of a report that have them."""

PAGE = 20
"""Prompts that are listed at a time."""

NOTHING = "Nothing is evaluated yet."

_ALWAYS = frozenset({"rates"})  # of a forecast, whose lead has no figures
_WHOLE = _ALWAYS | {"metrics", "definition"}
_SHOWN = 100  # characters of a prompt in a list


def figures_text(services: Services, *, whole: bool) -> str:
    """Return the shown figures, their guardrail, and what they are worth against the baseline.

    With the `whole` also the table of rates, and what was edited since the baseline.
    """
    state, evaluation = services.state, services.state.evaluation
    if evaluation is None:
        return NOTHING
    if state.forecast is None:
        document = topic_document(_report(services, evaluation), Depth.FULL)
    else:
        known = RecordedGuardrail(state.forecast.grounds.settings, (), state.iterations)
        forecast = RecordedForecast(known, state.forecast, state.prompts, (), None, None)
        document = forecast_document(forecast)
    judgement = services.judgement(state, evaluation)
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
    """Listed prompts of some kinds; `rows` are numbered from 1."""

    title: str
    prompts: Prompts
    rows: Sequence[int]

    @classmethod
    def of(cls, services: Services, evaluation: Evaluation, kinds: Sequence[str]) -> Mistakes:
        """Return the prompts of these `KINDS`."""
        prompts = topic_prompts(_report(services, evaluation))
        views = {view.title: view.rows or () for view in prompts.views}
        chosen = {KINDS[kind].lower(): views.get(KINDS[kind], ()) for kind in kinds}
        counts = ", ".join(f"{name} ({len(rows)})" for name, rows in chosen.items())
        guardrail = quoting(lambda quote: measured_by(evaluation.settings, quote))
        rows = [row for view in chosen.values() for row in view]
        return cls(f"{as_text.plain(guardrail)[:-1]}: {counts}", prompts, rows)

    def page(self, start: int) -> list[str]:
        """Return numbered lines, from the row of this index."""
        stop = min(start + PAGE, len(self.rows))
        lines = [f"{index + 1}. {self.line(index, _SHOWN)}" for index in range(start, stop)]
        left = len(self.rows) - stop
        return [*lines, f"… and {left} more: mistakes more"] if left else lines

    def line(self, index: int, characters: int) -> str:
        """Return the line of a row, with so many characters of its texts."""
        return as_text.plain(self.prompts.line(self.rows[index]), characters)

    def prompt(self, index: int) -> str:
        """Return the text of the prompt of a row."""
        titles = [column.title for column in self.prompts.columns]
        return str(self.prompts.cells(self.rows[index])[titles.index("prompt")])


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
        edits = (Edits(definition_edits(ideas.topic, proposal.topic)),)
        section = Section("", "edit", edits, titled=False)
        document = Document("", (f"{transfer}.",) if transfer else (), (section,))
        lines.append(as_text.write(document).rstrip("\n"))
    lines += [f"{number}. {idea.line}" for number, idea in enumerate(ideas.ranked[1:], 2)]
    return "\n".join(lines)
