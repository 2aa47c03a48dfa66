"""Evaluations read from JSON reports, and the topics with a session in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.prompts import prompt_keys
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Triggered, Verdicts
from guardtui.files.problems import FileError, read_bytes
from guardtui.session.session_file import FILE, FOLDER, SessionFile, followed

_Value = TypeVar("_Value")

SCHEMA_VERSION = 1
"""Version of all JSON that guardtui writes, and of the reports that can be read."""


class RecordedError(GuardtuiError):
    """A recorded evaluation that cannot be used; the message names the file and the remedy."""

    exit_code = 2


def read_document(path: Path) -> Any:
    """Return the content of a JSON file. Raises `RecordedError`, with the line of invalid JSON."""
    try:
        return json.loads(read_bytes(path, pipes=True))
    except FileError as error:
        raise RecordedError(
            f"{error.path}: {error.problem}\n"
            "  give a JSON report, the number of an iteration, or 'last'"
        ) from error
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise RecordedError(f"{path}{line}: is not JSON\n  {_REMEDY}") from error


def evaluation_of_document(path: Path, document: Any) -> Evaluation:
    """Return the evaluation in a report that was read from `path`. Raises `RecordedError`."""
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version is None:
        raise RecordedError(f"{path}: not a report of guardtui\n  {_REMEDY}")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise RecordedError(
            f"{path}: has schema_version {version!s:.20}, this guardtui reads {SCHEMA_VERSION}\n"
            f"  {_REMEDY}"
        )
    results = document.get("results")
    rows = results if isinstance(results, list) else []
    if any(isinstance(row, dict) and row.get("prompt", "") is None for row in rows):
        raise RecordedError(
            f"{path}: lacks the texts of its prompts\n"
            "  write it again where the prompt file of its session can be read"
        )
    try:
        return _evaluation(document)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise RecordedError(
            f"{path}: is damaged or was edited ({type(error).__name__})\n  {_REMEDY}"
        ) from error


_REMEDY = "make one with 'guardtui eval TOPIC --prompts FILE --format json --output FILE'"


def _evaluation(document: Mapping[str, Any]) -> Evaluation:
    results = document["results"]
    if not isinstance(results, list) or not results:
        raise ValueError("the results are missing")
    prompts = [result["prompt"] for result in results]
    if not all(isinstance(prompt, str) for prompt in prompts):
        raise ValueError("prompts are missing")
    topic = Topic.model_validate(document["definition"])
    keys = prompt_keys(prompts)
    labels = [result["expected_label"] for result in results]
    if not all(isinstance(label, bool) for label in labels):
        raise ValueError("labels are not true or false")
    scores = [_share(result["score"]) for result in results]
    verdicts = Verdicts(
        np.array([_answer(result) for result in results], np.int8),
        np.array([np.nan if score is None else score for score in scores], np.float32),
        np.array([_matched(result["matched"], topic) for result in results], np.int16),
        # Missing where empty.
        _by_row(results, "error", _text),
        _by_row(results, "note", _text),
        _by_row(results, "stopped_by", _names),
    )
    parts = dict(document["guardrail"])
    settings = ScannerSettings(
        revision=_text(parts.pop("revision")),
        is_forecast=parts.pop("forecast", False) is True,
        guardrail=Guardrail.from_json(parts),
        threshold=_share(document["threshold"]),
        threshold_source=_text(document["threshold_source"]),
    )
    return Evaluation(
        topic,
        settings,
        _text(document["prompt_set_fingerprint"]),
        keys,
        np.array(labels, np.bool_),
        verdicts,
    )


def _answer(result: Mapping[str, Any]) -> int:
    """Return the verdict of a row, as in `Verdicts.triggered`."""
    answer = result["triggered"]
    if answer is None:
        is_open = result.get("outcome") == Outcome.OPEN.name
        return Triggered.NOT_ASKED if is_open else Triggered.NO_VERDICT
    if not isinstance(answer, bool):
        raise ValueError("a verdict is not true, false or null")
    return int(answer)


def _by_row(
    results: list[dict[str, Any]], key: str, read: Callable[[object], _Value]
) -> dict[int, _Value]:
    """Return the values of rows that have this key, by row."""
    return {row: read(result[key]) for row, result in enumerate(results) if key in result}


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("not a list of names")
    return tuple(map(_text, value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _share(value: object) -> float | None:
    """Return a score or threshold: a number from 0 to 1, or None."""
    if value is None:
        return None
    # Excludes nan, and True, which Python treats as 1.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("not a number from 0 to 1")
    return float(value)


def _matched(part: object, topic: Topic) -> int:
    """Return the code of a matched part, as in `Verdicts.matched`."""
    if part is None:
        return -1
    names = ["description", *(f"example {k}" for k in range(1, len(topic.examples) + 1))]
    return names.index(_text(part))


def has_iterations(topic: Path) -> bool:
    """Return whether a topic file has iterations, without creating a session. Raises StoreError."""
    file = followed(topic)
    return file.name in recorded_topics(file.parent)


def recorded_topics(folder: Path) -> list[str]:
    """Return names of the topic files in `folder` that have iterations, last used first.

    Raises StoreError.
    """
    if not (folder / FOLDER / FILE).is_file():
        return []
    with SessionFile(folder, reading=True).connection() as database:
        rows = database.execute(
            "SELECT topic_file FROM session WHERE EXISTS "
            "(SELECT 1 FROM iteration WHERE session = session.id) ORDER BY used DESC, id DESC"
        ).fetchall()
    return [str(name) for (name,) in rows]
