"""Figures in words: a count with its noun, a change with its sign."""

from __future__ import annotations

_MOST_DECIMALS = 6


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: `1 error`, `2 errors`, `0 fixes`.

    `plural` is the noun in the plural where that is not formed with "s".
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def threshold_text(value: float) -> str:
    """Return a threshold with the decimals it was set with, at least two; of a long one three."""
    for decimals in range(2, 10):
        if abs(value - round(value, decimals)) < 1e-10:
            return f"{value:.{decimals}f}"
    return f"{value:.3f}"


def capitalized(sentence: str) -> str:
    """Return the sentence with its first letter in upper case and the others as they are."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def change_text(value: float, decimals: int = 3) -> str:
    """Return a difference of two rates with its sign; what rounds to 0 is `±0.000`."""
    shown = f"{abs(value):.{decimals}f}"
    if not float(shown):
        return f"±{shown}"
    return f"{'+' if value > 0 else '−'}{shown}"


def change_interval_text(value: float, low: float, high: float) -> str:
    """Return a change with its interval: `+0.140 [+0.062, +0.218]`.

    Has three decimals, and up to six where both bounds would look the same, or one like 0.
    """
    decimals = 3
    while decimals < _MOST_DECIMALS and low < high:
        bounds = [f"{bound:.{decimals}f}" for bound in (low, high)]
        vanished = (low and not float(bounds[0])) or (high and not float(bounds[1]))
        if bounds[0] != bounds[1] and not vanished:
            break
        decimals += 1
    shown = [change_text(one, decimals) for one in (value, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"
