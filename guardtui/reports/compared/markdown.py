"""Two evaluations compared, for a pull request: Markdown in which no foreign text can act."""

from __future__ import annotations

from collections.abc import Iterator

from guardtui.domain.figures import capitalized
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.statistics import rate_intervals
from guardtui.reports.base import delta_text, rate_text
from guardtui.reports.compared.base import (
    GONE,
    Compared,
    Group,
    Item,
    column_heads,
    counts_text,
    definition_changes,
    measured_text,
    side_text,
)
from guardtui.reports.markdown import LIMIT, code_span


def write(compared: Compared) -> str:
    """The whole document; lists are cut after `LIMIT` prompts, and say how many are left out."""
    sections = (
        _head(compared),
        _metrics(compared),
        _definition(compared),
        *(_list(group) for group in compared.groups),
    )
    return "\n".join(line for section in sections for line in section).rstrip("\n") + "\n"


def _head(compared: Compared) -> Iterator[str]:
    yield from ("# Guardrail topic comparison", "", measured_text(compared, code_span), "")
    for letter, side in compared.sides:
        yield f"- {letter}: {code_span(side.name)}: {code_span(side_text(side))}"
    yield from ("", f"{capitalized(compared.sentence)}.", "")


def _metrics(compared: Compared) -> Iterator[str]:
    before, after = compared.before.metrics, compared.after.metrics
    spans = rate_intervals(before), rate_intervals(after)
    first, second = column_heads(compared)
    heads = f"| rate | {first} | 95 % interval | {second} | 95 % interval | change |"
    yield from ("## Metrics", "", heads)
    yield "|---|--:|---|--:|---|--:|"
    for name in RATES:
        cells = []
        for metrics, intervals in zip((before, after), spans, strict=True):
            interval = intervals.get(name)
            span = f"{interval.low:.3f} – {interval.high:.3f}" if interval else ""
            cells += [rate_text(getattr(metrics, name)), span]
        cells.append(delta_text(compared.deltas.get(name)))
        yield f"| {RATE_TITLES[name]} | {' | '.join(cells)} |"
    yield from ("", f"{counts_text(before, after)}.", "")
    if compared.comparison is not None:
        yield from (f"Wrong in both: {compared.still_wrong}.", "")
    if compared.caveats:
        yield from (f"- caution: {code_span(caveat)}" for caveat in compared.caveats)
        yield ""


def _definition(compared: Compared) -> Iterator[str]:
    if compared.definitions is None:
        return
    yield from ("## Definition", "")
    if not compared.changes:
        yield from ("The same in both.", "")
        return
    yield from (f"Edited: {', '.join(map(code_span, compared.changes))}.", "")
    for field, old, new in definition_changes(*compared.definitions):
        before = code_span(old) if old else "(none)"
        yield f"- {field}: {before} → {code_span(new) if new else '(none)'}"
    yield ""


def _list(group: Group) -> Iterator[str]:
    if not len(group) and group.key not in ("regressions", "fixes"):
        return
    yield from (f"## {group.title} ({len(group)})", "")
    for item in group.first(LIMIT):
        yield f"- {_about(item, group.labels)}"
    if len(group) > LIMIT:
        yield f"- … and {len(group) - LIMIT} more"
    if len(group):
        yield ""


def _about(item: Item, labels: bool) -> str:
    parts = [item.place, item.outcomes, f"labelled {item.label} now" if labels else ""]
    if item.score is not None:
        parts.append(f"score {item.score:.3f}")
    text = GONE if item.prompt is None else code_span(item.prompt)
    return f"{', '.join(filter(None, parts))}: {text}"
