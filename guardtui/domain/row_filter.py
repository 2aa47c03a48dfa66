"""The filter language: which prompts of an evaluation to look at, in a line of words.

    fn category:euphemism score>0.4 "exact words" -regression

Terms stand side by side and all must hold; a minus in front turns one round. Plain words and texts
in quotes are found in the prompt, in any case. Words with a meaning (`fn`, `regression`, …) are
searched for as text when they stand in quotes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.profile import rows_stopped
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Outcome, is_correct, is_wrong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

Mask: TypeAlias = "NDArray[np.bool_]"

OUTCOMES: Mapping[str, Outcome] = {
    "tp": Outcome.TP,
    "tn": Outcome.TN,
    "fp": Outcome.FP,
    "fn": Outcome.FN,
    "error": Outcome.ERROR,
    "open": Outcome.OPEN,
}
"""Words for outcomes, now (`fn`) and in the baseline (`was:fn`)."""

CHANGES: Mapping[str, Change] = {
    "regression": Change.REGRESSION,
    "fix": Change.FIX,
    "added": Change.ADDED,
    "relabelled": Change.RELABELLED,
}
"""Words for what became of a prompt since the baseline."""

WORDS = (*OUTCOMES, "mistake", "right", *CHANGES, "flaky", "all")
"""Words with a meaning of their own; the plural does as well. Epochs of `flaky` rows differ."""

FIELDS = ("score", "line", "match", "was", "expected", "stopped")
"""Fields besides the prompt set's own columns. `match` is 0 for the description."""

_PLURALS = {f"{word}s": word for word in WORDS} | {"fixes": "fix"}

_COMPARISONS: Mapping[str, Callable[[NDArray[np.generic], float], Mask]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    ":": operator.eq,
}

_TERM = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s":<>=]+)(?P<sign>>=|<=|[><=:]))?'
    r'(?:"(?P<quoted>[^"]*)(?:"|$)|(?P<plain>[^\s"]*))'
)


class FilterError(ValueError):
    """A term that cannot be understood: it stands at `start` to `end` of the line."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a filter is applied to; all columns have shape [N]."""

    prompts: PromptSet
    evaluation: Evaluation
    comparison: Comparison | None = None


_Test = Callable[[Rows], Mask]


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter that was understood. `texts` are those the prompts shown must hold, for marking."""

    tests: tuple[_Test, ...]
    texts: tuple[str, ...]

    def mask(self, rows: Rows) -> Mask:
        """Which rows pass, bool [N]."""
        result = np.ones(len(rows.evaluation.keys), bool)
        for test in self.tests:
            result &= test(rows)
        return result


def parse_filter(line: str, columns: tuple[str, ...] = ()) -> RowFilter:
    """Understand a line; `columns` are the prompt set's own. Raises `FilterError`."""
    tests: list[_Test] = []
    texts: list[str] = []
    place = 0
    while place < len(line):
        if line[place].isspace():
            place += 1
            continue
        term = _TERM.match(line, place)
        if term is None or not (term["plain"] or term["field"] or term["quoted"] is not None):
            raise FilterError("nothing follows the minus", place, place + 1)
        test, text = _test_of(term, columns)
        tests.append(_opposite(test) if term["minus"] else test)
        if text and not term["minus"]:
            texts.append(text)
        place = term.end()
    return RowFilter(tuple(tests), tuple(texts))


def _opposite(test: _Test) -> _Test:
    return lambda rows: ~test(rows)


def _test_of(term: re.Match[str], columns: tuple[str, ...]) -> tuple[_Test, str]:
    value = term["quoted"] if term["quoted"] is not None else term["plain"]
    field, sign = term["field"], term["sign"]
    if field is None:
        word = _PLURALS.get(value.lower(), value.lower())
        if term["quoted"] is None and word in WORDS:
            return _word(word), ""
        return _holds(value), value
    name = field.lower()
    own = next((column for column in columns if column.lower() == name), None)
    if name not in FIELDS and own is None:
        if sign == ":" and not value:
            raise FilterError("nothing follows the colon", term.start(), term.end())
        if sign == ":" and "//" in value:  # an address in a prompt, and no field
            return _holds(f"{field}{sign}{value}"), f"{field}{sign}{value}"
        fields = (*FIELDS, *columns)
        near = get_close_matches(name, [one.lower() for one in fields], n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        message = f"no field {field}: {meant}there are {', '.join(fields)}; quotes make it a text"
        raise FilterError(message, term.start(), term.end())
    if not value:
        raise FilterError(f"nothing follows {sign}", term.start(), term.end())
    if own is not None:
        return _column(own, sign, value, term), ""
    return _field(name, sign, value, term), ""


def _word(word: str) -> _Test:
    if word in OUTCOMES:
        outcome = int(OUTCOMES[word])
        return lambda rows: rows.evaluation.codes == outcome
    if word in CHANGES:
        change = int(CHANGES[word])
        return lambda rows: _changes(rows) == change
    if word == "mistake":
        return lambda rows: is_wrong(rows.evaluation.codes)
    if word == "right":
        return lambda rows: is_correct(rows.evaluation.codes)
    if word == "flaky":
        return lambda rows: rows.evaluation.verdicts.flaky
    return lambda rows: np.ones(len(rows.evaluation.keys), bool)


def _changes(rows: Rows) -> NDArray[np.int8]:
    if rows.comparison is None:
        return np.zeros(len(rows.evaluation.keys), np.int8)
    return rows.comparison.changes


def _holds(text: str) -> _Test:
    wanted = text.lower()

    def test(rows: Rows) -> Mask:
        return rows.prompts.lower_prompts.str.contains(wanted, literal=True).to_numpy()

    return test


def _column(name: str, sign: str, value: str, term: re.Match[str]) -> _Test:
    if sign not in (":", "="):
        raise FilterError(f"{name} is compared with : only", term.start(), term.end())
    wanted = {part.strip().lower() for part in value.split(",")}

    def test(rows: Rows) -> Mask:
        groups, names = rows.prompts.groups(name)
        codes = [code for code, known in enumerate(names) if known.lower() in wanted]
        return np.isin(groups, codes)

    return test


def _field(name: str, sign: str, value: str, term: re.Match[str]) -> _Test:
    def wrong(message: str) -> FilterError:
        return FilterError(message, term.start(), term.end())

    if name in ("was", "expected", "stopped"):
        if sign not in (":", "="):
            raise wrong(f"{name} is compared with : only")
        if name == "was":
            outcome = OUTCOMES.get(_PLURALS.get(value.lower(), value.lower()))
            if outcome is None:
                raise wrong(f"was: one of {', '.join(OUTCOMES)}")
            return lambda rows: _before(rows) == int(outcome)
        if name == "stopped":
            wanted = value.lower()
            return lambda rows: rows_stopped(
                rows.evaluation.verdicts, lambda topic: wanted in topic.lower()
            )
        if value.lower() not in ("true", "false", "yes", "no"):
            raise wrong("expected: true or false")
        label = value.lower() in ("true", "yes")
        return lambda rows: rows.evaluation.expected == label
    if name == "match" and value.lower().startswith("desc"):
        value = "0"
    try:
        number = float(value)
    except ValueError:
        raise wrong(f"{name} is compared with a number, not {value!r}") from None
    compared = _COMPARISONS[sign]
    if name == "score":
        # An edge of a score as it is shown must do what its reader expects.
        return lambda rows: compared(rows.evaluation.verdicts.score, float(np.float32(number)))
    if name == "match":
        return lambda rows: compared(rows.evaluation.verdicts.matched, number)
    return lambda rows: compared(rows.prompts.frame["line"].to_numpy(), number)


def _before(rows: Rows) -> NDArray[np.int8]:
    if rows.comparison is None:
        return np.full(len(rows.evaluation.keys), -1, np.int8)
    return rows.comparison.before
