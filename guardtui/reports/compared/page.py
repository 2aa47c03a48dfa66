"""Two evaluations compared, for a browser: one page without a network."""

from __future__ import annotations

from guardtui.domain.figures import capitalized
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.significance import CHANGES, ChangeInterval
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start
from guardtui.reports.base import UNDEFINED, delta_text, rate_text
from guardtui.reports.compared.base import (
    GONE,
    Compared,
    column_heads,
    counts_text,
    measured_text,
    side_text,
)
from guardtui.reports.html.definition import topic_facts
from guardtui.reports.html.measured import interval_text
from guardtui.reports.html.page import (
    Cell,
    Column,
    Content,
    Markup,
    Section,
    View,
    bullets,
    facts,
    join,
    page,
    paragraph,
    quoted,
    rows_table,
    table,
)
from guardtui.session.named import Mistakes

_NAME = 60  # characters of a topic's name in the title


def write(compared: Compared) -> str:
    """The whole page, with every prompt that differs in a table to search and to sort."""
    sections = [Section("Metrics", "metrics", _metrics(compared))]
    if compared.definitions is not None:
        sections.append(Section("Definition", "definition", _definition(compared)))
    sections.append(Section("Prompts", "prompts", _prompts(compared)))
    side = compared.after
    name = side.topic if isinstance(side, Mistakes) else side.evaluation.topic.name
    return page(
        f"Guardrail topic comparison: {display_start(name, _NAME)}", sections, lead=_lead(compared)
    )


def _lead(compared: Compared) -> Markup:
    return join(
        paragraph(f"{measured_text(compared)} {capitalized(compared.sentence)}.", class_="lead"),
        facts(
            (letter, join(quoted(side.name), ": ", quoted(side_text(side))))
            for letter, side in compared.sides
        ),
    )


def _metrics(compared: Compared) -> Markup:
    before, after = compared.before.metrics, compared.after.metrics
    spans = rate_intervals(before), rate_intervals(after)
    comparison = compared.comparison
    moved = {} if comparison is None else comparison.significance.intervals
    first, second = column_heads(compared)
    headers = ["rate", first, "95 % interval", second, "95 % interval", "change"]
    if comparison is not None:
        headers.append("95 % interval of the change")
    rows = []
    for name in RATES:
        cells: list[Content] = [RATE_TITLES[name]]
        for metrics, intervals in zip((before, after), spans, strict=True):
            cells += [rate_text(getattr(metrics, name)), interval_text(intervals.get(name))]
        cells.append(delta_text(compared.deltas.get(name)) or UNDEFINED)
        if comparison is not None:
            change = moved.get(name) if name in CHANGES else None
            cells.append(_span(change) if change else "")
        rows.append(cells)
    parts: list[Content] = [table(headers, rows), paragraph(f"{counts_text(before, after)}.")]
    if comparison is not None:
        parts.append(paragraph(f"Wrong in both: {compared.still_wrong}."))
    if compared.caveats:
        parts.append(paragraph("To be kept in mind:", class_="warn"))
        parts.append(bullets(quoted(caveat) for caveat in compared.caveats))
    return join(*parts)


def _span(interval: ChangeInterval) -> str:
    return f"{interval.low:+.3f} to {interval.high:+.3f}".replace("-", "−")


def _definition(compared: Compared) -> Markup:
    assert compared.definitions is not None  # noqa: S101 - the caller looked
    said = f"Edited: {', '.join(compared.changes)}." if compared.changes else "The same in both."
    return join(paragraph(said), topic_facts(*compared.definitions))


def _prompts(compared: Compared) -> Markup:
    rows: list[list[Cell]] = []
    views: list[View] = []
    for group in compared.groups:
        start = len(rows)
        for item in group.first():
            text = GONE if item.prompt is None else item.prompt
            was, now = item.was or "absent", item.now or "absent"
            rows.append([item.line, group.title, was, now, item.score, text, item.label])
        if len(group) or group.key in ("regressions", "fixes"):
            views.append(View(group.title, range(start, len(rows))))
    if not rows:
        return paragraph("No prompt differs.")
    columns = [
        Column("line", 6, decimals=0),
        Column("what", 12, priority=3),
        Column("A", 10),
        Column("B", 10),
        Column("score", 6, decimals=3, priority=2),
        Column("prompt"),
        Column("expected", grid=False, printed=False),
    ]
    views.append(View("All that differ", printed=False))
    return rows_table(columns, rows, views, label="Prompts that differ")
