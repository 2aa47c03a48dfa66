"""A document as an HTML page, for a browser and for print."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from guardtui.domain.definition_changes import DiffKind, word_diff
from guardtui.domain.document import (
    Block,
    Bullets,
    Charts,
    Document,
    Edits,
    Facts,
    Foreign,
    Groups,
    Lines,
    Paragraph,
    Phrase,
    Prompts,
    Table,
    TitledLines,
    Tone,
    parts_of,
)
from guardtui.reports.as_text import cut, plain
from guardtui.reports.html.page import (
    Content,
    Markup,
    PageSection,
    bullets,
    facts,
    figure,
    join,
    page,
    paragraph,
    quoted,
    rows_table,
    table,
    tag,
    text,
)
from guardtui.reports.html.svg import drawing, group_bar

LIMIT = 200
"""Lines of one list."""

_COMPARED = 20_000  # characters of two texts; the words of longer ones are not compared

BELOW = 5
"""Lines below an entry of a list."""

GROUPED = 20
"""Lines of a group."""

_GROUPED_CHARACTERS = 300  # of a prompt in a group; the table below has the whole text

_NAME = 120  # characters of a name in the title of the page
_CLASSES = {Tone.PLAIN: None, Tone.CAUTION: "warn", Tone.ASIDE: "muted"}


def write(document: Document) -> str:
    """Return the whole page."""
    sections = [
        PageSection(section.title, section.anchor, join(*map(_markup, section.blocks)))
        for section in sorted(document.sections, key=lambda section: section.details)
    ]
    if document.glossary:
        sections.append(PageSection("Terms", "terms", facts(document.glossary)))
    return page(plain(document.title, _NAME), sections, lead=_lead(document))


def markup(phrase: Phrase, characters: int | None = None) -> Markup:
    """Return a phrase as HTML, with foreign texts in quotes, cut after so many `characters`."""
    return join(
        *(
            quoted(part.text if characters is None else cut(part.text, characters))
            if isinstance(part, Foreign)
            else part
            for part in parts_of(phrase)
        )
    )


def _lead(document: Document) -> Markup:
    sentences = [part for sentence in document.lead for part in (markup(sentence), " ")]
    step = document.next_step
    return join(
        tag("div", _facts(document.made_with), class_="made-with"),
        paragraph(markup(document.verdict), class_="verdict") if document.verdict else None,
        paragraph(*sentences[:-1], class_="lead") if sentences else None,
        *(
            paragraph("Caution: ", markup(caution), ".", class_="warn")
            for caution in document.cautions
        ),
        paragraph(tag("strong", "Next: "), markup(step), class_="next") if step else None,
    )


@singledispatch
def _markup(block: Block) -> Markup:
    raise TypeError(f"no HTML for {type(block).__name__}")


@_markup.register
def _paragraph(block: Paragraph) -> Markup:
    return paragraph(markup(block.phrase), class_=_CLASSES[block.tone])


@_markup.register
def _facts(block: Facts) -> Markup:
    return facts((markup(name), markup(value)) for name, value in block.pairs)


@_markup.register
def _table(block: Table) -> Markup:
    first = block.columns[0].title
    return table(
        [markup(column.title) for column in block.columns],
        [[markup(cell) for cell in row] for row in block.rows],
        named=block.named or (first if isinstance(first, str) else ""),
        text_columns=[k for k, column in enumerate(block.columns) if not column.figure],
    )


@_markup.register
def _bullets(block: Bullets) -> Markup:
    points = bullets(
        join(markup(item.phrase), None if item.below is None else _cut(item.below, BELOW))
        for item in block.items
    )
    if block.tone is Tone.CAUTION and points:
        return join(paragraph("Keep in mind:", class_="warn"), points)
    return points


@_markup.register
def _listing(block: TitledLines) -> Markup:
    return join(paragraph(markup(block.title), ":"), _cut(block.lines, LIMIT))


def _cut(lines: Lines, limit: int, characters: int | None = None) -> Markup:
    count = lines.shown(limit)
    shown: list[Content] = [markup(lines.line(number), characters) for number in range(count)]
    if lines.count > count:
        shown.append(f"… and {lines.count - count} more")
    return bullets(shown)


@_markup.register
def _edits(block: Edits) -> Markup:
    return facts((name, _difference(before, after)) for name, before, after in block.fields)


def _difference(before: str, after: str) -> Markup:
    """Return the added and removed words of a text against the previous one.

    They are marked by elements and signs, not only by colour.
    """
    if before == after:
        return quoted(after)
    pieces = [(DiffKind.REMOVED, before), (DiffKind.ADDED, after)]
    if len(before) + len(after) <= _COMPARED:
        pieces = word_diff(before, after)
    made: list[Markup] = []
    for kind, piece in pieces:
        if kind is DiffKind.ADDED and piece:
            made.append(tag("ins", text(piece)))
        elif kind is DiffKind.REMOVED and piece:
            made.append(tag("del", text(piece)))
        else:
            made.append(text(piece))
    return tag("bdi", *made, class_="quoted")


@_markup.register
def _charts(block: Charts) -> Markup:
    figures = [figure(drawing(chart), f"{chart.title}.") for chart in block.charts]
    drawn = figures[0] if len(figures) == 1 else tag("div", *figures, class_="charts")
    return join(drawn, _twin(block.twin))


@_markup.register
def _groups(block: Groups) -> Markup:
    largest = max((sum(count for _, count in group.counts) for group in block.groups), default=1)
    made = [
        tag(
            "details",
            tag(
                "summary",
                tag("span", markup(group.name), class_="name"),
                group_bar(group, largest),
                tag("span", group.text, class_="counts"),
            ),
            _cut(group.lines, GROUPED, _GROUPED_CHARACTERS),
            class_="group",
        )
        for group in block.groups
    ]
    return join(*made, _twin(block.twin))


def _twin(twin: Table | None) -> Markup | None:
    return None if twin is None else tag("details", tag("summary", "As a table"), _table(twin))


@_markup.register
def _prompts(block: Prompts) -> Markup:
    if not block.count:
        return paragraph("None.")
    # The first view must not be empty if another one has rows.
    views = [
        view
        if view.rows is None
        else replace(view, rows=[row for row in view.rows if row < block.count])
        for view in block.views
    ]
    views.sort(key=lambda view: view.rows is not None and not len(view.rows))
    rows = [block.cells(number) for number in range(block.count)]
    grid = rows_table(block.columns, rows, views, label=block.label)
    if block.count == block.of:
        return grid
    return join(paragraph(f"{block.count} of {block.of} prompts are listed."), grid)
