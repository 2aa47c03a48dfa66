"""Types shared by scorers, metrics and reducers: scores, targets and protocols."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

CORRECT = "C"
"""A correct answer; 1.0 for the metrics."""

INCORRECT = "I"
"""An incorrect answer; 0.0."""

PARTIAL = "P"
"""A partly correct answer; 0.5."""

NOANSWER = "N"
"""No answer at all; 0.0, and counted in every denominator."""

ScoreReason: TypeAlias = Literal[
    "invalid_response_format", "refusal", "no_response", "grader_failed", "scoring_failed"
]
"""The standard causes that a score may have as its `reason`; any other text is allowed."""

INVALID_RESPONSE_FORMAT: ScoreReason = "invalid_response_format"
"""The output has no answer in the requested form."""

NO_RESPONSE: ScoreReason = "no_response"
"""The output is empty or whitespace only; takes precedence over every other reason."""

UNCHANGED: Literal["UNCHANGED"] = "UNCHANGED"
"""Marks fields that a `ScoreEdit` does not change."""

Scalar: TypeAlias = str | int | float | bool

Value: TypeAlias = Scalar | Sequence[Scalar] | Mapping[str, Scalar | None]
"""The value of a score: a scalar, a sequence, or a mapping of names."""

ValueToFloat: TypeAlias = Callable[[Value], float]
"""Converts a value to the number that metrics use."""

_logger = logging.getLogger(__name__)

_Metadata = TypeVar("_Metadata", bound=BaseModel)


def is_unscored(value: object) -> bool:
    """Return whether a value is a float NaN, which is recorded but not counted."""
    return isinstance(value, float) and math.isnan(value)


class Provenance(BaseModel):
    """Author, time and reason of an edit of a score."""

    author: str
    timestamp: datetime | None = None
    reason: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class ScoreEdit(BaseModel):
    """One edit of a score: every field is the new value or "UNCHANGED".

    `provenance` is None on the entry that records the original.
    """

    value: Value = UNCHANGED
    answer: str | None = UNCHANGED
    explanation: str | None = UNCHANGED
    reason: ScoreReason | str | None = UNCHANGED
    metadata: dict[str, Any] | Literal["UNCHANGED"] = UNCHANGED
    provenance: Provenance | None = None


class Score(BaseModel):
    """A scorer's result for one answer.

    `value` keeps its type: True stays a bool and a tuple a tuple. `answer` is the judged part of
    the output, `explanation` the justification, `reason` an optional machine-readable cause. Raises
    pydantic's ValidationError, a ValueError, for other types.
    """

    model_config = ConfigDict(ser_json_inf_nan="constants")

    value: Value
    answer: str | None = None
    explanation: str | None = None
    reason: ScoreReason | str | None = None
    metadata: dict[str, Any] | None = None
    history: list[ScoreEdit] = Field(default_factory=list)

    @model_validator(mode="after")
    def _reason_of_metadata(self) -> Score:
        if self.reason is None and self.metadata is not None:
            reason_given = self.metadata.get("unscored_reason")
            if reason_given is not None and not isinstance(reason_given, str):
                raise ValueError(f"the reason in the metadata is not a text but {reason_given!r}")
            self.reason = reason_given
        return self

    @classmethod
    def unscored(
        cls,
        *,
        reason: str | None = None,
        answer: str | None = None,
        explanation: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Score:
        """Return a score with value NaN: no verdict, counted in no rate."""
        return cls(
            value=math.nan,
            answer=answer,
            explanation=explanation,
            metadata=metadata,
            reason=reason,
        )

    @property
    def text(self) -> str:
        """The value as text. Raises ValueError if it is not a scalar."""
        return self.as_str()

    def as_str(self) -> str:
        """Return the value as text. Raises ValueError if it is not a scalar."""
        return str(self._scalar())

    def as_int(self) -> int:
        """Return the value converted by `int`. Raises ValueError if impossible."""
        return int(self._scalar())

    def as_float(self) -> float:
        """Return the value converted by `float` ("C" raises ValueError: see `value_to_float`)."""
        return float(self._scalar())

    def as_bool(self) -> bool:
        """Return the truth of the value; of all texts only "" is False."""
        return bool(self._scalar())

    def as_list(self) -> list[Scalar]:
        """Return the value if it is a list, else raise ValueError."""
        if isinstance(self.value, list):
            return self.value
        raise ValueError(f"the value of this score is not a list but {self.value!r}")

    def as_dict(self) -> dict[str, Scalar | None]:
        """Return the value if it is a dict, else raise ValueError."""
        if isinstance(self.value, dict):
            return self.value
        raise ValueError(f"the value of this score is not a dict but {self.value!r}")

    def _scalar(self) -> Scalar:
        if isinstance(self.value, str | int | float | bool):
            return self.value
        raise ValueError(f"the value of this score is not a scalar but {self.value!r}")


class SampleScore(BaseModel):
    """A score and its sample; `scorer` is the registry name of the scorer."""

    score: Score
    sample_id: str | int | None = None
    sample_metadata: dict[str, Any] | None = None
    scorer: str | None = None

    def sample_metadata_as(self, metadata_cls: type[_Metadata]) -> _Metadata | None:
        """Return the sample's metadata as a frozen pydantic model, or None if there are none.

        Keys unknown to the model are ignored. Raises ValueError for a class that is not a frozen
        pydantic model, and for metadata that do not fit it.
        """
        if self.sample_metadata is None:
            return None
        frozen = (
            isinstance(metadata_cls, type)
            and issubclass(metadata_cls, BaseModel)
            and metadata_cls.model_config.get("frozen", False)
        )
        if not frozen:
            raise ValueError(f"{metadata_cls.__name__} must be a pydantic model with frozen=True")
        fields = {
            name: value
            for name, value in self.sample_metadata.items()
            if name in metadata_cls.model_fields
        }
        try:
            return metadata_cls(**fields)
        except ValidationError as error:
            raise ValueError(f"the metadata do not fit {metadata_cls.__name__}: {error}") from error


class Target(Sequence[str]):
    """The expected answer: one text, or several."""

    def __init__(self, target: str | Sequence[str]) -> None:
        self.target = [target] if isinstance(target, str) else list(target)

    @property
    def text(self) -> str:
        """All texts joined without a separator."""
        return "".join(self.target)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.target[index]

    def __len__(self) -> int:
        return len(self.target)

    def __iter__(self) -> Iterator[str]:
        return iter(self.target)

    def __repr__(self) -> str:
        return f"Target({self.target!r})"


@runtime_checkable
class Scorer(Protocol):
    """Scores the output of a state against a target; None if it declines."""

    async def __call__(self, state: Any, target: Target) -> Score | None: ...


@runtime_checkable
class MetricProtocol(Protocol):
    """Computes one value, a sequence or a mapping of values from all scores."""

    def __call__(self, scores: list[SampleScore]) -> Value: ...


@runtime_checkable
class MetricDeprecated(Protocol):
    """The older form of a metric, which gets scores without their samples."""

    def __call__(self, scores: list[Score]) -> Value: ...


Metric: TypeAlias = MetricProtocol | MetricDeprecated


@runtime_checkable
class ScoreReducer(Protocol):
    """Reduces several scores of the same sample to one."""

    def __call__(self, scores: list[Score]) -> Score: ...

    @property
    def __name__(self) -> str: ...


_NUMBERS = (int, float)
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def value_to_float(
    correct: Value = CORRECT,
    incorrect: Value = INCORRECT,
    partial: Value = PARTIAL,
    noanswer: Value = NOANSWER,
) -> ValueToFloat:
    """Return a converter: named values become 1, 0, 0.5 and 0; finite numbers stay.

    Texts of finite numbers are converted. yes, true, no and false count in any case, the named
    values only in theirs. Anything else is 0.0, with a warning on this module's logger.
    """

    def convert(value: Value) -> float:
        if value == correct:
            return 1.0
        if value == partial:
            return 0.5
        if value == incorrect or value == noanswer:  # noqa: SIM109 - NaN is not equal to itself
            return 0.0
        if isinstance(value, _NUMBERS):
            return float(value)
        if isinstance(value, str):
            number = _number(value)
            if number is not None:
                return number
        _logger.warning("a value cannot be turned into a number and counts as 0: %r", value)
        return 0.0

    return convert


def _number(text: str) -> float | None:
    lowered = text.lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


DEFAULT_TO_FLOAT: ValueToFloat = value_to_float()
"""The default converter of metrics and reducers."""
