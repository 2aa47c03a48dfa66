"""Block characters: a progress bar, and values from 0 to 1 as columns several lines high."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_UNDEFINED = "·"


def columns(values: Sequence[float | None], height: int) -> list[str]:
    """Return lines from the top with one character for each value; "·" at the bottom for None.

    A value above 0 is never drawn as nothing.
    """
    lines = []
    for level in range(height - 1, -1, -1):
        line = ""
        for value in values:
            if value is None:
                line += _UNDEFINED if level == 0 else " "
                continue
            eighths = round(min(max(value, 0.0), 1.0) * height * 8)
            if value > 0:
                eighths = max(eighths, 1)
            line += _BLOCKS[min(max(eighths - level * 8, 0), 8)]
        lines.append(line)
    return lines


def progress_bar(done: float, total: float, cells: int) -> str:
    """Return a bar of so many cells, filled by the part that is done; empty for a total of 0."""
    filled = min(cells, int(cells * done / total)) if total > 0 else 0
    return f"{'█' * filled}{'░' * (cells - filled)}"
