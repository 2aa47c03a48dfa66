"""A document as Markdown, with foreign text made inert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import singledispatch

from guardtui.domain.document import (
    Block,
    Bullets,
    Charts,
    Depth,
    Document,
    Edits,
    Facts,
    Foreign,
    Groups,
    Lines,
    Paragraph,
    Phrase,
    Prompts,
    Section,
    Table,
    TitledLines,
    Tone,
    listed,
    parts_of,
)
from guardtui.domain.text import display_start

LIMIT = 200
"""Prompts in one list."""

BELOW = 50
"""Lines below an entry of a list."""

_CHARACTERS = 1000  # of one foreign text
_LISTED = 300  # of a prompt in a list; its line number locates the whole text
_TICKS = re.compile("`+")


def code_span(text: str, *, cell: bool = False, characters: int = _CHARACTERS) -> str:
    """Return a text as a Markdown code span of one line, in which no markup or HTML is active.

    The fence is longer than any run of backticks inside. In a cell of a table "|" becomes "¦",
    since tables are split before code spans are parsed.
    """
    shown = display_start(text, characters)
    if not shown:
        return "(empty)"
    if cell:
        shown = shown.replace("|", "¦")
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    # Renderers strip one blank on each side; without it the fence could touch a backtick.
    edge = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def write(document: Document) -> str:
    """Return the Markdown; cut lists end with the number of omitted prompts."""
    lines = list(_head(document))
    for section in document.sections:
        if section.depth is not Depth.PAGE:
            lines += _section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def marked(phrase: Phrase, *, cell: bool = False, characters: int = _CHARACTERS) -> str:
    """Return a phrase as Markdown, its foreign texts as code spans."""
    return "".join(
        code_span(part.text, cell=cell, characters=characters)
        if isinstance(part, Foreign)
        else part
        for part in parts_of(phrase)
    )


def _head(document: Document) -> Iterator[str]:
    lead = " ".join(filter(None, map(marked, (document.verdict, *document.lead))))
    yield from (f"# {marked(document.title)}", "", lead, "")
    for caution in document.cautions:
        yield from (f"Caution: {marked(caution)}.", "")
    if document.made_with.pairs:
        yield from _lines(document.made_with)
    if document.next_step:
        yield from (f"Next step: {marked(document.next_step)}", "")


def _section(section: Section) -> Iterator[str]:
    lines = [line for block in section.blocks for line in _lines(block)]
    # Prompts have a heading for each of their views.
    if lines and not lines[0].startswith("## "):
        yield from (f"## {section.title}", "")
    yield from lines


@singledispatch
def _lines(block: Block) -> Iterator[str]:
    raise TypeError(f"no Markdown for {type(block).__name__}")


@_lines.register
def _paragraph(block: Paragraph) -> Iterator[str]:
    yield from (f"{'Caution: ' * (block.tone is Tone.CAUTION)}{marked(block.phrase)}", "")


@_lines.register
def _facts(block: Facts) -> Iterator[str]:
    yield from (f"- {marked(name)}: {marked(value)}" for name, value in block.pairs)
    yield ""


@_lines.register
def _table(block: Table) -> Iterator[str]:
    titles = (marked(column.title, cell=True) for column in block.columns)
    yield f"| {' | '.join(titles)} |"
    yield f"|{'|'.join('--:' if column.figure else '---' for column in block.columns)}|"
    for row in block.rows:
        yield f"| {' | '.join(marked(cell, cell=True) for cell in row)} |"
    yield ""


@_lines.register
def _bullets(block: Bullets) -> Iterator[str]:
    caution = "caution: " * (block.tone is Tone.CAUTION)
    for item in block.items:
        yield f"- {caution}{marked(item.phrase)}"
        if item.below is not None:
            yield from _cut_lines(item.below, BELOW, "  ")
    yield ""


@_lines.register
def _listing(block: TitledLines) -> Iterator[str]:
    yield from (f"{marked(block.title)}:", "")
    yield from _cut_lines(block.lines, LIMIT, "")
    yield ""


@_lines.register
def _edits(block: Edits) -> Iterator[str]:
    for field, old, new in block.fields:
        if old == new:
            if new:
                yield f"- {field}: {code_span(new)}"
        else:
            before = code_span(old) if old else "(none)"
            yield f"- {field}: {before} → {code_span(new) if new else '(none)'}"
    yield ""


@_lines.register(Charts)
@_lines.register(Groups)
def _drawn(block: Charts | Groups) -> Iterator[str]:
    """Yield the figures of what only a page draws."""
    return iter(()) if block.twin is None else _table(block.twin)


@_lines.register
def _prompts(block: Prompts) -> Iterator[str]:
    for view in block.views:
        lines = listed(block, view)
        if not view.listed or not (lines.count or view.always):
            continue
        yield from (f"## {view.title} ({lines.count})", "")
        yield from _cut_lines(lines, LIMIT, "")
        if lines.count:
            yield ""


def _cut_lines(lines: Lines, limit: int, indent: str) -> Iterator[str]:
    shown = min(lines.count, limit)
    for number in range(shown):
        yield f"{indent}- {marked(lines.line(number), characters=_LISTED)}"
    if lines.count > shown:
        yield f"{indent}- … and {lines.count - shown} more"
