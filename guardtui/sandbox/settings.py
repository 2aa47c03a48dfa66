"""Settings of the sandbox, in one grammar for flags and for changes at run time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.sandbox.faults import Fault, FaultError, parse_faults

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)")
_LONGEST = 24 * 3600.0

CHOICES = {
    "list_order": ("newest", "oldest", "shuffled"),
    "delete_reply": ("auto", "string", "object", "empty"),
    "empty_topic_list": ("accept", "reject"),
}


class SettingsError(GuardtuiError, ValueError):
    """A setting has an invalid value; the message names the setting and valid values."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Settings of the sandbox. All times are in seconds; a limit of 0 means no limit.

    `latency` is the minimum and maximum latency of a response; `slow` is the delay of the fault
    with that name. For `propagation` seconds after a change, scans by name use the previous
    revision of a profile. `pending` is the maximum time that a row of a batch waits. `poll_limit`
    is per minute, for results and for reports. `rate_limit` is per second, `concurrent_limit` the
    number in flight, for scans and questions. `max_questions` is per request; 0 means the limit of
    the services of its format.
    """

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    latency: tuple[float, float] = (0.0, 0.0)
    slow: float = 5.0
    retry_after: float = 1.0
    propagation: float = 0.0
    pending: float = 1.0
    max_batch: int = 20
    poll_limit: int = 0
    rate_limit: int = 0
    concurrent_limit: int = 0
    list_order: str = "newest"
    delete_reply: str = "auto"
    empty_topic_list: str = "accept"
    max_questions: int = 0

    def changed(self, values: Mapping[str, Any]) -> SandboxSettings:
        """Return a copy with other values: durations as "3s", faults as a list of their texts.

        Raises `SettingsError`.
        """
        known = {field.name for field in fields(self)}
        new: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                names = ", ".join(sorted(known))
                raise SettingsError(f"unknown setting {name!r}: choose one of {names}")
            new[name] = _parse(name, value)
        return replace(self, **new)

    def shown(self) -> dict[str, Any]:
        """Return the settings in the form that `changed` accepts."""
        shown: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "faults":
                value = [fault.text for fault in value]
            elif field.name == "latency":
                low, high = value
                value = (
                    _duration_text(low)
                    if low == high
                    else f"{_duration_text(low)}..{_duration_text(high)}"
                )
            elif isinstance(value, float):
                value = _duration_text(value)
            shown[field.name] = value
        return shown


def _parse(name: str, value: Any) -> Any:
    if name == "faults":
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise SettingsError('faults: not a list of texts such as ["429=0.2"]')
        try:
            return parse_faults(value)
        except FaultError as error:
            raise SettingsError(str(error)) from error
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise SettingsError(f"{name}: {value!r} is not one of {', '.join(CHOICES[name])}")
        return value
    if name in (
        "seed",
        "max_batch",
        "poll_limit",
        "rate_limit",
        "concurrent_limit",
        "max_questions",
    ):
        least = {"seed": -(2**63), "max_batch": 1}.get(name, 0)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value < 2**63:
            raise SettingsError(
                f"{name}: {value!r} is not a whole number"
                f"{'' if name == 'seed' else f' from {least}'}"
            )
        return value
    if name == "latency":
        low, dots, high = str(value).partition("..")
        first = duration(name, low)
        last = duration(name, high) if dots else first
        if last < first:
            raise SettingsError(f"{name}: {value!r} ends before it starts")
        return first, last
    return duration(name, value)


def duration(name: str, value: Any) -> float:
    """Return seconds from a text such as "50ms", "3s", "2m" or "0". Raises `SettingsError`."""
    text = str(value).strip().lower()
    if text in ("0", "0.0"):
        return 0.0
    match = _DURATION.fullmatch(text)
    seconds = float(match[1]) * _UNITS[match[2]] if match else -1.0
    if not 0 <= seconds <= _LONGEST:
        raise SettingsError(
            f"{name}: {value!r} is not a duration: write a number and a unit, such as 50ms, 3s or "
            "2m (at most 24h)"
        )
    return seconds


def _duration_text(seconds: float) -> str:
    return f"{seconds * 1000:g}ms" if 0 < seconds < 1 else f"{seconds:g}s"
