"""`precomputed_scores`: scores from a file, such as those that people gave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.metrics import accuracy, stderr
from guardtui.scorer.registry import RegistryInfo, qualified_name, register, tag
from guardtui.scorer.types import Score, Scorer

_Key: TypeAlias = tuple[str, int | None]


def precomputed_scores(
    scores: str,
    on_missing: Literal["unscored", "error"] = "unscored",
    metrics: MetricSet | None = None,
) -> Scorer:
    """Return the scores of a file: a JSON list of objects, or one object a line in `.jsonl`.

    Each has the `id` of a sample, a `value`, and optionally `epoch` (without one it is that of all
    epochs), `answer`, `explanation` and `metadata`. A sample without a score is declined, or with
    `on_missing="error"` raises ValueError. `metrics` are accuracy and stderr by default. Raises
    OSError and ValueError for a file that cannot be read.
    """
    if on_missing not in ("unscored", "error"):
        raise ValueError(f"on_missing is 'unscored' or 'error', not {on_missing!r}")
    known = _read(Path(scores))

    async def score(state: Any, target: Sequence[str]) -> Score | None:
        name = str(state.sample_id)
        found = known.get((name, state.epoch)) or known.get((name, None))
        if found is None and on_missing == "error":
            raise ValueError(f"{scores} has no score for id {name!r}, epoch {state.epoch}")
        return None if found is None else found.model_copy(deep=True)

    given: dict[str, Any] = {"scores": scores}
    if on_missing != "unscored":
        given["on_missing"] = on_missing
    if metrics is not None:
        given["metrics"] = metrics
    own = [accuracy(), stderr()] if metrics is None else metrics
    tag(precomputed_scores, score, RegistryInfo("scorer", _NAME, {"metrics": own}), (), given)
    return score


def _read(path: Path) -> dict[_Key, Score]:
    text = path.read_text("utf-8-sig")
    scores: dict[_Key, Score] = {}
    for location, record in _records(path, text):
        key, score = _score(location, record)
        if key in scores:
            raise ValueError(f"{location}: the id {key[0]!r} has a score already")
        scores[key] = score
    return scores


def _records(path: Path, text: str) -> list[tuple[str, Any]]:
    """Return the records, each with its location in messages."""
    if path.suffix.lower() == ".jsonl":
        lines = enumerate(text.split("\n"), start=1)
        return [
            (f"{path}:{number}", _loaded(f"{path}:{number}", line))
            for number, line in lines
            if line.strip()
        ]
    records = _loaded(str(path), text)
    if not isinstance(records, list):
        raise ValueError(f"{path}: not a list of scores: write [{{'id': …, 'value': …}}, …]")
    return [(f"{path}: score {number}", record) for number, record in enumerate(records, start=1)]


def _loaded(location: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{location}: not JSON: {error}") from error


def _score(location: str, record: Any) -> tuple[_Key, Score]:
    if not isinstance(record, dict):
        raise ValueError(f"{location}: not an object with id and value")
    for name in ("id", "value"):
        if name not in record:
            raise ValueError(f"{location}: no {name}")
    epoch = record.get("epoch")
    if epoch is not None and not isinstance(epoch, int):
        raise ValueError(f"{location}: the epoch is not a whole number but {epoch!r}")
    fields: dict[str, Any] = {
        name: record.get(name) for name in ("answer", "explanation", "metadata")
    }
    try:
        return (str(record["id"]), epoch), Score(value=record["value"], **fields)
    except ValueError as error:
        raise ValueError(f"{location}: not a score: {error}") from error


_NAME = qualified_name(precomputed_scores, None)
register(precomputed_scores, RegistryInfo("scorer", _NAME, {"metrics": []}))
