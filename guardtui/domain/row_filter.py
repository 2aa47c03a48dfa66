"""The filter language over prompts: which rows of an evaluation to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.filter_language import (
    COMPARISONS,
    FilterField,
    Language,
    Mask,
    RowFilter,
    parse_line,
)
from guardtui.domain.profile import rows_stopped
from guardtui.domain.prompts import PromptSet
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

FIELDS = ("score", "line", "match", "was", "expected", "stopped")
"""Fields besides the prompt set's own columns. `match` is 0 for the description."""

_PLURALS = {f"{word}s": word for word in WORDS} | {"fixes": "fix"}


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


_Test: TypeAlias = Callable[[FilterRows], Mask]


def parse_filter(line: str, columns: tuple[str, ...] = ()) -> RowFilter[FilterRows]:
    """Parse a line; `columns` are the prompt set's own. Raises `FilterError`."""
    return parse_line(line, _language(columns))


def _language(columns: tuple[str, ...]) -> Language[FilterRows]:
    """Return the language; a prompt set's own columns take precedence over our fields."""
    own = {column.lower() for column in columns}
    ours = (
        FilterField("score", _score, COMPARISONS),
        FilterField("line", _line, COMPARISONS),
        FilterField("match", _match, COMPARISONS),
        FilterField("was", _was),
        FilterField("expected", _expected),
        FilterField("stopped", _stopped),
    )
    return Language(
        _word,
        _holds,
        (
            *(field for field in ours if field.name not in own),
            *(FilterField(column, _column(column)) for column in columns),
        ),
    )


def _word(text: str) -> _Test | None:
    word = _PLURALS.get(text.lower(), text.lower())
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
    if word == "suspect":
        return lambda rows: _no_rows(rows) if rows.labels is None else rows.labels.suspect
    if word == "confirmed":
        return lambda rows: _no_rows(rows) if rows.labels is None else rows.labels.confirmed
    if word == "all":
        return lambda rows: np.ones(len(rows), bool)
    return None


def _no_rows(rows: FilterRows) -> Mask:
    return np.zeros(len(rows), bool)


def _changes(rows: FilterRows) -> NDArray[np.int8]:
    if rows.comparison is None:
        return np.zeros(len(rows), np.int8)
    return rows.comparison.changes


def _holds(text: str) -> _Test:
    wanted = text.lower()

    def test(rows: FilterRows) -> Mask:
        return rows.prompts.lower_prompts.str.contains(wanted, literal=True).to_numpy()

    return test


def _column(name: str) -> Callable[[str, str], _Test]:
    def read(sign: str, value: str) -> _Test:
        wanted = {part.strip().lower() for part in value.split(",")}

        def test(rows: FilterRows) -> Mask:
            groups, names = rows.prompts.groups(name)
            codes = [code for code, group in enumerate(names) if group.lower() in wanted]
            return np.isin(groups, codes)

        return test

    return read


def _score(sign: str, value: str) -> _Test:
    # Scores are float32: without rounding the limit, score>=0.7 would miss a score of 0.7.
    limit = float(np.float32(_number("score", value)))
    return lambda rows: COMPARISONS[sign](rows.evaluation.verdicts.score, limit)


def _line(sign: str, value: str) -> _Test:
    limit = _number("line", value)
    return lambda rows: COMPARISONS[sign](rows.prompts.frame["line"].to_numpy(), limit)


def _match(sign: str, value: str) -> _Test:
    part = 0.0 if value.lower().startswith("desc") else _number("match", value)
    return lambda rows: COMPARISONS[sign](rows.evaluation.verdicts.matched, part)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} is compared with a number, not {value!r}") from None


def _was(sign: str, value: str) -> _Test:
    outcome = OUTCOMES.get(_PLURALS.get(value.lower(), value.lower()))
    if outcome is None:
        raise ValueError(f"was: one of {', '.join(OUTCOMES)}")
    return lambda rows: _before(rows) == int(outcome)


def _expected(sign: str, value: str) -> _Test:
    if value.lower() not in ("true", "false", "yes", "no"):
        raise ValueError("expected: true or false")
    label = value.lower() in ("true", "yes")
    return lambda rows: rows.evaluation.expected == label


def _stopped(sign: str, value: str) -> _Test:
    wanted = value.lower()
    return lambda rows: rows_stopped(
        rows.evaluation.verdicts, lambda topic: wanted in topic.lower()
    )


def _before(rows: FilterRows) -> NDArray[np.int8]:
    if rows.comparison is None:
        return np.full(len(rows), -1, np.int8)
    return rows.comparison.before
