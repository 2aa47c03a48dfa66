"""Repeated scans: a reducer turns several answers per prompt into one."""

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
    """Number of requests per prompt, and the reducer that turns the answers into one.

    `name` is the reducer as written by the author (`mode`, `mean`, `at_least_2`, …).
    """

    count: int
    name: str
    reducer: ScoreReducer

    @classmethod
    def parse(cls, count: int, reducer: str = "mode") -> Epochs:
        """Parse the author's input. Raises ExpressionError, and ValueError for the count."""
        from guardtui.scorer import parse_reducer

        name = reducer.strip()
        if not 1 <= count <= MOST_EPOCHS:
            raise ValueError(f"{count} epochs: from 1 to {MOST_EPOCHS} are possible")
        return cls(count, name, parse_reducer(name))

    def combine(self, epochs: Sequence[Verdicts]) -> Verdicts:
        """Reduce the verdicts of several epochs on the same N prompts to one set.

        An answer counts 1 if triggered and 0 if not; only epochs with an answer count. A reduced
        value above ½ is triggered, below ½ not triggered; at ½, or without a value, there is no
        verdict. `repeats` holds all answers. `score` is the share of triggered answers unless the
        scanner has scores.
        """
        if len(epochs) == 1 and self.count == 1:
            return epochs[0]
        answers = np.stack([verdicts.triggered for verdicts in epochs])
        triggered = self._reduced(answers)
        last = epochs[-1]
        answered = is_answered(answers)
        count = answered.sum(axis=0)
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
                newest = next(
                    (verdicts for verdicts in reversed(epochs) if verdicts.errors.get(row)), None
                )
                if newest is not None:
                    errors[row] = newest.errors[row]
                    beyond_budget |= newest.beyond_budget & {row}
        notes = _first(epochs, triggered, "notes")
        differing = (answered & (answers != triggered)).any(axis=0)
        for row in np.flatnonzero(differing & is_answered(triggered)).tolist():
            yes = int((answers[:, row] == Triggered.YES).sum())
            summary = f"triggered in {yes} of {count[row]} epochs"
            notes[row] = "; ".join(filter(None, (summary, notes.get(row, ""))))
        used = [verdicts.used for verdicts in epochs if verdicts.used is not None]
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
        """Reduce answers int8 [K, N] to int8 [N]; each distinct pattern is reduced once."""
        patterns, inverse = np.unique(answers, axis=1, return_inverse=True)
        reduced = [self._reduce(column) for column in patterns.T.tolist()]
        return np.array(reduced, np.int8)[np.ravel(inverse)]

    def _reduce(self, answers: Sequence[int]) -> int:
        given = [answer for answer in answers if answer >= Triggered.NO]
        if not given:
            return max(answers)  # NO_VERDICT if any epoch requested it, else NOT_ASKED
        value = self.reducer([Score(value=float(answer)) for answer in given]).value
        if is_unscored(value):
            return int(Triggered.NO_VERDICT)
        number = value_to_float()(value)
        if number == 0.5:
            return int(Triggered.NO_VERDICT)
        return int(Triggered.YES if number > 0.5 else Triggered.NO)


def _first(epochs: Sequence[Verdicts], triggered: NDArray[np.int8], name: str) -> dict[int, Any]:
    """Return the texts of the first epoch whose answer is the final one (int8 [N]), by row."""
    texts: dict[int, Any] = {}
    for verdicts in epochs:
        agrees = verdicts.triggered == triggered
        for row, value in getattr(verdicts, name).items():
            if agrees[row]:
                texts.setdefault(row, value)
    return texts
