"""The filter language over scored rows: by value, by scorer, where scorers differ, by words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from guardtui.domain.filter_language import (
    COMPARISONS,
    FilterField,
    Language,
    Mask,
    RowFilter,
    parse_line,
)
from guardtui.files.output_files import OutputSet
from guardtui.tui.inputs.filter_completion import LOOKED_THROUGH, Values, Vocabulary

if TYPE_CHECKING:
    from guardtui.tui.scoring.rows import ScoreColumn, ScoreTable

HINT = '→ completes: words, "exact words", C, I, value<0.5, scorer:match, differ, error, answer:…'
VALUES = {
    **{letter: letter for letter in "CIPN"},
    "error": "error",
    "unscored": "n/a",
    "declined": "–",
}
"""Words for values and for rows without one, with the text of the column of values."""
WORDS = (*VALUES, "differ")
TEXTS = ("input", "target", "output", "id")
"""Fields of the file that are searched; `SCORE_TEXTS` are those of the scorers."""
SCORE_TEXTS = ("answer", "explanation")
FIELDS = ("value", "scorer", *SCORE_TEXTS, *TEXTS)


def metadata_values(outputs: OutputSet) -> dict[str, Values]:
    """Return functions for the values of each column that the filter knows."""
    return {
        name: cache(partial(_distinct, values))
        for name, values in outputs.metadata.items()
        if name.lower() not in FIELDS
    }


def _distinct(values: Iterable[Any]) -> Sequence[str]:
    texts: dict[str, None] = {}
    for value in values:
        if value is not None:
            texts.setdefault(str(value))
        if len(texts) == LOOKED_THROUGH:
            break
    return tuple(texts)


def score_vocabulary(table: ScoreTable, metadata: Mapping[str, Values]) -> Vocabulary:
    """Return words, fields, and the values of scorers and of the file's columns."""

    def values() -> Sequence[str]:
        return tuple({value: None for column in table.columns for value, _ in column.counts})

    scorers = tuple(column.name for column in table.columns)
    return Vocabulary(
        [*WORDS, *(f"{name}:" for name in FIELDS if name not in ("value", "scorer"))],
        {},
        {"value": values, "scorer": lambda: scorers, **metadata},
    )


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The rows [N] to filter, and the scorers that a filter applies to."""

    table: ScoreTable
    columns: Sequence[ScoreColumn]

    def __len__(self) -> int:
        return len(self.table.outputs)

    def any(self, masks: Iterable[Mask]) -> Mask:
        """Return the rows that match any of these masks, bool [N]."""
        result = np.zeros(len(self), np.bool_)
        for mask in masks:
            result |= mask
        return result


_Test: TypeAlias = Callable[[ScoredRows], Mask]


@dataclass(frozen=True, slots=True)
class ScoreFilter:
    """A valid line; `scorers` are those it names, () for all."""

    rows: RowFilter[ScoredRows]
    scorers: tuple[str, ...]

    def mask(self, table: ScoreTable) -> Mask:
        """Return the rows that match every term, bool [N]."""
        columns = [
            column for column in table.columns if not self.scorers or column.name in self.scorers
        ]
        return self.rows.mask(ScoredRows(table, columns))


def parse_score_filter(
    line: str, scorers: Sequence[str] = (), columns: Sequence[str] = ()
) -> ScoreFilter:
    """Parse a line; `columns` are those of the file. Raises FilterError."""
    chosen: list[str] = []

    def choose(sign: str, value: str) -> _Test:
        names = [name for name in value.split(",") if name]
        if not names or not set(names) <= set(scorers):
            raise ValueError(f"scorer: one of {', '.join(scorers) or 'none yet'}")
        chosen.extend(names)
        return lambda rows: np.ones(len(rows), np.bool_)

    language = Language(
        _word,
        _within(None),
        (
            FilterField("value", _value, COMPARISONS),
            FilterField("scorer", choose, negatable=False),
            *(FilterField(name, _read_score_text(name)) for name in SCORE_TEXTS),
            *(FilterField(name, _read_text(name), marked=name == "output") for name in TEXTS),
            *(FilterField(name, _column(name)) for name in columns if name.lower() not in FIELDS),
        ),
    )
    rows = parse_line(line, language)
    return ScoreFilter(rows, tuple(chosen))


def _word(text: str) -> _Test | None:
    if text in VALUES:
        return _equal((VALUES[text],))
    return _differ if text == "differ" else None


def _value(sign: str, value: str) -> _Test:
    if sign in (":", "="):
        return _equal(tuple(value.split(",")))
    limit = _number(value)
    if limit is None:
        raise ValueError(f"value is compared with a number, not {value!r}")
    # A row without a number compares as false with everything.
    return lambda rows: rows.any(
        COMPARISONS[sign](column.numbers, limit) for column in rows.columns
    )


def _equal(wanted: tuple[str, ...]) -> _Test:
    numbers = [number for number in map(_number, wanted) if number is not None]

    def of(column: ScoreColumn) -> Mask:
        return column.texts.is_in(wanted).to_numpy() | np.isin(column.numbers, numbers)

    return lambda rows: rows.any(map(of, rows.columns))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _differ(rows: ScoredRows) -> Mask:
    """Return the rows on which two scorers that have reached them differ."""
    mask = np.zeros(len(rows), np.bool_)
    for index, column in enumerate(rows.columns):
        for other in rows.columns[index + 1 :]:
            both = ~np.isnan(column.numbers) & ~np.isnan(other.numbers)
            unequal = np.where(
                both, column.numbers != other.numbers, (column.texts != other.texts).to_numpy()
            )
            mask |= unequal & column.reached & other.reached
    return mask


def _within(name: str | None) -> Callable[[str], _Test]:
    """Return a test of a text of the file; None tests input, target and output."""

    def test_of(text: str) -> _Test:
        needle = text.lower()
        return lambda rows: (
            rows.table.lowered(name or "").str.contains(needle, literal=True).to_numpy()
        )

    return test_of


def _read_text(name: str) -> Callable[[str, str], _Test]:
    return lambda sign, value: _within(name)(value)


def _read_score_text(name: str) -> Callable[[str, str], _Test]:
    """Return a reader of terms for a scorer's answer or explanation."""

    def read(sign: str, value: str) -> _Test:
        needle = value.lower()

        def of(column: ScoreColumn) -> Mask:
            scores = column.run.result.scores
            mask = (needle in (getattr(score, name, None) or "").lower() for score in scores)
            return np.fromiter(mask, np.bool_, len(scores))

        return lambda rows: rows.any(map(of, rows.columns))

    return read


def _column(name: str) -> Callable[[str, str], _Test]:
    def read(sign: str, value: str) -> _Test:
        wanted = set(value.lower().split(","))

        def test(rows: ScoredRows) -> Mask:
            values = rows.table.outputs.metadata[name]
            mask = (str("" if value is None else value).lower() in wanted for value in values)
            return np.fromiter(mask, np.bool_, len(values))

        return test

    return read
