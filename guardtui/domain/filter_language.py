"""The filter language: which rows to look at, in a line of words.

    fn category:euphemism score>0.4 "exact words" -regression

Terms stand side by side and all must hold; a minus in front negates one. Plain words and texts in
quotes are looked for as text, in any case. What other words and fields mean is a `Language` of
whoever filters; in quotes they are text.
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
"""What is filtered; its length is the number of rows."""

Mask: TypeAlias = NDArray[np.bool_]
Test: TypeAlias = Callable[[Rows], Mask]
"""Which rows pass, bool [N]."""

COMPARISONS: Mapping[str, Callable[[NDArray[np.generic], float], Mask]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    ":": operator.eq,
}
"""Signs of a field that is compared with a number, [N] with one number; NaN passes none."""

_EQUAL = ("=", ":")
_TERM = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?'
    r'(?:"(?P<quoted>[^"]*)(?:"|$)|(?P<plain>[^\s"]*))'
)


class FilterError(GuardtuiError, ValueError):
    """A term that cannot be understood: it stands at `start` to `end` of the line."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Field(Generic[Rows]):
    """A field such as `score`: `read` makes the test of a sign and a value.

    `read` raises ValueError with what is wrong with the value. `marked` says that its values are
    marked as text where they are found.
    """

    name: str
    read: Callable[[str, str], Test[Rows]]
    signs: Collection[str] = _EQUAL
    negatable: bool = True
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Language(Generic[Rows]):
    """What words, texts and fields mean. `word` gives None for a word that is text."""

    word: Callable[[str], Test[Rows] | None]
    text: Callable[[str], Test[Rows]]
    fields: Sequence[Field[Rows]]
    """Found by their names in any case."""


@dataclass(frozen=True, slots=True)
class RowFilter(Generic[Rows]):
    """A line that was understood. `texts` are those the rows shown must hold, for marking."""

    tests: tuple[Test[Rows], ...]
    texts: tuple[str, ...]

    def mask(self, rows: Rows) -> Mask:
        """Return which rows pass, bool [N]."""
        result = np.ones(len(rows), bool)
        for test in self.tests:
            result &= test(rows)
        return result


def parse_line(line: str, language: Language[Rows]) -> RowFilter[Rows]:
    """Understand a line. Raises FilterError."""
    tests: list[Test[Rows]] = []
    texts: list[str] = []
    for term in _terms(line):
        test, text = _test_of(term, language)
        tests.append(_negated(test) if term["minus"] else test)
        if text and not term["minus"]:
            texts.append(text)
    return RowFilter(tuple(tests), tuple(texts))


def _terms(line: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        term = _TERM.match(line, at)
        if term is None or not (term["plain"] or term["field"] or term["quoted"] is not None):
            raise FilterError("nothing follows the minus", at, at + 1)
        yield term
        at = term.end()


def _negated(test: Test[Rows]) -> Test[Rows]:
    return lambda rows: ~test(rows)


def _test_of(term: re.Match[str], language: Language[Rows]) -> tuple[Test[Rows], str]:
    """Return the test of a term, and the text that it looks for, "" for none."""
    value = term["quoted"] if term["quoted"] is not None else term["plain"]
    name, sign = term["field"], term["sign"]
    if name is None:
        test = language.word(value) if term["quoted"] is None else None
        return (language.text(value), value) if test is None else (test, "")

    def wrong(message: str) -> FilterError:
        return FilterError(message, term.start(), term.end())

    field = _field_of(name, language)
    if field is None:
        if sign == ":" and not value:
            raise wrong("nothing follows the colon")
        if sign == ":" and "//" in value:  # an address in a text, and no field
            return language.text(f"{name}{sign}{value}"), f"{name}{sign}{value}"
        raise wrong(_unknown(name, language))
    if not value:
        raise wrong(f"nothing follows {sign}")
    if sign not in field.signs:
        raise wrong(f"{field.name} is compared with : only")
    if term["minus"] and not field.negatable:
        raise wrong(f"{field.name} takes no minus")
    try:
        return field.read(sign, value), value if field.marked else ""
    except ValueError as error:
        raise wrong(str(error)) from None


def _field_of(name: str, language: Language[Rows]) -> Field[Rows] | None:
    same = [field for field in language.fields if field.name.lower() == name.lower()]
    return next((field for field in same if field.name == name), same[0] if same else None)


def _unknown(name: str, language: Language[Rows]) -> str:
    names = list(dict.fromkeys(field.name for field in language.fields))
    near = get_close_matches(name.lower(), [known.lower() for known in names], n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"no field {name}: {meant}there are {', '.join(names)}; quotes make it a text"
