"""Conversion of evaluations to columns of the session's file and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Usage, Verdicts
from guardtui.session.session import Decision, Iteration, Recorder


def settings_to_text(settings: ScannerSettings) -> str:
    """Return the settings of a scanner as stored."""
    return json.dumps(settings.to_json())


def read_settings(text: str) -> ScannerSettings:
    """Read stored settings. Raises ValueError, TypeError, AttributeError and RecursionError."""
    return ScannerSettings.from_json(json.loads(text))


def values_of(evaluation: Evaluation) -> dict[str, Any]:
    """Return the stored values of an evaluation by column, except topic and prompt set."""
    errors, notes, stopped_by = _texts_to_json(evaluation.verdicts)
    return {
        "scanner": settings_to_text(evaluation.settings),
        "columns": _pack(evaluation),
        "errors": errors,
        "notes": notes,
        "stopped_by": stopped_by,
        "judged": _pack_judged(evaluation.verdicts),
    }


COLUMNS = (
    "number, created, decision, topic, scanner, prompt_set, columns, errors, notes, stopped_by, "
    "judged, forecast, recorded_by, completions"
)
"""Names of the columns expected by `read_iteration`, in order."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """Reasons and cost of a judge; `epochs` has a text per epoch, with a sign per prompt."""

    reasons: dict[int, str] = field(default_factory=dict)
    used: Usage | None = None
    epochs: tuple[str, ...] = ()

    def answers(self, count: int) -> NDArray[np.int8] | None:
        """Return the answers of K epochs, int8 [K, count]; None without epochs.

        Raises ValueError unless every epoch has `count` answers.
        """
        if not self.epochs:
            return None
        if any(len(epoch) != count for epoch in self.epochs):
            raise ValueError("an epoch lacks the answer to a prompt")
        signs = np.frombuffer("".join(self.epochs).encode("ascii"), np.uint8)
        answers = np.full(signs.shape, Triggered.NO_VERDICT, np.int8)
        answers[signs == ord(".")] = Triggered.NOT_ASKED
        answers[signs == ord("0")] = Triggered.NO
        answers[signs == ord("1")] = Triggered.YES
        return answers.reshape(len(self.epochs), count)


_SIGNS = {
    Triggered.NOT_ASKED: ".",
    Triggered.NO_VERDICT: "-",
    Triggered.NO: "0",
    Triggered.YES: "1",
}

_NOT_ASKED = ("not scanned yet", "not scanned: its verdict was unlikely to change")
"""Errors of rows that were not requested, in files older than the value NOT_ASKED."""


def _pack_judged(verdicts: Verdicts) -> bytes:
    if not verdicts.reasons and verdicts.used is None and verdicts.repeats is None:
        return b""
    data: dict[str, Any] = {"reasons": {str(row): text for row, text in verdicts.reasons.items()}}
    if verdicts.used is not None:
        data["used"] = asdict(verdicts.used)
    if verdicts.repeats is not None:
        epochs = verdicts.repeats.tolist()
        data["epochs"] = ["".join(map(_SIGNS.__getitem__, epoch)) for epoch in epochs]
    return zlib.compress(json.dumps(data).encode(), 1)


def _read_judged(packed: bytes) -> _Judged:
    if not packed:
        return _Judged()
    data = json.loads(zlib.decompress(packed))
    return _Judged(
        {int(row): str(text) for row, text in data["reasons"].items()},
        Usage(**data["used"]) if "used" in data else None,
        tuple(map(str, data.get("epochs", ()))),
    )


def pack_forecast(forecast: ForecastBefore | None) -> bytes:
    """Pack a forecast made before a scan; b"" for None."""
    if forecast is None:
        return b""
    packed = {
        "rates": {name: rate and asdict(rate) for name, rate in forecast.rates.items()},
        "scans": forecast.scans,
        "verdicts": forecast.verdicts,
        "triggers": [round(float(chance), 4) for chance in forecast.triggers],
    }
    return zlib.compress(json.dumps(packed).encode(), 1)


def _read_forecast(packed: bytes, count: int) -> ForecastBefore | None:
    """Read a forecast of `count` prompts. Raises ValueError unless it has as many."""
    if not packed:
        return None
    data = json.loads(zlib.decompress(packed))
    triggers = np.array(data["triggers"], np.float32)
    if triggers.shape != (count,):
        raise ValueError("a forecast lacks the probability of a prompt")
    rates = {name: rate and RateEstimate(**rate) for name, rate in data["rates"].items()}
    return ForecastBefore(rates, int(data["scans"]), int(data["verdicts"]), triggers)


def _texts_to_json(verdicts: Verdicts) -> tuple[str, str, str]:
    """Return errors by row, and notes and topic names each with their rows, as JSON."""
    return (
        json.dumps({str(row): text for row, text in verdicts.errors.items()}),
        json.dumps(_rows_by(verdicts.notes), separators=(",", ":")),
        json.dumps(_rows_by(verdicts.stopped_by), separators=(",", ":")),
    )


def _rows_by(values: Mapping[int, Any]) -> list[tuple[Any, list[int]]]:
    rows: dict[Any, list[int]] = {}
    for row, value in values.items():
        rows.setdefault(value, []).append(row)
    return list(rows.items())


def _notes_of(text: str) -> dict[int, str]:
    notes = _by_row(text)
    if not all(isinstance(note, str) for note in notes.values()):
        raise ValueError("a note is not a string")
    return notes


def _stopped_by_of(text: str) -> dict[int, tuple[str, ...]]:
    topics = _by_row(text)
    for names in topics.values():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("a topic has no name")
    return {row: tuple(names) for row, names in topics.items()}


def _by_row(text: str) -> dict[int, Any]:
    """Return the value of each row, from JSON of values with the lists of their rows."""
    values: dict[int, Any] = {}
    for value, rows in json.loads(text):
        if not isinstance(rows, list) or not all(isinstance(row, int) for row in rows):
            raise ValueError("rows are not numbers")
        values.update(dict.fromkeys(rows, value))
    return values


_COLUMNS = (
    ("keys", "uint64", 8),
    ("expected", "bool", 1),
    ("triggered", "int8", 1),
    ("score", "float32", 4),
    ("matched", "int16", 2),
)
"""Name, type and bytes per value of each column, in the order of packing."""


def _pack(evaluation: Evaluation) -> bytes:
    """Return all columns of an evaluation, concatenated and compressed."""
    verdicts = evaluation.verdicts
    columns = (
        evaluation.keys,
        evaluation.expected,
        verdicts.triggered,
        verdicts.score,
        verdicts.matched,
    )
    packed = b"".join(
        np.ascontiguousarray(column, dtype=kind).tobytes()
        for column, (_, kind, _) in zip(columns, _COLUMNS, strict=True)
    )
    return len(evaluation.keys).to_bytes(8, "little") + zlib.compress(packed, 1)


def _read_columns(count: int, content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays ([count] each) of `_COLUMNS` by name; ValueError unless all fit."""
    if len(content) != count * sum(size for _, _, size in _COLUMNS):
        raise ValueError("the columns have another length")
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, kind, size in _COLUMNS:
        arrays[name] = np.frombuffer(content, kind, count, offset)
        offset += count * size
    return arrays


def pack_prompts(keys: NDArray[np.uint64], expected: NDArray[np.bool_]) -> bytes:
    """Return the keys and labels of prompts ([N] each), compressed."""
    return zlib.compress(keys.astype("<u8").tobytes() + expected.tobytes(), 1)


def read_prompts(packed: bytes) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the keys and labels of packed prompts. Raises ValueError, zlib.error."""
    content = zlib.decompress(packed)
    count, rest = divmod(len(content), 9)
    if rest:
        raise ValueError("the columns have another length")
    return (
        np.frombuffer(content, "<u8", count).astype(np.uint64),
        np.frombuffer(content, np.bool_, count, 8 * count),
    )


def _with_not_asked(
    triggered: NDArray[np.int8], errors: dict[int, str]
) -> tuple[NDArray[np.int8], dict[int, str]]:
    """Convert answers (int8 [N]) and errors of a record of any age to the current form."""
    rows = [row for row, reason in errors.items() if reason in _NOT_ASKED]
    if not rows:
        return triggered, errors
    triggered = triggered.copy()
    triggered[rows] = Triggered.NOT_ASKED
    return triggered, {row: text for row, text in errors.items() if text not in _NOT_ASKED}


def read_iteration(
    number: int,
    created: str,
    decision: str,
    topic: str,
    scanner: str,
    prompt_set: str,
    columns: bytes,
    errors: str,
    notes: str,
    stopped_by: str,
    judged: bytes,
    forecast: bytes,
    recorded_by: str,
    completions: int,
) -> Iteration:
    """Build an iteration from the values of `COLUMNS`.

    Raises ValueError and the like, RecursionError and zlib.error.
    """
    count = int.from_bytes(columns[:8], "little")
    arrays = _read_columns(count, zlib.decompress(columns[8:]))
    triggered, reasons = _with_not_asked(
        arrays["triggered"], {int(row): text for row, text in json.loads(errors).items()}
    )
    of_judge = _read_judged(judged)
    notes_by_row, topics_by_row = _notes_of(notes), _stopped_by_of(stopped_by)
    for rows in (reasons, notes_by_row, topics_by_row, of_judge.reasons):
        if any(not 0 <= row < count for row in rows):
            raise ValueError("a row is out of range")
    if not all(isinstance(text, str) for text in (created, prompt_set, *reasons.values())):
        raise ValueError("a text is missing")
    evaluation = Evaluation(
        topic=Topic.model_validate_json(topic),
        settings=read_settings(scanner),
        prompt_set=prompt_set,
        keys=arrays["keys"],
        expected=arrays["expected"],
        verdicts=Verdicts(
            triggered=triggered,
            score=arrays["score"],
            matched=arrays["matched"],
            errors=reasons,
            notes=notes_by_row,
            stopped_by=topics_by_row,
            reasons=of_judge.reasons,
            used=of_judge.used,
            repeats=of_judge.answers(count),
        ),
    )
    before = _read_forecast(forecast, count)
    return Iteration(
        number,
        created,
        Decision(decision),
        evaluation,
        before,
        Recorder(recorded_by),
        int(completions),
    )
