"""Two evaluations compared, for terminals: plain text whose every line is inert."""

from __future__ import annotations

from collections.abc import Iterator

from guardtui.domain.figures import capitalized
from guardtui.domain.metrics import RATE_TITLES, RATES, Metrics
from guardtui.domain.statistics import Interval, rate_intervals
from guardtui.domain.text import display_start, display_text
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

LIMIT = 20
"""Prompts in one list."""

_CHARACTERS = 100  # of one prompt
_DEFINITION = 1000  # of a field of a definition


def write(compared: Compared) -> str:
    """Both sides, their rates, what was edited, and the first `LIMIT` prompts of each kind."""
    sections = (
        _head(compared),
        _metrics(compared),
        _worth(compared),
        _definition(compared),
        *(_list(group) for group in compared.groups),
    )
    return "\n\n".join(text for section in sections if (text := "\n".join(section))) + "\n"


def _head(compared: Compared) -> Iterator[str]:
    yield measured_text(compared)
    for letter, side in compared.sides:
        yield f"{letter}  {display_text(side.name)}"
        yield f"   {display_text(side_text(side))}"


def _metrics(compared: Compared) -> Iterator[str]:
    before, after = compared.before.metrics, compared.after.metrics
    spans = rate_intervals(before), rate_intervals(after)
    first, second = column_heads(compared)
    yield f"{'':<10} {first:<21}  {second:<21}  B − A"
    for name in RATES:
        cells = [_cell(one, name, span) for one, span in zip((before, after), spans, strict=True)]
        delta = delta_text(compared.deltas.get(name))
        yield f"{RATE_TITLES[name]:<10} {cells[0]:<21}  {cells[1]:<21}  {delta}".rstrip()
    yield counts_text(before, after)


def _cell(metrics: Metrics, name: str, intervals: dict[str, Interval | None]) -> str:
    interval = intervals.get(name)
    span = f" [{interval.low:.3f} – {interval.high:.3f}]" if interval else ""
    return f"{rate_text(getattr(metrics, name))}{span}"


def _worth(compared: Compared) -> Iterator[str]:
    yield capitalized(compared.sentence)
    if compared.comparison is not None:
        yield f"wrong in both: {compared.still_wrong}"
    for caveat in compared.caveats:
        yield f"caution: {display_text(caveat)}"


def _definition(compared: Compared) -> Iterator[str]:
    if compared.definitions is None:
        return
    if not compared.changes:
        yield "definition: the same"
        return
    yield f"definition: {display_text(', '.join(compared.changes))}"
    for field, old, new in definition_changes(*compared.definitions):
        if old:
            yield f"  {field:<12} − {display_start(old, _DEFINITION)}"
        if new:
            yield f"  {'' if old else field:<12} + {display_start(new, _DEFINITION)}"


def _list(group: Group) -> Iterator[str]:
    if not len(group):
        return
    yield f"{group.title[0].lower()}{group.title[1:]} ({len(group)})"
    for item in group.first(LIMIT):
        yield f"  {_about(item, group.labels)}"
    if len(group) > LIMIT:
        yield f"  … and {len(group) - LIMIT} more"


def _about(item: Item, labels: bool) -> str:
    label = f"  now {item.label}" if labels else ""
    score = "" if item.score is None else f"  score {item.score:.3f}"
    text = GONE
    if item.prompt is not None:
        text = display_start(item.prompt, _CHARACTERS)
        text += "…" if len(item.prompt) > _CHARACTERS else ""
    return f"{item.place:<10} {item.outcomes}{label}{score}  {text}".strip()
