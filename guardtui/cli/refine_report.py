"""What `guardtui refine` found, as a table, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import SearchResult
from guardtui.app.next_steps import gain_text
from guardtui.domain.guardrail import forecast_of, measured_by
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.reports.as_markdown import code_span

SCHEMA_VERSION = 2

_ENDED = {
    "budget": "the budget is used up",
    "exhausted": "nothing left to try that pays",
    "stopped": "interrupted",
}
_LISTED = 12  # proposals in a table


@dataclass(frozen=True)
class Refinement:
    """All that was found; `searched` beyond what is advised."""

    result: SearchResult
    prompts: PromptSet
    searched: bool


def render(found: Refinement, format_name: str) -> str:
    """The whole report in the form of this name."""
    if format_name == "json":
        return json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n"
    lines = _markdown(found) if format_name == "md" else _table(found)
    return "\n".join(lines) + "\n"


def _head(found: Refinement) -> list[str]:
    result = found.result
    return [
        measured_by(found.result.settings),
        f"coverage {_coverage(result.before)} on {result.before.total} prompts: "
        f"{result.rows.source}, without the definition's own examples",
        *(f"note: {note}" for note in result.rows.notes),
    ]


def _coverage(metrics: Metrics) -> str:
    return "n/a" if metrics.coverage is None else f"{metrics.coverage:.3f}"


def _closing(found: Refinement) -> str:
    share = f"{CONFIDENCE:.0%}"
    what = "The engine is a stand-in for the guardrail"
    if forecast_of(found.result.settings) is not None:
        what = "A forecast is no scan"
    return (
        f"Gains are those expected on other prompts, with {share} intervals. {what}: scan a "
        "proposal before you rely on it."
    )


def _no_proposal(result: SearchResult) -> str:
    """Why there is no proposal, with the figures."""
    best = next(iter(result.proposals), None)
    if best is None:
        if not result.found:
            return "there is no edit to try: no single one makes the definition keep the limits"
        return f"none of {result.measured} definitions measured is worth an edit"
    if best.held_out is not None and best.gain.is_certain:
        held = best.held_out
        return (
            f"the best definition found is not better on the held-out prompts: coverage "
            f"{_coverage(held.before)} → {_coverage(held.after)} there"
        )
    return (
        f"nothing measured helps for certain: the best of {result.measured} definitions gains "
        f"{gain_text(best.gain)}"
    )


def _details(best: Proposal) -> Iterator[str]:
    """The figures of a proposal, a line each."""
    yield f"coverage {gain_text(best.gain)} expected on other prompts"
    yield (
        f"on the prompts it was chosen on {_coverage(best.before)} → {_coverage(best.after)}, "
        f"{_count(len(best.fixes), 'fix', 'fixes')}, "
        f"{_count(len(best.regressions), 'regression', 'regressions')}"
    )
    if best.held_out is not None:
        held = best.held_out
        yield f"on the held-out prompts {_coverage(held.before)} → {_coverage(held.after)}"


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def definition_diff(old: Topic, new: Topic) -> Iterator[tuple[str, str, str]]:
    """Sign ("-", "+" or " "), field and text of each line of a definition and its successor."""
    yield from _field_lines("description", old.description, new.description)
    for place in range(max(len(old.examples), len(new.examples))):
        before = old.examples[place] if place < len(old.examples) else None
        after = new.examples[place] if place < len(new.examples) else None
        yield from _field_lines(f"example {place + 1}", before, after)


def _field_lines(field: str, old: str | None, new: str | None) -> Iterator[tuple[str, str, str]]:
    if old == new and old is not None:
        yield " ", field, old
        return
    if old is not None:
        yield "-", field, old
    if new is not None:
        yield "+", field, new


def _table(found: Refinement) -> Iterator[str]:
    shown: Callable[[str], str] = display_text
    result = found.result
    yield from _head(found)
    yield ""
    advised = result.advised
    if advised:
        yield "Proposals, the greatest lower bound of the gain first:"
        yield f"{'#':>3}  {'gain of coverage':<25} {'fixed':>6} {'broken':>7}  edit"
        for number, one in enumerate(advised[:_LISTED], start=1):
            yield (
                f"{number:>3}  {gain_text(one.gain):<25} {len(one.fixes):>6} "
                f"{len(one.regressions):>7}  {'; '.join(one.changes)}"
            )
        if len(advised) > _LISTED:
            yield f"     and {len(advised) - _LISTED} more (in JSON)"
        yield ""
    yield _measured(found)
    yield ""
    best = result.best
    if best is None:
        yield f"No proposal: {_no_proposal(result)}."
        return
    yield "First proposal"
    yield from (f"  {line}" for line in _details(best))
    for number, change in enumerate(best.changes, start=1):
        yield f"  {number}. {change}"
    yield ""
    for sign, field, text in definition_diff(result.topic, best.topic):
        yield f"{sign} {field + ':':<13} {shown(text)}"
    yield ""
    yield _closing(found)


def _measured(found: Refinement) -> str:
    result = found.result
    text = f"{result.measured} definitions measured in {result.seconds:.1f} s"
    return f"Search: {text}; {_ENDED[result.ended]}." if found.searched else f"{text}."


def _markdown(found: Refinement) -> Iterator[str]:
    result = found.result
    best = result.best
    yield f"# Refinement of {code_span(result.topic.name)}"
    yield ""
    yield from (f"* {line}" for line in _head(found))
    yield ""
    if best is None:
        yield f"No proposal: {_no_proposal(result)}."
    else:
        yield "## First proposal"
        yield ""
        yield from (f"* {line}" for line in _details(best))
        yield ""
        yield from (f"{k}. {code_span(change)}" for k, change in enumerate(best.changes, start=1))
        yield ""
        yield "| | field | text |"
        yield "|---|---|---|"
        for sign, field, text in definition_diff(result.topic, best.topic):
            yield f"| {sign.strip() and code_span(sign)} | {field} | {code_span(text, cell=True)} |"
        yield ""
        yield "## Proposals"
        yield ""
        yield "| # | gain of coverage | fixed | broken | edit |"
        yield "|---|---|---|---|---|"
        for number, one in enumerate(result.advised[:_LISTED], start=1):
            yield (
                f"| {number} | {gain_text(one.gain)} | {len(one.fixes)} | {len(one.regressions)} "
                f"| {code_span('; '.join(one.changes), cell=True)} |"
            )
    yield ""
    yield _measured(found)
    yield ""
    yield _closing(found)


def _document(found: Refinement) -> dict[str, Any]:
    result = found.result
    lines = found.prompts.frame["line"]
    best = result.best
    return {
        "schema_version": SCHEMA_VERSION,
        "objective": "engine" if forecast_of(found.result.settings) is None else "forecast",
        "scanner": {
            "name": found.result.settings.name,
            "identity": found.result.settings.identity,
            "threshold": found.result.settings.threshold,
            "threshold_source": found.result.settings.threshold_source,
        },
        "prompts": found.prompts.source,
        "measured_on": {
            "source": result.rows.source,
            "prompts": len(result.rows.chosen_on),
            "held_out": len(result.rows.held_out),
            "notes": list(result.rows.notes),
        },
        "topic": result.topic.model_dump(mode="json"),
        "before": _metrics(result.before),
        "confidence": CONFIDENCE,
        "proposals": [_proposal(one, lines) for one in result.advised],
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
        if found.searched
        else None,
    }


def _proposal(one: Proposal, lines: pl.Series) -> dict[str, Any]:
    held = one.held_out
    return {
        "topic": one.topic.model_dump(mode="json"),
        "kinds": [str(kind) for kind in one.kinds],
        "changes": list(one.changes),
        "gain": one.gain.value,
        "interval": [one.gain.low, one.gain.high],
        "before": _metrics(one.before),
        "after": _metrics(one.after),
        "held_out": None
        if held is None
        else {"before": _metrics(held.before), "after": _metrics(held.after), "gain": held.gain},
        "left_out_lines": lines.gather(one.left_out).to_list(),
        "fixed_lines": lines.gather(one.fixes).to_list(),
        "broken_lines": lines.gather(one.regressions).to_list(),
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
