"""The JSON of all reports and commands: one encoder, one version, and the shapes that they share.

What is written are dataclasses; pydantic encodes them, and makes the schemas in guardtui/schemas/
from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, PlainSerializer, TypeAdapter
from pydantic_core import CoreSchema

from guardtui import __version__
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import CONFIDENCE, Interval, rate_intervals
from guardtui.reports.json_text import dumps
from guardtui.session.report_reader import SCHEMA_VERSION

RATE_KEYS = {
    "coverage": "coverage",
    "true_positive_rate": "tpr",
    "true_negative_rate": "tnr",
    "accuracy": "accuracy",
    "precision": "precision",
    "f1": "f1",
}
"""Key in the JSON by the rate's name in `Metrics`."""

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[
    float | None, Field(ge=0, le=1, description="From 0 to 1; null where it is undefined.")
]
Omitted = Field(exclude_if=lambda value: value is None or value is False or value == "")
"""A field that is omitted where it is None, False or ""."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates, each null where it is undefined."""

    coverage: Rate
    tpr: Rate
    tnr: Rate
    accuracy: Rate
    precision: Rate
    f1: Rate

    @classmethod
    def of(cls, metrics: Metrics) -> Rates:
        """Return the rates of metrics."""
        return cls(*(getattr(metrics, name) for name in RATE_KEYS))


@dataclass(frozen=True, slots=True)
class Counts:
    """Prompts by outcome; `errors` were asked without a verdict, `total` have one."""

    tp: Count
    tn: Count
    fp: Count
    fn: Count
    errors: Count
    open: Count
    total: Count

    @classmethod
    def of(cls, metrics: Metrics) -> Counts:
        """Return the counts of metrics."""
        return cls(*(getattr(metrics, count.name) for count in fields(cls)))


@dataclass(frozen=True, slots=True)
class Intervals:
    """Confidence intervals of rates over prompts; null where a rate is undefined."""

    confidence: Share
    coverage: Interval | None
    tpr: Interval | None
    tnr: Interval | None

    @classmethod
    def of(cls, metrics: Metrics, *, fitted: bool = False) -> Intervals:
        """Return the intervals of metrics; `fitted`: at a threshold fitted to these labels."""
        return cls(CONFIDENCE, **by_key(rate_intervals(metrics, fitted=fitted)))


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on some prompts."""

    counts: Counts
    rates: Rates
    intervals: Intervals

    @classmethod
    def of(cls, metrics: Metrics, *, fitted: bool = False) -> Measured:
        """Return counts, rates and intervals of metrics; `fitted` as in `Intervals.of`."""
        return cls(Counts.of(metrics), Rates.of(metrics), Intervals.of(metrics, fitted=fitted))


def guardrail_of(settings: ScannerSettings) -> dict[str, Any]:
    """Return what was measured: the stated fields of the guardrail, its revision, and forecasts."""
    forecast = {"forecast": True} if settings.is_forecast else {}
    return settings.guardrail.to_json() | {"revision": settings.revision} | forecast


class _GuardrailShape:
    """JSON Schema of what `guardrail_of` returns."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        made = dict(handler.resolve_ref_schema(handler(_adapter(Guardrail).core_schema)))
        del made["additionalProperties"]  # keys may be added
        made["properties"] = made["properties"] | {
            "revision": {
                "type": "string",
                "description": "Of the profile of AIRS, or identifies the addresses of models.",
            },
            "forecast": {"const": True, "description": "The verdicts are only expected ones."},
        }
        return made | {"required": ["kind", "revision"]}


MeasuredGuardrail = Annotated[ScannerSettings, PlainSerializer(guardrail_of), _GuardrailShape()]
"""What was measured, as `guardrail_of` writes it."""


def by_key(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the keys of rates, for values by their names in `Metrics`."""
    return {RATE_KEYS[name]: value for name, value in values.items()}


def encode(kind: str, data: object, *, compact: bool = False) -> str:
    """Return a document of this kind as JSON: version, kind and generator, and then `data`.

    `data` is a dataclass, or a mapping of such and other values. An entry of a list is one line;
    if it is to be `compact`, so is every other value, without blanks before it. Undefined values
    are null. The text is inert on a terminal: invisible characters are escaped, and texts are
    unchanged once it is parsed. It ends with a line feed.
    """
    indent = None if compact else 2
    margin = " " * (indent or 0)
    members = [
        f"{margin}{dumps(name)}: {_value(value, indent)}"
        for name, value in document(kind, data).items()
    ]
    return "{\n" + ",\n".join(members) + "\n}\n"


def document(kind: str, data: object) -> dict[str, Any]:
    """Return the document that `encode` writes, as Python values."""
    shape: Any = Any if isinstance(data, Mapping) else type(data)
    fields: dict[str, Any] = _adapter(shape).dump_python(data, mode="json", warnings="error")
    head = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "generator": {"name": "guardtui", "version": __version__},
    }
    return head | fields


def _value(value: Any, indent: int | None) -> str:
    margin = " " * (indent or 0)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        entries = ",\n".join(f"{2 * margin}{dumps(entry)}" for entry in value)
        return f"[\n{entries}\n{margin}]"
    return dumps(value, indent=indent).replace("\n", f"\n{margin}")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
