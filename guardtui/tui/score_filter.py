"""The filter line over scored rows: by value, by scorer, where scorers differ, by words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.domain.late import late
from guardtui.domain.row_filter import FilterError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from guardtui.tui.score_results import ScoreColumn, ScoreTable
else:
    np = late("numpy")
    pl = late("polars")

HINT = 'C, I, P, N, value<0.5, scorer:match, differ, error, answer:…, words, "exact words"'
LETTERS = ("C", "I", "P", "N")
STATES = {"error": "error", "unscored": "n/a", "declined": "–"}
"""Words for rows without a value, and what stands in the column of values then."""

_TEXTS = ("answer", "explanation", "input", "target", "output", "id")
_TERM = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_PARTS = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?(?P<rest>.*)', re.DOTALL
)
_SIGNS: dict[str, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    "<": lambda values, limit: values < limit,
    "<=": lambda values, limit: values <= limit,
    ">": lambda values, limit: values > limit,
    ">=": lambda values, limit: values >= limit,
}

Mask = Callable[["ScoreTable", "Sequence[ScoreColumn]"], "NDArray[np.bool_]"]
"""Which rows a term lets through, bool [N], given the scorers it is about."""


@dataclass(frozen=True)
class ScoreFilter:
    """A line that was understood; `words` are the texts that are looked for in the output."""

    terms: tuple[tuple[bool, Mask], ...] = ()
    words: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()

    def mask(self, table: ScoreTable) -> NDArray[np.bool_]:
        """The rows that every term lets through, bool [N]."""
        columns = [one for one in table.columns if not self.scorers or one.name in self.scorers]
        kept = np.ones(len(table.outputs), np.bool_)
        for wanted, term in self.terms:
            found = term(table, columns)
            kept &= found if wanted else ~found
        return kept


def parse_score_filter(
    line: str, scorers: Sequence[str] = (), columns: Sequence[str] = ()
) -> ScoreFilter:
    """What a line of the filter means; `columns` are the file's own. Raises FilterError."""
    terms: list[tuple[bool, Mask]] = []
    words: list[str] = []
    chosen: list[str] = []
    for found in _TERM.finditer(line):
        parts = _PARTS.match(found[0])
        if parts is None:
            continue
        start, end = found.span()
        wanted = not parts["minus"]
        field, rest = parts["field"], parts["rest"]
        if field is None:
            quoted = rest.startswith('"')
            text = rest.strip('"')
            if not text:
                continue
            mask = None if quoted else _bare(text)
            if mask is None:
                mask = _within(text, None)
                if wanted:
                    words.append(text)
            terms.append((wanted, mask))
            continue
        value = rest.strip('"')
        if field.lower() == "scorer":
            if not wanted:
                raise FilterError("name the scorers that are meant, without a minus", start, end)
            chosen += _known(value, scorers, start, end)
            continue
        terms.append((wanted, _field(field, parts["sign"], value, columns, start, end)))
        if wanted and field.lower() == "output":
            words.append(value)
    return ScoreFilter(tuple(terms), tuple(words), tuple(chosen))


def _known(value: str, scorers: Sequence[str], start: int, end: int) -> list[str]:
    names = [one for one in value.split(",") if one]
    unknown = [one for one in names if one not in scorers]
    if unknown or not names:
        there = ", ".join(scorers) or "none yet"
        raise FilterError(f"scorer: takes the name of a scorer shown here: {there}", start, end)
    return names


def _bare(text: str) -> Mask | None:
    if text in LETTERS:
        return _equal((text,))
    if text in STATES:
        return _equal((STATES[text],))
    return _differ if text == "differ" else None


def _field(field: str, sign: str, value: str, columns: Sequence[str], start: int, end: int) -> Mask:
    name = field.lower()
    if not value:
        raise FilterError(f"{field}{sign} needs what to look for", start, end)
    if name == "value":
        if sign in _SIGNS:
            return _compared(sign, value, start, end)
        return _equal(tuple(value.split(",")))
    if sign not in (":", "="):
        raise FilterError(f"only value can be compared with {sign}; write {field}:…", start, end)
    if name in _TEXTS:
        return _within(value, name)
    own = next((one for one in columns if one == field), None)
    own = own or next((one for one in columns if one.lower() == name), None)
    if own is None:
        known = ", ".join(["value", "scorer", *_TEXTS, *columns])
        raise FilterError(f"there is no {field}: write one of {known}, or quotes", start, end)
    return _column(own, tuple(one.lower() for one in value.split(",")))


def _compared(sign: str, value: str, start: int, end: int) -> Mask:
    try:
        limit = float(value)
    except ValueError:
        raise FilterError(f"{value} is no number: value{sign}0.5", start, end) from None

    def mask(table: ScoreTable, columns: Sequence[ScoreColumn]) -> NDArray[np.bool_]:
        # A row without a number compares as false with everything.
        return _any(table, (_SIGNS[sign](one.numbers, limit) for one in columns))

    return mask


def _equal(wanted: tuple[str, ...]) -> Mask:
    numbers = [_number(one) for one in wanted]

    def of(one: ScoreColumn) -> NDArray[np.bool_]:
        found = one.texts.is_in(wanted).to_numpy()
        for number in numbers:
            if number is not None:
                found = found | (one.numbers == number)
        return found

    def mask(table: ScoreTable, columns: Sequence[ScoreColumn]) -> NDArray[np.bool_]:
        return _any(table, map(of, columns))

    return mask


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _differ(table: ScoreTable, columns: Sequence[ScoreColumn]) -> NDArray[np.bool_]:
    """Rows on which two scorers that have come to them do not give the same value."""
    found = np.zeros(len(table.outputs), np.bool_)
    for place, one in enumerate(columns):
        for other in columns[place + 1 :]:
            both = ~np.isnan(one.numbers) & ~np.isnan(other.numbers)
            unequal = np.where(
                both, one.numbers != other.numbers, (one.texts != other.texts).to_numpy()
            )
            found |= unequal & one.reached & other.reached
    return found


def _within(text: str, field: str | None) -> Mask:
    needle = text.lower()

    def mask(table: ScoreTable, columns: Sequence[ScoreColumn]) -> NDArray[np.bool_]:
        if field in ("answer", "explanation"):
            return _any(
                table,
                (
                    np.fromiter(
                        (
                            score is not None and needle in (getattr(score, field) or "").lower()
                            for score in one.run.result.scores
                        ),
                        np.bool_,
                        len(table.outputs),
                    )
                    for one in columns
                ),
            )
        found: NDArray[np.bool_] = (
            table.lowered(field or "").str.contains(needle, literal=True).to_numpy()
        )
        return found

    return mask


def _column(name: str, wanted: tuple[str, ...]) -> Mask:
    def mask(table: ScoreTable, columns: Sequence[ScoreColumn]) -> NDArray[np.bool_]:
        values = table.outputs.metadata[name]
        return np.fromiter(
            (str("" if one is None else one).lower() in wanted for one in values),
            np.bool_,
            len(values),
        )

    return mask


def _any(table: ScoreTable, masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    found = np.zeros(len(table.outputs), np.bool_)
    for one in masks:
        found = found | one
    return found
