"""Two evaluations compared, as a document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from guardtui.domain.definition_edits import definition_edits
from guardtui.domain.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Edits,
    Facts,
    Foreign,
    GridColumn,
    Item,
    Paragraph,
    Phrase,
    Prompts,
    PromptView,
    Section,
    Table,
    Tone,
    quoting,
)
from guardtui.domain.figures import UNDEFINED, capitalized, interval_text, rate_text
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.significance import CHANGES
from guardtui.domain.statistics import rate_intervals
from guardtui.reports.base import delta_text
from guardtui.reports.compared.base import (
    GONE,
    ComparedGroup,
    ComparedPrompt,
    ComparisonReport,
    column_heads,
    counts_text,
    measured_text,
    side_text,
)
from guardtui.reports.glossary import CHANGE_TERMS, RATE_TERMS
from guardtui.reports.rates import change_interval_text
from guardtui.session.evaluation_refs import Mistakes

_ALWAYS = ("regressions", "fixes")
_GRID = (
    GridColumn("line", 6, decimals=0),
    GridColumn("what", 12, priority=3),
    GridColumn("A", 10),
    GridColumn("B", 10),
    GridColumn("score", 6, decimals=3, priority=2),
    GridColumn("prompt"),
    GridColumn("expected", grid=False, printed=False),
)


def compared_document(compared: ComparisonReport) -> Document:
    """Return both sides, their rates, what was edited, and the prompts that differ."""
    side = compared.after
    name = side.topic if isinstance(side, Mistakes) else side.evaluation.topic.name
    sections = [Section("Metrics", "metrics", tuple(_metrics(compared)))]
    if compared.definitions is not None:
        sections.append(Section("Definition", "definition", tuple(_definition(compared))))
    sections.append(Section("Prompts", "prompts", (_prompts(compared),), titled=False))
    return Document(
        ("Guardrail topic comparison: ", Foreign(name)),
        (
            quoting(lambda quote: measured_text(compared, quote)),
            f"{capitalized(compared.sentence)}.",
        ),
        tuple(sections),
        made_with=Facts(
            tuple(
                (letter, (Foreign(side.name), ": ", Foreign(side_text(side))))
                for letter, side in compared.sides
            )
        ),
        glossary=(*RATE_TERMS, *CHANGE_TERMS),
    )


def _metrics(compared: ComparisonReport) -> Iterator[Block]:
    before, after = compared.before.metrics, compared.after.metrics
    intervals = rate_intervals(before), rate_intervals(after)
    comparison = compared.comparison
    changes = {} if comparison is None else comparison.significance.intervals
    columns = [Column("rate", figure=False)]
    for head in column_heads(compared):
        columns += [Column(head), Column("95 % interval", figure=False)]
    columns.append(Column("change"))
    if comparison is not None:
        columns.append(Column("95 % interval of the change", figure=False))
    rows = []
    for name in RATES:
        row = [RATE_TITLES[name]]
        for metrics, interval in zip((before, after), intervals, strict=True):
            row += [rate_text(getattr(metrics, name)), interval_text(interval.get(name))]
        row.append(delta_text(compared.deltas.get(name)) or UNDEFINED)
        if comparison is not None:
            row.append(change_interval_text(changes.get(name) if name in CHANGES else None))
        rows.append(tuple(row))
    yield Table(tuple(columns), tuple(rows), named="Rates of A and B")
    yield Paragraph(f"{counts_text(before, after)}.")
    if comparison is not None:
        yield Paragraph(f"Wrong in both: {compared.still_wrong}.")
    if compared.caveats:
        items = tuple(Item(Foreign(caveat)) for caveat in compared.caveats)
        yield Bullets(items, Tone.CAUTION)


def _definition(compared: ComparisonReport) -> Iterator[Block]:
    if compared.definitions is None:
        return
    edited = f"Edited: {', '.join(compared.changes)}." if compared.changes else "The same in both."
    yield Paragraph(edited)
    yield Edits(definition_edits(*compared.definitions))


def _prompts(compared: ComparisonReport) -> Prompts:
    groups = [group for group in compared.groups if len(group) or group.key in _ALWAYS]
    ends = list(accumulate(len(group) for group in groups))

    def prompt(number: int) -> tuple[ComparedGroup, ComparedPrompt]:
        index = bisect_right(ends, number)
        group = groups[index]
        return group, group.item(number - (ends[index] - len(group)))

    def cells(number: int) -> list[Cell]:
        group, item = prompt(number)
        text = GONE if item.prompt is None else item.prompt
        was, now = item.was or "absent", item.now or "absent"
        return [item.line, group.title, was, now, item.score, text, item.label]

    def line(number: int) -> Phrase:
        group, item = prompt(number)
        parts = [item.line_text, item.outcomes, f"labelled {item.label} now" * group.labels]
        if item.score is not None:
            parts.append(f"score {item.score:.3f}")
        return f"{', '.join(filter(None, parts))}: ", (
            GONE if item.prompt is None else Foreign(item.prompt)
        )

    views = [
        PromptView(group.title, range(end - len(group), end), always=group.key in _ALWAYS)
        for group, end in zip(groups, ends, strict=True)
    ]
    views.append(PromptView("All that differ", listed=False))
    count = ends[-1] if ends else 0
    return Prompts("Prompts that differ", _GRID, count, count, cells, line, tuple(views))
