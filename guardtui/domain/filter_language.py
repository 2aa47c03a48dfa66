"""The filter language: select rows with a line of terms.

    fn category:euphemism score>0.4 "exact words" -regression

All terms must hold; a leading minus negates a term. Plain words and quoted text are searched as
text, ignoring case. Each caller defines the meaning of special words and fields in a `Language`; in
quotes they are plain text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError

Rows = TypeVar("Rows", bound=Sized)
"""The table that is filtered; its length is the number of rows."""

Mask: TypeAlias = NDArray[np.bool_]
Test: TypeAlias = Callable[[Rows], Mask]
"""Returns which rows pass, bool [N]."""

COMPARISONS: Mapping[str, Callable[[NDArray[np.generic], float], Mask]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    ":": operator.eq,
}
"""Operators of a numeric field: compare [N] with one number; NaN never passes."""

_EQUAL = ("=", ":")
_TERM = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?'
    r'(?:"(?P<quoted>[^"]*)(?:"|$)|(?P<plain>[^\s"]*))'
)


class FilterError(GuardtuiError, ValueError):
    """A term that cannot be understood, from `start` to `end` of the line."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class FilterField(Generic[Rows]):
    """A field such as `score`; `read` makes the test for an operator and a value.

    `read` raises ValueError with the problem of the value. If `marked`, matches of its values are
    highlighted.
    """

    name: str
    read: Callable[[str, str], Test[Rows]]
    signs: Collection[str] = _EQUAL
    negatable: bool = True
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Language(Generic[Rows]):
    """Meaning of words, texts and fields. `word` returns None for a word that is plain text."""

    word: Callable[[str], Test[Rows] | None]
    text: Callable[[str], Test[Rows]]
    fields: Sequence[FilterField[Rows]]
    """Found by name; the exact case is preferred, any case accepted."""


@dataclass(frozen=True, slots=True)
class RowFilter(Generic[Rows]):
    """A parsed line. `texts` are the texts that matching rows contain, for highlighting."""

    tests: tuple[Test[Rows], ...]
    texts: tuple[str, ...]

    def mask(self, rows: Rows) -> Mask:
        """Return which rows pass, bool [N]."""
        result = np.ones(len(rows), bool)
        for test in self.tests:
            result &= test(rows)
        return result


def parse_line(line: str, language: Language[Rows]) -> RowFilter[Rows]:
    """Parse a line. Raises FilterError."""
    tests: list[Test[Rows]] = []
    texts: list[str] = []
    for term in _terms(line):
        test, text = _test_of(term, language)
        tests.append(_negated(test) if term["minus"] else test)
        if text and not term["minus"]:
            texts.append(text)
    return RowFilter(tuple(tests), tuple(texts))


def _terms(line: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(line):
        if line[position].isspace():
            position += 1
            continue
        term = _TERM.match(line, position)
        if term is None or not (term["plain"] or term["field"] or term["quoted"] is not None):
            raise FilterError("nothing follows the minus", position, position + 1)
        yield term
        position = term.end()


def _negated(test: Test[Rows]) -> Test[Rows]:
    return lambda rows: ~test(rows)


def _test_of(term: re.Match[str], language: Language[Rows]) -> tuple[Test[Rows], str]:
    """Return the test of a term and the text it searches for, or ""."""
    value = term["quoted"] if term["quoted"] is not None else term["plain"]
    name, sign = term["field"], term["sign"]
    if name is None:
        test = language.word(value) if term["quoted"] is None else None
        return (language.text(value), value) if test is None else (test, "")

    def problem(message: str) -> FilterError:
        return FilterError(message, term.start(), term.end())

    field = _field_of(name, language)
    if field is None:
        if sign == ":" and not value:
            raise problem("nothing follows the colon")
        if sign == ":" and "//" in value:  # a URL, not a field
            return language.text(f"{name}{sign}{value}"), f"{name}{sign}{value}"
        raise problem(_unknown(name, language))
    if not value:
        raise problem(f"nothing follows {sign}")
    if sign not in field.signs:
        raise problem(f"{field.name} is compared with : only")
    if term["minus"] and not field.negatable:
        raise problem(f"{field.name} takes no minus")
    try:
        return field.read(sign, value), value if field.marked else ""
    except ValueError as error:
        raise problem(str(error)) from None


def _field_of(name: str, language: Language[Rows]) -> FilterField[Rows] | None:
    same = [field for field in language.fields if field.name.lower() == name.lower()]
    return next((field for field in same if field.name == name), same[0] if same else None)


def _unknown(name: str, language: Language[Rows]) -> str:
    names = list(dict.fromkeys(field.name for field in language.fields))
    similar = get_close_matches(name.lower(), [field.lower() for field in names], n=1)
    suggestion = f"did you mean {similar[0]}? " if similar else ""
    return f"no field {name}: {suggestion}there are {', '.join(names)}; quotes make it a text"
