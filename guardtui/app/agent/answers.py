"""The answers that an agent gets, as JSON documents."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from guardtui.advice.experiment import ALPHA
from guardtui.app.advice.ideas import Idea, Ideas
from guardtui.domain.comparison import Change
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput
from guardtui.reports.brief import TEXTS, brief
from guardtui.reports.experiment import ExperimentReport, by_gain
from guardtui.reports.json_data import document
from guardtui.session.session import Iteration

Answer: TypeAlias = dict[str, Any]
"""A JSON document."""

MistakeKind: TypeAlias = Literal["fp", "fn", "broke", "fixed"]

_PAGE = 20
_IDEAS = 3
_CANDIDATES = 10


def brief_answer(report: ReportInput, ideas: Ideas | str | None) -> Answer:
    """Return the report on an evaluation, with the best ideas unless they are None."""
    return brief(report) | ideas_data(ideas)


def page_of(report: ReportInput, kind: MistakeKind, page: int) -> Answer:
    """Return a page (from 1) of the prompts of one kind."""
    found = _prompts(report, kind)
    start = (page - 1) * _PAGE
    pages = -(-len(found) // _PAGE)
    data = {"of": kind, "page": page, "pages": pages, "prompts": found[start : start + _PAGE]}
    return document("mistakes", data) | {"texts": TEXTS}


def ideas_data(ideas: Ideas | str | None) -> Answer:
    """Return ideas, or why there are none."""
    if ideas is None:
        return {}
    if isinstance(ideas, str):
        return {"ideas": [], "note": ideas}
    found = [_idea(idea) for idea in ideas.ranked[:_IDEAS]]
    return {"ideas": found} | ({"note": ideas.note} if ideas.note else {})


def experiment_answer(report: ExperimentReport, proven: Iteration | None) -> Answer:
    """Return the result of an experiment; `proven` is the iteration of a proven candidate."""
    tried = [
        {
            "change": candidate.change,
            "origin": candidate.origin,
            "verdicts": known.answers,
            "gain": known.gain,
            "low": known.low,
        }
        for _, candidate, known in by_gain(report)[:_CANDIDATES]
    ]
    data: Answer = {
        "proven": proven is not None,
        "iteration": None if proven is None else proven.number,
        "definition": None if proven is None else proven.evaluation.topic,
        "ending": None if report.ending is None else str(report.ending),
        "stopped": report.stopped or None,
        "calls": report.calls,
        "confidence": 1 - ALPHA,
        "candidates_tried": len(report.candidates),
        "candidates": tried,
    }
    return document("experiment", data)


def _idea(idea: Idea) -> Answer:
    data: Answer = {"kind": idea.kind.value, "text": idea.text}
    data["evidence"] = idea.figures or idea.detail
    if idea.proposal is not None:
        data["definition"] = idea.proposal.topic.model_dump(mode="json")
    return data


def _prompts(report: ReportInput, kind: str) -> list[Answer]:
    if kind in ("fp", "fn"):
        rows = report.with_outcome(Outcome.FP if kind == "fp" else Outcome.FN)
    else:
        rows = report.with_change(Change.REGRESSION if kind == "broke" else Change.FIX)
    return [
        {"line": row.line, "prompt": row.prompt, "score": row.score, "matched": row.matched}
        for row in rows
    ]
