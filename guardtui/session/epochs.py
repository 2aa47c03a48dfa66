"""Repeated scans: several answers for a prompt made one by a reducer, and how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered, Usage, Verdicts, is_answered
from guardtui.scorer.types import Score, ScoreReducer, is_unscored, value_to_float

MOST_EPOCHS = 100
EVEN = "the epochs say as often yes as no"
NO_VALUE = "the reducer makes no verdict of the epochs"


@dataclass(frozen=True)
class Epochs:
    """How often each prompt is asked, and what makes one verdict of the answers.

    `name` is the reducer as the author wrote it (`mode`, `mean`, `at_least_2`, …).
    """

    count: int
    name: str
    reducer: ScoreReducer

    @classmethod
    def parse(cls, count: int, reducer: str = "mode") -> Epochs:
        """From what the author wrote. Raises ExpressionError, and ValueError for the count."""
        from guardtui.scorer import parse_reducer

        name = reducer.strip()
        if not 1 <= count <= MOST_EPOCHS:
            raise ValueError(f"{count} epochs: from 1 to {MOST_EPOCHS} are possible")
        return cls(count, name, parse_reducer(name))

    def combine(self, epochs: Sequence[Verdicts]) -> Verdicts:
        """One set of verdicts from those of the epochs, which are of the same N prompts.

        An answer is 1 for triggered and 0 for not; a row counts the epochs that answered. What the
        reducer gives is triggered above ½ and not below; at ½, or without a value, there is no
        verdict. `repeats` keeps all answers, `score` is the share that triggered where the scanner
        has no score of its own.
        """
        if len(epochs) == 1 and self.count == 1:
            return epochs[0]
        answers = np.stack([one.triggered for one in epochs])
        triggered = self._reduced(answers)
        last = epochs[-1]
        known = is_answered(answers)
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore"):
            share = ((answers == Triggered.YES).sum(axis=0) / count).astype(np.float32)
        score = np.where(np.isnan(epochs[0].score), share, epochs[0].score)
        errors: dict[int, str] = {}
        beyond_budget: set[int] = set()
        for row in np.flatnonzero(~is_answered(triggered)).tolist():
            if count[row]:
                yes = int((answers[:, row] == Triggered.YES).sum())
                errors[row] = f"{EVEN if 2 * yes == count[row] else NO_VALUE} ({yes}/{count[row]})"
            else:
                newest = next((one for one in reversed(epochs) if one.errors.get(row)), None)
                if newest is not None:
                    errors[row] = newest.errors[row]
                    beyond_budget |= newest.beyond_budget & {row}
        notes = _first(epochs, triggered, "notes")
        differing = (known & (answers != triggered)).any(axis=0)
        for row in np.flatnonzero(differing & is_answered(triggered)).tolist():
            yes = int((answers[:, row] == Triggered.YES).sum())
            told = f"triggered in {yes} of {count[row]} epochs"
            notes[row] = "; ".join(filter(None, (told, notes.get(row, ""))))
        used = [one.used for one in epochs if one.used is not None]
        return Verdicts(
            triggered=triggered,
            score=score,
            matched=last.matched,
            errors=errors,
            notes=notes,
            stopped_by=_first(epochs, triggered, "stopped_by"),
            reasons=_first(epochs, triggered, "reasons"),
            used=sum(used, Usage()) if used else None,
            repeats=answers,
            beyond_budget=frozenset(beyond_budget),
        )

    def _reduced(self, answers: NDArray[np.int8]) -> NDArray[np.int8]:
        """Answers int8 [K, N] reduced to int8 [N]; each pattern of answers is reduced once."""
        patterns, place = np.unique(answers, axis=1, return_inverse=True)
        reduced = [self._reduce(column) for column in patterns.T.tolist()]
        return np.array(reduced, np.int8)[np.ravel(place)]

    def _reduce(self, answers: Sequence[int]) -> int:
        given = [answer for answer in answers if answer >= Triggered.NO]
        if not given:
            return max(answers)  # one epoch that asked in vain is enough for NO_VERDICT
        value = self.reducer([Score(value=float(answer)) for answer in given]).value
        if is_unscored(value):
            return int(Triggered.NO_VERDICT)
        number = value_to_float()(value)
        if number == 0.5:
            return int(Triggered.NO_VERDICT)
        return int(Triggered.YES if number > 0.5 else Triggered.NO)


def _first(epochs: Sequence[Verdicts], triggered: NDArray[np.int8], name: str) -> dict[int, Any]:
    """What the first epoch told of a row that answered as was decided (int8 [N])."""
    told: dict[int, Any] = {}
    for one in epochs:
        agrees = one.triggered == triggered
        for row, value in getattr(one, name).items():
            if agrees[row]:
                told.setdefault(row, value)
    return told
