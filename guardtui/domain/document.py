"""A report before it has a format: a title, sentences, facts, tables, lists and prompts.

A builder makes a `Document` from what was measured; a renderer of `reports` writes it as text,
Markdown or HTML. Texts that are not ours are `Foreign`, and every renderer makes them inert.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Foreign:
    """A text that is not ours: a prompt, a name, a path, a message of a service."""

    text: str


Phrase: TypeAlias = "str | Foreign | tuple[str | Foreign, ...]"
"""A line of text, of our own words and of foreign texts."""

Quote: TypeAlias = Callable[[str], str]
"""Stands for a foreign text within a sentence that is being written; see `quoting`."""

_TOKEN = re.compile("\ue000([0-9]+)\ue001")


def quoting(write: Callable[[Quote], str]) -> Phrase:
    """Return a sentence whose writer passes each foreign text through the `Quote` it is given.

    The texts themselves are kept aside, so none of them can pass for our own words.
    """
    texts: list[str] = []

    def quote(text: str) -> str:
        texts.append(text)
        return f"\ue000{len(texts) - 1}\ue001"

    parts: list[str | Foreign] = []
    for place, piece in enumerate(_TOKEN.split(write(quote))):
        if place % 2:
            parts.append(Foreign(texts[int(piece)]))
        elif piece:
            parts.append(piece)
    return tuple(parts)


def parts_of(phrase: Phrase) -> tuple[str | Foreign, ...]:
    """Return the pieces of a phrase, in order."""
    return phrase if isinstance(phrase, tuple) else (phrase,)


class Tone(IntEnum):
    """How a paragraph is meant: `LEAD` is the result, `CAUTION` a doubt about it."""

    PLAIN = 0
    LEAD = 1
    CAUTION = 2
    ASIDE = 3


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    phrase: Phrase
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, and what they stand for."""

    pairs: tuple[tuple[Phrase, Phrase], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `figure` sets it to the right."""

    title: Phrase
    figure: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A small table; a row has a cell for each column.

    `named` is the name of the table for readers who do not see it. Without `titled` the titles of
    the columns are left out of plain text, where the rows say what they are.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Phrase, ...], ...]
    named: str = ""
    titled: bool = True


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are made only as far as a format shows them: `line` of each number from 0.

    There are `count`. With `whole` no format cuts them.
    """

    count: int
    line: Callable[[int], Phrase]
    whole: bool = False

    def shown(self, limit: int) -> int:
        """Return how many lines a format shows that cuts lists after `limit`."""
        return self.count if self.whole else min(self.count, limit)


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines with a title, which says how many there are."""

    title: Phrase
    lines: Lines


@dataclass(frozen=True, slots=True)
class Item:
    """A point of a list, and what belongs below it."""

    phrase: Phrase
    below: Lines | None = None


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of points."""

    items: tuple[Item, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Edits:
    """Fields of a definition, each with the text before and now; "" where there is none."""

    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of `Prompts` where they stand in a grid that can be searched.

    `width` is in characters; None takes what the others leave. Columns of `priority` 2 and 3 give
    way on narrow screens. Numbers show so many `decimals`. A column that is not in the `grid` is
    shown for the chosen row only, and on paper below the row if it is `printed`.
    """

    title: str
    width: int | None = None
    priority: int = 1
    decimals: int | None = None
    grid: bool = True
    printed: bool = True


Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True, slots=True)
class View:
    """Some of the prompts, by their number from 0; None for all.

    Views that are not `listed` are for grids only. With `always` an empty one is listed too.
    """

    title: str
    rows: Sequence[int] | None = None
    listed: bool = True
    always: bool = False


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts with their verdicts: views of one grid, or a list for each view.

    A grid has those with a number from 0 to below `count`, of `of` prompts; `cells` gives the cells
    of one, as many as `columns`. `line` gives a line about any prompt that a view has. With `whole`
    no list is cut.
    """

    label: str
    columns: tuple[GridColumn, ...]
    count: int
    of: int
    cells: Callable[[int], Sequence[Cell]]
    line: Callable[[int], Phrase]
    views: tuple[View, ...]
    whole: bool = False


def listed(prompts: Prompts, view: View) -> Lines:
    """Return the lines of a view."""
    rows = range(prompts.count) if view.rows is None else view.rows
    return Lines(len(rows), lambda place: prompts.line(rows[place]), prompts.whole)


Block: TypeAlias = "Paragraph | Facts | Table | Bullets | Listing | Edits | Prompts"


class Depth(IntEnum):
    """How much a reader wants: plain text is `BRIEF`, Markdown `FULL`, a page has everything."""

    BRIEF = 0
    FULL = 1
    PAGE = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A part with a heading; formats briefer than `depth` leave it out.

    `anchor` is where a link leads (a-z, 0-9, -). Plain text shows no title that is not `titled`.
    """

    title: str
    anchor: str
    blocks: tuple[Block, ...]
    depth: Depth = Depth.BRIEF
    titled: bool = True


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report: the result first, then what it was made with, then the details.

    `lead` are sentences for readers who read no further, `cautions` why the figures may mislead,
    `made_with` what measured them. `next_step` says what to do, "" where nothing is known, and
    `glossary` explains terms.
    """

    title: Phrase
    lead: tuple[Phrase, ...]
    sections: tuple[Section, ...]
    made_with: Facts = Facts(())
    cautions: tuple[Phrase, ...] = ()
    next_step: Phrase = ""
    glossary: tuple[tuple[str, str], ...] = ()
