"""A document as plain text for terminals, without colours, in inert lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
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

LIMIT = 20
"""Prompts in one list."""

BELOW = 5
"""Lines below an entry of a list."""

_LINE = 200  # characters of a foreign text in a line
_CELL = 40
_PROMPT = 100
_DEFINITION = 1000
_LABEL = 10  # columns of the name of a fact


def write(document: Document) -> str:
    """Return the text, without parts beyond `Depth.BRIEF`."""
    parts = [_head(document)]
    parts += [_section(part) for part in document.sections if part.depth is Depth.BRIEF]
    return "\n\n".join(text for part in parts if (text := "\n".join(part))) + "\n"


def plain(phrase: Phrase, characters: int = _LINE) -> str:
    """Return a phrase as one inert line; a foreign text longer than `characters` is cut."""
    return "".join(
        cut(part.text, characters) if isinstance(part, Foreign) else part
        for part in parts_of(phrase)
    )


def cut(text: str, characters: int) -> str:
    """Return the start of a foreign text, inert, with `…` if it is cut."""
    return display_start(text, characters)


def _head(document: Document) -> Iterator[str]:
    yield from filter(None, map(plain, (document.verdict, *document.lead)))
    yield from _facts(document.made_with)
    yield from (f"{'caution':<{_LABEL}} {plain(caution)}" for caution in document.cautions)


def _section(section: Section) -> Iterator[str]:
    lines = [line for block in section.blocks for line in _lines(block)]
    if section.titled and lines:
        yield f"{section.title[:1].lower()}{section.title[1:]}"
    yield from lines


@singledispatch
def _lines(block: Block) -> Iterator[str]:
    raise TypeError(f"no text for {type(block).__name__}")


@_lines.register
def _paragraph(block: Paragraph) -> Iterator[str]:
    yield f"{'caution: ' * (block.tone is Tone.CAUTION)}{plain(block.phrase)}"


@_lines.register
def _facts(block: Facts) -> Iterator[str]:
    names = [plain(name, _CELL) for name, _ in block.pairs]
    width = max([_LABEL, *map(columns_of, names)])
    for name, (_, value) in zip(names, block.pairs, strict=True):
        yield f"{name}{' ' * (width - columns_of(name))} {plain(value)}"


@_lines.register
def _table(block: Table) -> Iterator[str]:
    # The last column needs no padding.
    limits = [*[_CELL] * (len(block.columns) - 1), _LINE]
    rows = [
        [plain(cell, limit) for cell, limit in zip(row, limits, strict=True)] for row in block.rows
    ]
    titles = [plain(column.title, _CELL) for column in block.columns]
    figures = [column.figure for column in block.columns]
    yield from aligned([titles, *rows] if block.titled else rows, figures)


@_lines.register
def _bullets(block: Bullets) -> Iterator[str]:
    caution = "caution: " * (block.tone is Tone.CAUTION)
    indent = "" if caution else "  "
    for item in block.items:
        yield f"{indent}{caution}{plain(item.phrase)}"
        if item.below is not None:
            yield from _cut_lines(item.below, BELOW, f"{indent}  ")


@_lines.register
def _listing(block: TitledLines) -> Iterator[str]:
    yield plain(block.title)
    yield from _cut_lines(block.lines, LIMIT, "  ", _LINE)


@_lines.register
def _edits(block: Edits) -> Iterator[str]:
    for field, old, new in block.fields:
        if old == new:
            continue
        if old:
            yield f"  {field:<12} − {cut(old, _DEFINITION)}"
        if new:
            yield f"  {'' if old else field:<12} + {cut(new, _DEFINITION)}"


@_lines.register(Charts)
@_lines.register(Groups)
def _drawn(block: Charts | Groups) -> Iterator[str]:
    """Yield the figures of what only a page draws."""
    return iter(()) if block.twin is None else _table(block.twin)


@_lines.register
def _prompts(block: Prompts) -> Iterator[str]:
    first = True
    for view in block.views:
        lines = listed(block, view)
        if not view.listed or not lines.count:
            continue
        if not first:
            yield ""
        first = False
        yield f"{view.title[:1].lower()}{view.title[1:]} ({lines.count})"
        yield from _cut_lines(lines, LIMIT, "  ")


def _cut_lines(lines: Lines, limit: int, indent: str, characters: int = _PROMPT) -> Iterator[str]:
    shown = lines.shown(limit)
    for number in range(shown):
        yield f"{indent}{plain(lines.line(number), characters)}"
    if lines.count > shown:
        yield f"{indent}… and {lines.count - shown} more"


def aligned(rows: Sequence[Sequence[str]], figures: Sequence[bool]) -> Iterator[str]:
    """Yield rows with aligned cells; columns of `figures` are aligned to the right."""
    if not rows:
        return
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for cell, width, figure in zip(row, widths, figures, strict=True):
            blanks = " " * (width - columns_of(cell))
            cells.append(blanks + cell if figure else cell + blanks)
        yield "  ".join(cells).rstrip()


def columns_of(text: str) -> int:
    """Return the number of terminal columns of a text, accurate enough to align names."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
