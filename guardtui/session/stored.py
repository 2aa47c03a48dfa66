"""How an evaluation is packed into the columns of the session's file, and read again when asked."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.late import late
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Usage, Verdicts
from guardtui.session.session import Decision, Iteration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

_Value = TypeVar("_Value")
_Rows: TypeAlias = list[tuple[_Value, list[int]]]
"""Values, each with the rows that it holds for."""


def _settings_to_json(settings: ScannerSettings) -> dict[str, Any]:
    return {
        "name": settings.name,
        "identity": settings.identity,
        "threshold": settings.threshold,
        "threshold_source": settings.threshold_source,
        "revision": settings.revision,
    }


def values_of(evaluation: Evaluation) -> dict[str, Any]:
    """What is kept of an evaluation besides topic and prompt set, by the name of its column."""
    errors, notes, stopped_by = _texts_to_json(evaluation.verdicts)
    return {
        "scanner": json.dumps(_settings_to_json(evaluation.settings)),
        "columns": _pack(evaluation),
        "errors": errors,
        "notes": notes,
        "stopped_by": stopped_by,
        "judged": _pack_judged(evaluation.verdicts),
    }


COLUMNS = (
    "number, created, decision, topic, scanner, prompt_set, columns, errors, notes, stopped_by, "
    "judged"
)
"""Names of the columns that `read_iteration` takes, in their order."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a judge said and cost; `epochs` has a text for each, a sign for each prompt."""

    reasons: dict[int, str] = field(default_factory=dict)
    used: Usage | None = None
    epochs: tuple[str, ...] = ()

    def answers(self, count: int) -> NDArray[np.int8] | None:
        """The answers of the epochs, int8 [K, count]; None where there was no repetition."""
        if not self.epochs:
            return None
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
"""What stood among the errors of rows that were not asked, before that was a verdict's value."""


def _pack_judged(verdicts: Verdicts) -> bytes:
    if not verdicts.reasons and verdicts.used is None and verdicts.repeats is None:
        return b""
    told: dict[str, Any] = {"reasons": {str(row): text for row, text in verdicts.reasons.items()}}
    if verdicts.used is not None:
        told["used"] = asdict(verdicts.used)
    if verdicts.repeats is not None:
        epochs = verdicts.repeats.tolist()
        told["epochs"] = ["".join(map(_SIGNS.__getitem__, one)) for one in epochs]
    return zlib.compress(json.dumps(told).encode(), 1)


def _read_judged(packed: bytes) -> _Judged:
    if not packed:
        return _Judged()
    told = json.loads(zlib.decompress(packed))
    return _Judged(
        {int(row): str(text) for row, text in told["reasons"].items()},
        Usage(**told["used"]) if "used" in told else None,
        tuple(map(str, told.get("epochs", ()))),
    )


def _texts_to_json(verdicts: Verdicts) -> tuple[str, str, str]:
    """Errors by row; notes and the names of topics each with the rows that they hold for."""
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


def _notes_of(text: str) -> _Rows[str]:
    found = _groups(text)
    if not all(isinstance(note, str) for note, _ in found):
        raise ValueError("a note is no text")
    return found


def _stopped_by_of(text: str) -> _Rows[tuple[str, ...]]:
    found = _groups(text)
    for names, _ in found:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("a topic has no name")
    return [(tuple(names), rows) for names, rows in found]


def _groups(text: str) -> list[tuple[Any, list[int]]]:
    found = []
    for value, rows in json.loads(text):
        if not isinstance(rows, list) or not all(isinstance(row, int) for row in rows):
            raise ValueError("rows are no numbers")
        found.append((value, rows))
    return found


def _by_row(groups: _Rows[_Value]) -> dict[int, _Value]:
    return {row: value for value, rows in groups for row in rows}


_COLUMNS = (
    ("keys", "uint64", 8),
    ("expected", "bool", 1),
    ("triggered", "int8", 1),
    ("score", "float32", 4),
    ("matched", "int16", 2),
)
"""Name, type and bytes of a value of each column, in the order in which they are packed."""


def _pack(evaluation: Evaluation) -> bytes:
    """All columns of an evaluation, one after the other, compressed."""
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


class StoredEvaluation(Evaluation):
    """An evaluation as it was recorded; its columns are made when they are first asked for.

    The first screen then need not wait for numpy. That they are complete is known before.
    """

    @classmethod
    def of(
        cls,
        topic: Topic,
        settings: ScannerSettings,
        prompt_set: str,
        count: int,
        content: bytes,
        errors: dict[int, str],
        notes: _Rows[str],
        stopped_by: _Rows[tuple[str, ...]],
        judged: _Judged,
    ) -> StoredEvaluation:
        """From columns of `count` rows each; raises ValueError when there are fewer bytes."""
        if len(content) < count * sum(size for _, _, size in _COLUMNS):
            raise ValueError("the columns are too short")
        if any(len(epoch) != count for epoch in judged.epochs):
            raise ValueError("an epoch has not an answer for every prompt")
        made = cls.__new__(cls)
        made.__dict__.update(topic=topic, settings=settings, prompt_set=prompt_set)
        texts = errors, notes, stopped_by
        made.__dict__.update(_packed=(count, content), _texts=texts, _judged=judged)
        return made

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there yet.
        if name not in ("keys", "expected", "verdicts"):
            raise AttributeError(name)
        count, content = self.__dict__["_packed"]
        errors, notes, stopped_by = self.__dict__["_texts"]
        arrays: dict[str, Any] = {}
        offset = 0
        for column, kind, size in _COLUMNS:
            arrays[column] = np.frombuffer(content, kind, count, offset)
            offset += count * size
        keys, expected = arrays.pop("keys"), arrays.pop("expected")
        # Two threads may both come here: what came first stays.
        self.__dict__.setdefault("keys", keys)
        self.__dict__.setdefault("expected", expected)
        judged: _Judged = self.__dict__["_judged"]
        arrays["triggered"], errors = with_not_asked(arrays["triggered"], errors)
        verdicts = Verdicts(
            **arrays,
            errors=errors,
            notes=_by_row(notes),
            stopped_by=_by_row(stopped_by),
            reasons=judged.reasons,
            used=judged.used,
            repeats=judged.answers(count),
        )
        self.__dict__.setdefault("verdicts", verdicts)
        return self.__dict__[name]


def with_not_asked(
    triggered: NDArray[np.int8], errors: dict[int, str]
) -> tuple[NDArray[np.int8], dict[int, str]]:
    """Answers (int8 [N]) and errors as they are now written, from a record of any age."""
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
) -> Iteration:
    """An iteration from the values of `COLUMNS`. Raises ValueError and the like, and zlib.error."""
    evaluation = StoredEvaluation.of(
        Topic.model_validate_json(topic),
        ScannerSettings(**json.loads(scanner)),
        prompt_set,
        int.from_bytes(columns[:8], "little"),
        zlib.decompress(columns[8:]),
        {int(row): text for row, text in json.loads(errors).items()},
        _notes_of(notes),
        _stopped_by_of(stopped_by),
        _read_judged(judged),
    )
    return Iteration(number, created, Decision(decision), evaluation)
