"""The filter language over prompts: which rows of an evaluation to show.

    fn category:euphemism score>0.4 "exact words" -regression

All terms must hold; a leading minus negates a term. Plain words and quoted text are searched as
text, ignoring case; in quotes, words and fields have no special meaning.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.profile import rows_stopped
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import nearest
from guardtui.domain.verdicts import Outcome, is_correct, is_wrong

OUTCOMES: Mapping[str, Outcome] = {
    "tp": Outcome.TP,
    "tn": Outcome.TN,
    "fp": Outcome.FP,
    "fn": Outcome.FN,
    "error": Outcome.ERROR,
    "open": Outcome.OPEN,
}
"""Words for outcomes, of the current evaluation (`fn`) and of the baseline (`was:fn`)."""

CHANGES: Mapping[str, Change] = {
    "regression": Change.REGRESSION,
    "fix": Change.FIX,
    "added": Change.ADDED,
    "relabelled": Change.RELABELLED,
}
"""Words for the change of a prompt since the baseline."""

WORDS = (*OUTCOMES, "mistake", "right", *CHANGES, "flaky", "suspect", "confirmed", "all")
"""Words with a special meaning, also in the plural.

`flaky`: epochs differ; `suspect`: independent guardrails contradict the label; `confirmed`: the
author said that the label is right.
"""

Mask: TypeAlias = NDArray[np.bool_]

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
"""Operators of all other fields."""

_PLURALS = {f"{word}s": word for word in WORDS} | {"fixes": "fix"}
_TERM = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?'
    r'(?:"(?P<quoted>[^"]*)(?:"|$)|(?P<plain>[^\s"]*))'
)


class FilterError(GuardtuiError, ValueError):
    """A term that cannot be understood, from `start` to `end` of the line."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(message)


class KnowsLabels(Protocol):
    """Doubtful and confirmed labels, bool [N] each; reading them may take a while."""

    @property
    def suspect(self) -> Mask: ...

    @property
    def confirmed(self) -> Mask: ...


@dataclass(frozen=True, slots=True)
class FilterRows:
    """The rows that a filter is applied to; all columns have shape [N].

    `labels` knows which labels are in doubt, and which are confirmed.
    """

    prompts: PromptSet
    evaluation: Evaluation
    comparison: Comparison | None = None
    labels: KnowsLabels | None = None

    def __len__(self) -> int:
        return len(self.evaluation.keys)

    @property
    def changes(self) -> NDArray[np.int8]:
        """Changes since the baseline; all 0 without one."""
        return np.zeros(len(self), np.int8) if self.comparison is None else self.comparison.changes

    @property
    def before(self) -> NDArray[np.int8]:
        """Outcomes of the baseline; all -1 without one."""
        nothing = np.full(len(self), -1, np.int8)
        return nothing if self.comparison is None else self.comparison.before


_Test: TypeAlias = Callable[[FilterRows], Mask]
"""Returns which rows pass, bool [N]."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A parsed line. `texts` are the texts that matching rows contain, for highlighting."""

    tests: tuple[_Test, ...]
    texts: tuple[str, ...]

    def mask(self, rows: FilterRows) -> Mask:
        """Return which rows pass, bool [N]."""
        result = np.ones(len(rows), bool)
        for test in self.tests:
            result &= test(rows)
        return result


def parse_filter(line: str, columns: tuple[str, ...] = ()) -> RowFilter:
    """Parse a line; `columns` are the prompt set's own. Raises `FilterError`."""
    tests: list[_Test] = []
    texts: list[str] = []
    for term in _terms(line):
        test, text = _test_of(term, columns)
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


def _negated(test: _Test) -> _Test:
    return lambda rows: ~test(rows)


def _test_of(term: re.Match[str], columns: tuple[str, ...]) -> tuple[_Test, str]:
    """Return the test of a term and the text it searches for, or ""."""
    value = term["quoted"] if term["quoted"] is not None else term["plain"]
    name, sign = term["field"], term["sign"]
    if name is None:
        test = _word(value) if term["quoted"] is None else None
        return (_holds(value), value) if test is None else (test, "")

    def problem(message: str) -> FilterError:
        return FilterError(message, term.start(), term.end())

    # A prompt set's own columns take precedence over our fields, and the exact case over others.
    same = [column for column in columns if column.lower() == name.lower()]
    field = next((field for field in FIELDS if field.lower() == name.lower()), None)
    if same:
        field = name if name in same else same[0]
    if field is None:
        if sign == ":" and not value:
            raise problem("nothing follows the colon")
        if sign == ":" and "//" in value:  # a URL, not a field
            return _holds(f"{name}{sign}{value}"), f"{name}{sign}{value}"
        raise problem(_unknown(name, columns))
    if not value:
        raise problem(f"nothing follows {sign}")
    if sign not in _EQUAL and (same or field not in _NUMBERS):
        raise problem(f"{field} is compared with : only")
    try:
        if same:
            return _column(field, value), ""
        if field in _NUMBERS:
            return _compared(field, sign, value), ""
        return _FIELDS[field](value), ""
    except ValueError as error:
        raise problem(str(error)) from None


def _unknown(name: str, columns: tuple[str, ...]) -> str:
    own = {column.lower() for column in columns}
    names = list(dict.fromkeys([*(field for field in FIELDS if field not in own), *columns]))
    near = nearest(name.lower(), [field.lower() for field in names])
    suggestion = f"did you mean {near}? " if near else ""
    return f"no field {name}: {suggestion}there are {', '.join(names)}; quotes make it a text"


# --- words and texts ------------------------------------------------------------------------------


def _word(text: str) -> _Test | None:
    word = _PLURALS.get(text.lower(), text.lower())
    if word in OUTCOMES:
        outcome = int(OUTCOMES[word])
        return lambda rows: rows.evaluation.codes == outcome
    if word in CHANGES:
        change = int(CHANGES[word])
        return lambda rows: rows.changes == change
    return _TESTS.get(word)


def _nothing(rows: FilterRows) -> Mask:
    return np.zeros(len(rows), bool)


_TESTS: Mapping[str, _Test] = {
    "mistake": lambda rows: is_wrong(rows.evaluation.codes),
    "right": lambda rows: is_correct(rows.evaluation.codes),
    "flaky": lambda rows: rows.evaluation.verdicts.flaky,
    "suspect": lambda rows: _nothing(rows) if rows.labels is None else rows.labels.suspect,
    "confirmed": lambda rows: _nothing(rows) if rows.labels is None else rows.labels.confirmed,
    "all": lambda rows: np.ones(len(rows), bool),
}


def _holds(text: str) -> _Test:
    wanted = text.lower()
    return lambda rows: rows.prompts.lower_prompts.str.contains(wanted, literal=True).to_numpy()


# --- fields ---------------------------------------------------------------------------------------


def _column(name: str, value: str) -> _Test:
    wanted = {part.strip().lower() for part in value.split(",")}

    def test(rows: FilterRows) -> Mask:
        groups, names = rows.prompts.groups(name)
        codes = [code for code, group in enumerate(names) if group.lower() in wanted]
        return np.isin(groups, codes)

    return test


_NUMBERS: Mapping[str, Callable[[FilterRows], NDArray[np.generic]]] = {
    "score": lambda rows: rows.evaluation.verdicts.score,
    "line": lambda rows: rows.prompts.frame["line"].to_numpy(),
    "nearest": lambda rows: rows.evaluation.verdicts.matched,
}


def _compared(field: str, sign: str, value: str) -> _Test:
    if field == "nearest" and value.lower().startswith("desc"):
        value = "0"
    try:
        limit = float(value)
    except ValueError:
        raise ValueError(f"{field} is compared with a number, not {value!r}") from None
    if field == "score":
        # Scores are float32: without rounding the limit, score>=0.7 would miss a score of 0.7.
        limit = float(np.float32(limit))
    return lambda rows: COMPARISONS[sign](_NUMBERS[field](rows), limit)


def _was(value: str) -> _Test:
    outcome = OUTCOMES.get(_PLURALS.get(value.lower(), value.lower()))
    if outcome is None:
        raise ValueError(f"was: one of {', '.join(OUTCOMES)}")
    return lambda rows: rows.before == int(outcome)


def _expected(value: str) -> _Test:
    if value.lower() not in ("true", "false", "yes", "no"):
        raise ValueError("expected: true or false")
    label = value.lower() in ("true", "yes")
    return lambda rows: rows.evaluation.expected == label


def _stopped(value: str) -> _Test:
    wanted = value.lower()
    return lambda rows: rows_stopped(
        rows.evaluation.verdicts, lambda topic: wanted in topic.lower()
    )


_FIELDS: Mapping[str, Callable[[str], _Test]] = {
    "was": _was,
    "expected": _expected,
    "stopped": _stopped,
}

FIELDS = (*_NUMBERS, *_FIELDS)
"""Fields besides the prompt set's own columns. `match` is 0 for the description."""
