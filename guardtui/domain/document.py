"""Format-neutral reports: a title, sentences, facts, tables, lists and prompts.

A builder makes a `Document` from measurements. A renderer in `reports` writes it as text, Markdown
or HTML. Text from outside is wrapped in `Foreign`, and every renderer makes it inert.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Foreign:
    """Text from outside: a prompt, a name, a path, or a message of a service."""

    text: str


Phrase: TypeAlias = "str | Foreign | tuple[str | Foreign, ...]"
"""A line of text, made of our own words and of foreign text."""

Quote: TypeAlias = Callable[[str], str]
"""Returns a placeholder for a foreign text inside a sentence; see `quoting`."""

_TOKEN = re.compile("\ue000([0-9]+)\ue001")


def quoting(write: Callable[[Quote], str]) -> Phrase:
    """Return the sentence built by `write`, which passes each foreign text to the given `Quote`.

    The foreign texts never become part of the string, so none of them can pass for our own words.
    """
    texts: list[str] = []

    def quote(text: str) -> str:
        texts.append(text)
        return f"\ue000{len(texts) - 1}\ue001"

    parts: list[str | Foreign] = []
    for position, piece in enumerate(_TOKEN.split(write(quote))):
        if position % 2:
            parts.append(Foreign(texts[int(piece)]))
        elif piece:
            parts.append(piece)
    return tuple(parts)


def parts_of(phrase: Phrase) -> tuple[str | Foreign, ...]:
    """Return the pieces of a phrase, in order."""
    return phrase if isinstance(phrase, tuple) else (phrase,)


class Tone(IntEnum):
    """Role of a paragraph: `CAUTION` is a doubt about the result, `ASIDE` a detail."""

    PLAIN = 0
    CAUTION = 1
    ASIDE = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    phrase: Phrase
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Facts:
    """Pairs of a name and its value."""

    pairs: tuple[tuple[Phrase, Phrase], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `figure` aligns it to the right."""

    title: Phrase
    figure: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A small table; a row has a cell for each column.

    `named` is the table's accessible name. If not `titled`, plain text omits the column titles
    because the rows explain themselves.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Phrase, ...], ...]
    named: str = ""
    titled: bool = True


@dataclass(frozen=True, slots=True)
class Lines:
    """Lazily built lines: `line(number)` for numbers from 0 to `count` - 1.

    If `whole`, no format truncates them.
    """

    count: int
    line: Callable[[int], Phrase]
    whole: bool = False

    def shown(self, limit: int) -> int:
        """Return how many lines are shown by a format that truncates lists after `limit`."""
        return self.count if self.whole else min(self.count, limit)


@dataclass(frozen=True, slots=True)
class TitledLines:
    """Lines below a title, which states their number."""

    title: Phrase
    lines: Lines


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a bullet list, with optional lines below it."""

    phrase: Phrase
    below: Lines | None = None


@dataclass(frozen=True, slots=True)
class Bullets:
    """A bullet list."""

    items: tuple[Item, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Edits:
    """Fields of a definition as (name, text before, text now); "" for a missing text."""

    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of `Prompts` when shown as a searchable grid.

    `width` is in characters; None takes the remaining width. Columns of `priority` 2 and 3 are
    hidden on narrow screens. `decimals` is the number of decimals of a number. A column outside of
    the `grid` is shown for the selected row only; if `printed`, it appears below the row on paper.
    """

    title: str
    width: int | None = None
    priority: int = 1
    decimals: int | None = None
    grid: bool = True
    printed: bool = True


Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True, slots=True)
class PromptView:
    """A selection of prompts, by their number from 0; `rows` None selects all.

    Views that are not `listed` appear in grids only. With `always`, an empty view is listed too.
    """

    title: str
    rows: Sequence[int] | None = None
    listed: bool = True
    always: bool = False


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts with their verdicts: views of one grid, or one list for each view.

    The grid holds prompts 0 to `count` - 1 of `of` prompts. `cells` returns the cells of a prompt,
    one for each column. `line` returns a line about any prompt of a view. If `whole`, no list is
    truncated.
    """

    label: str
    columns: tuple[GridColumn, ...]
    count: int
    of: int
    cells: Callable[[int], Sequence[Cell]]
    line: Callable[[int], Phrase]
    views: tuple[PromptView, ...]
    whole: bool = False


def listed(prompts: Prompts, view: PromptView) -> Lines:
    """Return the lines of a view."""
    rows = range(prompts.count) if view.rows is None else view.rows
    return Lines(len(rows), lambda index: prompts.line(rows[index]), prompts.whole)


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart through its points (x, y), in order.

    With `steps` it goes up or down at a point, and then level to the next one.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a chart: a sign, its label, its `kind`, which the legend names, its interval."""

    x: float
    y: float
    sign: str = "●"
    kind: str = ""
    label: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis: its title, its ends, and the values that are written at it."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int = 1


RATE_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Chart:
    """Rates from 0 to 1, drawn by formats that can; its figures are in a table beside it.

    - `title`: what is drawn, in a line.
    - `x`, `y`: the horizontal axis, and the title of the vertical one, which begins at `floor`.
    - `series`: lines; the last ones lie above the others.
    - `now`: a marked place of the horizontal axis with its label, or None.
    - `limit`: a marked rate with its label, or None.
    """

    title: str
    x: Axis
    y: str
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    now: tuple[float, str] | None = None
    limit: tuple[float, str] | None = None
    floor: float = 0.0


class Kind(StrEnum):
    """What is counted, by which a format chooses a colour."""

    MISSED = "missed"
    STOPPED = "wrongly stopped"
    BROKE = "broke"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Bar:
    """A share from 0 to 1 with its count in words, its interval, and the share before.

    None stands for what is undefined or not known.
    """

    kind: Kind
    count: str
    share: float | None
    interval: tuple[float, float] | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Shares as bars. `before` names what came before; the largest share allowed is `limit`."""

    title: str
    bars: tuple[Bar, ...]
    before: str = ""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Charts:
    """Charts side by side. `twin` has their figures; it may be None if a table follows."""

    charts: tuple[Chart | BarChart, ...]
    twin: Table | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Lines under a name, with the number of each kind and the same in words."""

    name: Phrase
    counts: tuple[tuple[Kind, int], ...]
    text: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of lines with their sizes as bars; other formats show only `twin`, if there is one."""

    groups: tuple[Group, ...]
    twin: Table | None = None


Block: TypeAlias = (
    "Paragraph | Facts | Table | Bullets | TitledLines | Edits | Prompts | Charts | Groups"
)


class Depth(IntEnum):
    """Level of detail: plain text is `BRIEF`, Markdown `FULL`, an HTML page `PAGE`."""

    BRIEF = 0
    FULL = 1
    PAGE = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A part with a heading; formats briefer than `depth` omit it.

    `anchor` is the link target (a-z, 0-9, -). Plain text omits the title if not `titled`. A page
    shows `details` below the other sections.
    """

    title: str
    anchor: str
    blocks: tuple[Block, ...]
    depth: Depth = Depth.BRIEF
    titled: bool = True
    details: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report: the main result first, then how it was made, then the details.

    - `verdict`: the result in a sentence, or "" if there is no single one.
    - `lead`: sentences for readers who stop there.
    - `cautions`: why the figures may mislead.
    - `made_with`: what measured the figures.
    - `next_step`: a recommendation, or "".
    - `glossary`: terms and their explanations.
    """

    title: Phrase
    lead: tuple[Phrase, ...]
    sections: tuple[Section, ...]
    made_with: Facts = Facts(())
    verdict: Phrase = ""
    cautions: tuple[Phrase, ...] = ()
    next_step: Phrase = ""
    glossary: tuple[tuple[str, str], ...] = ()
