"""Text for figures: a count with its noun, a change with its sign, rates and durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guardtui.domain.statistics import Interval

UNDEFINED = "n/a"
"""Text of a rate without a denominator."""

ON_NEW_PROMPTS = "on new prompts"
"""What the 95 % interval of a rate is about: all prompts of the kind that the set is drawn from."""

_MOST_DECIMALS = 6


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: `1 error`, `2 errors`, `1,200 calls`.

    `plural` is the plural of the noun unless it is formed with "s".
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def calls_text(expected: int, most: int | None = None) -> str:
    """Return estimated calls with two digits that count: `about 1,300 calls, at most 2,412`."""
    rounded = round(expected, 2 - len(str(expected))) if expected >= 100 else expected
    limit = "" if most is None else f", at most {most:,}"
    return f"about {count_text(rounded, 'call')}{limit}"


def rate_text(value: float | None) -> str:
    """Return a rate with three decimals, `n/a` if undefined."""
    return UNDEFINED if value is None else f"{value:.3f}"


def interval_text(interval: Interval | None, decimals: int = 3) -> str:
    """Return an interval as `0.694 to 0.832`, or ""."""
    if interval is None:
        return ""
    return f"{interval.low:.{decimals}f} to {interval.high:.{decimals}f}"


def bracketed(interval: Interval | None, about: str = ON_NEW_PROMPTS) -> str:
    """Return an interval with what it is about, `(0.69 to 0.83 on new prompts)`, or ""."""
    return f"({f'{interval_text(interval, 2)} {about}'.rstrip()})" if interval is not None else ""


def duration_text(seconds: float) -> str:
    """Return a remaining time, rounded: `12 s`, `5 min`, `2.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def threshold_text(value: float) -> str:
    """Return a threshold with the decimals it was set with, at least 2; 3 if it has 10 or more."""
    for decimals in range(2, 10):
        if abs(value - round(value, decimals)) < 1e-10:
            return f"{value:.{decimals}f}"
    return f"{value:.3f}"


def capitalized(sentence: str) -> str:
    """Return the sentence with its first letter in upper case; the rest is unchanged."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def change_text(value: float, decimals: int = 3) -> str:
    """Return a difference of two rates with its sign; `±0.000` if it rounds to 0."""
    shown = f"{abs(value):.{decimals}f}"
    if not float(shown):
        return f"±{shown}"
    return f"{'+' if value > 0 else '−'}{shown}"


def change_interval_text(value: float, low: float, high: float) -> str:
    """Return a change with its interval: `+0.140 (+0.062 to +0.218)`.

    Three decimals; up to six if both bounds would look the same, or one of them like 0.
    """
    decimals = 3
    while decimals < _MOST_DECIMALS and low < high:
        bounds = [f"{bound:.{decimals}f}" for bound in (low, high)]
        vanished = (low and not float(bounds[0])) or (high and not float(bounds[1]))
        if bounds[0] != bounds[1] and not vanished:
            break
        decimals += 1
    shown = [change_text(figure, decimals) for figure in (value, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"
