"""Completion of a filter line, and highlighting of its terms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.highlighter import Highlighter
from rich.text import Text
from textual.suggester import Suggester

from guardtui.domain.row_filter import FilterError, RowFilter
from guardtui.domain.text import display_text

LOOKED_THROUGH = 2000
"""Values of a column that are offered; a column of free text has as many as there are rows."""

_TERM = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_PARTS = re.compile(r'-?(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?(?P<value>.*)', re.DOTALL)
_UNQUOTED = re.compile(r'[^\s",]+')

Values = Callable[[], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words and values that complete a line.

    `words` come first, then the names of `columns`. A term has one of the `values` of its field, or
    several of a column, which are worked out when they are first needed.
    """

    words: Sequence[str] = ()
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: Mapping[str, Values] = field(default_factory=dict)


class TermHighlighter(Highlighter):
    """Terms of the filter language in bold; words that are searched stay plain."""

    def __init__(self, parse: Callable[[str], RowFilter]) -> None:
        """`parse` parses a line, and raises FilterError."""
        self._parse = parse

    def highlight(self, text: Text) -> None:
        for term in _TERM.finditer(text.plain):
            try:
                known = self._parse(term[0].lstrip("-"))
            except FilterError:
                continue
            if known.tests and not known.texts:
                text.stylize("bold", term.start(), term.end())


class FilterSuggester(Suggester):
    """Suggest the rest of the last term of a line."""

    vocabulary = Vocabulary()

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        # The values of a column are found by a look through all rows, the first time.
        return await asyncio.to_thread(completed, value, self.vocabulary)


def completed(line: str, vocabulary: Vocabulary) -> str | None:
    """Return the line with its last term completed; None if nothing known begins with it.

    Names and values that hold invisible or control characters are not offered: what is drawn
    behind the cursor must be what is typed.
    """
    last = None
    for term in _TERM.finditer(line):
        last = term
    if last is None or last.end() != len(line):
        return None
    parts = _PARTS.match(last[0])
    if parts is None:
        return None
    if parts["field"] is None:
        typed = parts["value"]
        names = (f"{name}:" for name in vocabulary.columns if _is_name(name))
        rest = _rest(typed, [*vocabulary.words, *names]) if typed else None
    else:
        rest = _rest_of_value(parts["field"], parts["value"], vocabulary)
    return line + rest if rest else None


def _rest(typed: str, known: Iterable[str]) -> str | None:
    wanted = typed.lower()
    for name in known:
        if len(name) > len(typed) and name.lower().startswith(wanted):
            if display_text(name) == name:
                return name[len(typed) :]
        elif name.lower() == wanted:
            return None  # it is complete, and need not be the start of a longer one
    return None


def _is_name(column: str) -> bool:
    return re.fullmatch(r'[^\s":<>=-][^\s":<>=]*', column) is not None


def _rest_of_value(name: str, value: str, vocabulary: Vocabulary) -> str | None:
    own = next((column for column in vocabulary.columns if column.lower() == name.lower()), None)
    if own is None:
        return _rest(value, vocabulary.values.get(name.lower(), ()))
    names = vocabulary.columns[own]()[:LOOKED_THROUGH]
    if value.startswith('"'):
        if value.count('"') > 1:
            return None
        typed = value[1:].rpartition(",")[2].lstrip()
        rest = _rest(typed, (name for name in names if not {'"', ","} & set(name)))
        return f'{rest}"' if rest else None
    typed = value.rpartition(",")[2]
    if not value and names and not _UNQUOTED.fullmatch(names[0]) and '"' not in names[0]:
        return f'"{names[0]}"' if display_text(names[0]) == names[0] else None
    return _rest(typed, (name for name in names if _UNQUOTED.fullmatch(name)))
