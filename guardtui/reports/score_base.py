"""Input of reports on scored outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from guardtui.files.output_files import OutputSet
from guardtui.scorer.registry import is_registered, registry_info
from guardtui.scorer.types import Score
from guardtui.session.score_run import NamedScorer, ScorerResult


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Content of a report on scores; `group` and `cluster` are names of columns.

    `models` are the grading models, `roles` those with a role. `found` of their answers were
    cached, `asked` were requested.
    """

    outputs: OutputSet
    results: Sequence[ScorerResult]
    group: str | None = None
    cluster: str | None = None
    models: Sequence[str] = ()
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: int = 0
    found: int = 0

    def rows(self) -> Iterator[tuple[int, ScorerResult, Score | None, str]]:
        """Yield row, scorer, score and error of every score, in the order of the file."""
        for row in range(len(self.outputs)):
            for result in self.results:
                scores = result.scores
                yield row, result, scores.scores[row], scores.errors.get(row, "")


def scorer_metadata(judge: NamedScorer) -> dict[str, Any]:
    """Return the other arguments of a scorer's decorator, as JSON values."""
    if not is_registered(judge.scorer):
        return {}
    metadata = registry_info(judge.scorer).metadata
    return {name: json_value(value) for name, value in metadata.items() if name != "metrics"}


def json_value(value: Any) -> Any:
    """Return a value as a JSON type: null for NaN, a text for infinities and unknown types.

    Objects with fields, such as the messages of a grader, become mappings of their fields.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): json_value(item_value) for key, item_value in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item_value) for item_value in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {item_value.name: getattr(value, item_value.name) for item_value in fields(value)}
        return json_value(
            {name: item_value for name, item_value in named.items() if item_value not in (None, [])}
        )
    dump = getattr(value, "model_dump", None)  # a pydantic model
    if callable(dump) and not isinstance(value, type):
        return json_value(dump())
    item = getattr(value, "item", None)  # a numpy number
    return json_value(item()) if callable(item) else str(value)
