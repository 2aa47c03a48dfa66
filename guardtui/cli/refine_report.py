"""What `guardtui refine` found, as a table, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from guardtui.advice.proposals import Halves, Proposal
from guardtui.advice.search import SearchResult
from guardtui.advice.whatif import Shortlist
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.reports.markdown import code_span

SCHEMA_VERSION = 1

_ENDED = {
    "budget": "the budget is used up",
    "exhausted": "nothing left to try that pays",
    "stopped": "broken off",
}
_PROXY = (
    "Measured with the embedded engine, which stands in for the guardrail: scan the proposal "
    "before you rely on it."
)


@dataclass(frozen=True)
class Refinement:
    """All that was found; without `result` there was no search."""

    shortlist: Shortlist
    result: SearchResult | None
    settings: ScannerSettings
    prompts: PromptSet

    @property
    def best(self) -> Proposal | None:
        """The best definition by the search half: of the search, or else of the shortlist."""
        if self.result is not None:
            return self.result.proposal
        return next(iter(self.shortlist.proposals), None)

    @property
    def proposal(self) -> Proposal | None:
        """The best definition, if its held-out coverage is greater than before; else None."""
        best = self.best
        return best if best is not None and best.better_held_out else None


def render(found: Refinement, format_name: str) -> str:
    """The whole report in the form of this name."""
    if format_name == "json":
        return json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n"
    lines = _markdown(found) if format_name == "md" else _table(found)
    return "\n".join(lines) + "\n"


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("-", "−")


def _head(found: Refinement) -> list[str]:
    before = found.shortlist.before
    threshold = found.settings.threshold
    at = f", threshold {threshold:.3f}" if threshold is not None else ""
    return [
        measured_by(found.settings),
        f"coverage {_coverage(before.search)} on the half that edits are chosen on, "
        f"{_coverage(before.report)} on the half that they are reported on",
        f"halves {found.shortlist.source}: {before.search.total} and {before.report.total} "
        f"prompts; {found.settings.identity}{at}",
        *(f"note: {note}" for note in found.shortlist.notes),
    ]


def _coverage(metrics: Metrics) -> str:
    return "n/a" if metrics.coverage is None else f"{metrics.coverage:.3f}"


def _ending(result: SearchResult) -> str:
    return f"{result.measured} definitions in {result.seconds:.1f} s; {_ENDED[result.ended]}"


def _verdict(best: Proposal) -> str:
    """Held-out coverage before and after, and how sure the difference is."""
    return (
        f"held-out coverage {_coverage(best.before.report)} → {_coverage(best.after.report)}; "
        f"{best.sentence}"
    )


def _no_proposal(found: Refinement) -> str:
    """Why there is no proposal, with the figures."""
    best = found.best
    if best is None:
        return (
            "nothing that was tried is worth an edit; held-out coverage stays "
            f"{_coverage(found.shortlist.before.report)}"
        )
    what = "edit" if found.result is None else "definition"
    return (
        f"the best {what} found is not better on the half it was not chosen on: {_verdict(best)}; "
        f"{_overfit(best)}"
    )


def _overfit(best: Proposal) -> str:
    return (
        f"where it was chosen the gain is {_signed(best.search_gain)}: "
        f"an overfit gap of {_signed(best.overfit_gap)}"
    )


def _comparison(result: SearchResult) -> str | None:
    if result.single is None:
        return None
    told = f"the best single edit gains {_signed(result.single.held_out_gain)} held-out"
    if result.proposal is None:
        return told
    more = result.proposal.held_out_gain - result.single.held_out_gain
    return f"{told}: the search {abs(more):.3f} {'less' if more < 0 else 'more'}"


def _chance(proposals: Sequence[Proposal]) -> str:
    """How many of the listed edits may look better, or worse, by chance."""
    doubtful = sum(one.worth.could_be_chance for one in proposals)
    if not doubtful:
        return "The 95 % interval of none of these held-out gains contains 0, each by itself."
    which = "all" if doubtful == len(proposals) else str(doubtful)
    return (
        f"Of these {len(proposals)} held-out gains {which} may be chance: the 95 % interval "
        "contains 0."
    )


def _diff(old: Topic, new: Topic) -> Iterator[tuple[str, str, str]]:
    """Sign ("-", "+" or " "), field and text of each line of a definition and its successor."""
    yield from _field_diff("description", old.description, new.description)
    for place in range(max(len(old.examples), len(new.examples))):
        before = old.examples[place] if place < len(old.examples) else None
        after = new.examples[place] if place < len(new.examples) else None
        yield from _field_diff(f"example {place + 1}", before, after)


def _field_diff(field: str, old: str | None, new: str | None) -> Iterator[tuple[str, str, str]]:
    if old == new and old is not None:
        yield " ", field, old
        return
    if old is not None:
        yield "-", field, old
    if new is not None:
        yield "+", field, new


def _table(found: Refinement) -> Iterator[str]:
    shown: Callable[[str], str] = display_text
    yield from _head(found)
    yield ""
    proposals = found.shortlist.proposals
    if proposals:
        yield (
            f"The best single edits of {found.shortlist.found}, best first by the half they are "
            "chosen on:"
        )
        yield f"{'#':>3}  {'chosen':>7} {'held-out':>9} {'gap':>7} {'fixed':>6} {'broken':>7}  edit"
        for number, one in enumerate(proposals, start=1):
            yield (
                f"{number:>3}  {_signed(one.search_gain):>7} {_signed(one.held_out_gain):>9} "
                f"{_signed(one.overfit_gap):>7} {one.report_fixes:>6} {one.report_regressions:>7}  "
                f"{one.changes[0]}"
            )
        yield "(fixed and broken: prompts of the half that is reported on)"
        yield _chance(proposals)
    elif found.shortlist.found:
        yield f"None of {found.shortlist.found} single edits helps."
    else:
        yield "There is no edit to try: no single one makes the definition keep the limits."
    yield ""
    result = found.result
    if result is not None:
        yield f"Search: {_ending(result)}"
        yield f"{'edits':>7} {'chosen':>8} {'held-out':>9}"
        for point in result.curve:
            yield f"{point.edits:>7} {point.search:>8.3f} {point.report:>9.3f}"
        yield ""
    best = found.proposal
    if best is None:
        yield f"No proposal: {_no_proposal(found)}."
        return
    yield "Proposal"
    yield f"  {_verdict(best)}"
    yield f"  {_overfit(best)}"
    if result is not None and (comparison := _comparison(result)):
        yield f"  {comparison}"
    for number, change in enumerate(best.changes, start=1):
        yield f"  {number}. {change}"
    yield ""
    for sign, field, text in _diff(found.shortlist.topic, best.topic):
        yield f"{sign} {field + ':':<13} {shown(text)}"
    yield ""
    yield _PROXY


def _markdown(found: Refinement) -> Iterator[str]:
    shortlist, result, best = found.shortlist, found.result, found.proposal
    yield f"# Refinement of {code_span(shortlist.topic.name)}"
    yield ""
    yield from (f"* {line}" for line in _head(found))
    yield ""
    if best is None:
        yield f"No proposal: {_no_proposal(found)}."
    else:
        yield "## Proposal"
        yield ""
        yield f"* {_verdict(best)}"
        yield f"* {_overfit(best)}"
        if result is not None and (comparison := _comparison(result)):
            yield f"* {comparison}"
        yield ""
        yield from (f"{k}. {code_span(change)}" for k, change in enumerate(best.changes, start=1))
        yield ""
        yield "| | field | text |"
        yield "|---|---|---|"
        for sign, field, text in _diff(shortlist.topic, best.topic):
            yield f"| {sign.strip() and code_span(sign)} | {field} | {code_span(text, cell=True)} |"
        yield ""
    if result is not None:
        yield "## Search"
        yield ""
        yield f"{_ending(result)}."
        yield ""
        yield "| edits | coverage where chosen | held-out coverage |"
        yield "|---|---|---|"
        for point in result.curve:
            yield f"| {point.edits} | {point.search:.3f} | {point.report:.3f} |"
        yield ""
    yield f"## The best single edits of {shortlist.found}"
    yield ""
    yield "| # | chosen | held-out | gap | fixed | broken | edit |"
    yield "|---|---|---|---|---|---|---|"
    for number, one in enumerate(shortlist.proposals, start=1):
        yield (
            f"| {number} | {_signed(one.search_gain)} | {_signed(one.held_out_gain)} "
            f"| {_signed(one.overfit_gap)} | {one.report_fixes} | {one.report_regressions} "
            f"| {code_span(one.changes[0], cell=True)} |"
        )
    yield ""
    if shortlist.proposals:
        yield _chance(shortlist.proposals)
        yield ""
    yield _PROXY


def _document(found: Refinement) -> dict[str, Any]:
    shortlist, result = found.shortlist, found.result
    lines = found.prompts.frame["line"]
    best, proposal = found.best, found.proposal
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "scanner": {
            "name": found.settings.name,
            "identity": found.settings.identity,
            "threshold": found.settings.threshold,
            "threshold_source": found.settings.threshold_source,
        },
        "prompts": found.prompts.source,
        "split": {"source": shortlist.source, "notes": list(shortlist.notes)},
        "topic": shortlist.topic.model_dump(mode="json"),
        "before": _halves(shortlist.before),
        "candidates": shortlist.found,
        "shortlist": [_proposal(one, lines) for one in shortlist.proposals],
        "search": None,
        "proposal": None if proposal is None else _proposal(proposal, lines),
        "no_proposal": None
        if proposal is not None
        else {
            "reason": _no_proposal(found),
            "rejected": None if best is None else _proposal(best, lines),
        },
    }
    if result is not None:
        document["search"] = {
            "seconds": result.seconds,
            "measured": result.measured,
            "ended": result.ended,
            "best_single_held_out_gain": result.single.held_out_gain if result.single else None,
            "curve": [
                {"edits": point.edits, "search": point.search, "report": point.report}
                for point in result.curve
            ],
        }
    return document


def _proposal(one: Proposal, lines: Any) -> dict[str, Any]:
    return {
        "topic": one.topic.model_dump(mode="json"),
        "kinds": [str(kind) for kind in one.kinds],
        "changes": list(one.changes),
        "after": _halves(one.after),
        "search_gain": one.search_gain,
        "held_out_gain": one.held_out_gain,
        "held_out_interval": list(one.interval),
        "overfit_gap": one.overfit_gap,
        "held_out_fixes": one.report_fixes,
        "held_out_regressions": one.report_regressions,
        "p_value": one.p_value,
        "could_be_chance": one.worth.could_be_chance,
        "sentence": one.worth.sentence,
        "fixed_lines": lines.gather(one.fixes).to_list(),
        "broken_lines": lines.gather(one.regressions).to_list(),
    }


def _halves(halves: Halves) -> dict[str, Any]:
    return {"search": _metrics(halves.search), "report": _metrics(halves.report)}


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
