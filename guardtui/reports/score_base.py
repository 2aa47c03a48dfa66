"""What the reports on scored outputs are made from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from guardtui.files.output_files import OutputSet
from guardtui.scorer.types import Score
from guardtui.session.score_run import JudgeResult


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Everything a report on scores may tell; `group` and `cluster` are names of columns.

    `models` graded; `found` of their answers were known before and `asked` were asked for.
    """

    outputs: OutputSet
    results: Sequence[JudgeResult]
    group: str | None = None
    cluster: str | None = None
    models: Sequence[str] = ()
    asked: int = 0
    found: int = 0

    def rows(self) -> Iterator[tuple[int, JudgeResult, Score | None, str]]:
        """Row, judge, score and error of every score, in the order of the file."""
        for row in range(len(self.outputs)):
            for result in self.results:
                scores = result.scores
                yield row, result, scores.scores[row], scores.errors.get(row, "")


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: null for NaN, a text for infinities and what is unknown."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    item = getattr(value, "item", None)  # a number of numpy's
    return json_value(item()) if callable(item) else str(value)
