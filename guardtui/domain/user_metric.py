"""The value of a user-defined metric, shown beside the built-in rates."""

from __future__ import annotations

from dataclasses import dataclass

_FIXED_BELOW = 1e6


@dataclass(frozen=True, slots=True)
class UserMetric:
    """One number of a metric; `value` is None if undefined.

    `problem` says why the metric failed, or is "".
    """

    name: str
    value: float | None
    problem: str = ""

    @property
    def text(self) -> str:
        """The value with three decimals, "n/a" if undefined, "error" after a failure."""
        if self.problem:
            return "error"
        if self.value is None:
            return "n/a"
        return f"{self.value:.3f}" if abs(self.value) < _FIXED_BELOW else f"{self.value:.6g}"
