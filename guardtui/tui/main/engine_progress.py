"""The progress line of the engine, updated ten times a second."""

from __future__ import annotations

import time
from collections.abc import Mapping

from guardtui.app.editing.engine import Engine
from guardtui.scanners.base import Progress
from guardtui.tui.kit.block_chart import progress_bar
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

POLL_EVERY = 0.1

LONG_WAIT = 60.0
"""Remaining seconds from which on the line points out the faster encoder."""

_SHORTEST, _LONGEST = 10, 40
"""Cells of the bar."""

_PADDING = 2


class EngineProgress:
    """Shows the progress of the engine while it runs."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, engine: Engine, window: Window) -> None:
        self._engine, self._window = engine, window
        self._line = window.panes.progress

    def poll(self) -> None:
        """Show the newest progress."""
        progress = self._engine.progress
        running = progress is not None and progress.done < progress.total
        self._line.set_class(running, "running")
        if progress is not None and running:
            self._line.update(self._text(progress), layout=False)

    def _text(self, progress: Progress) -> str:
        elapsed = max(time.monotonic() - self._engine.started, 0.001)
        rate = (progress.done - progress.known) / elapsed  # cached vectors took no time
        remaining = (progress.total - progress.done) / rate if rate > 0 and elapsed > 0.5 else None
        slow = self._engine.scanner.encoder_name != "static"
        return progress_text(
            progress, rate, remaining, slow=slow, width=self._window.size.width - _PADDING
        )


def progress_text(
    progress: Progress, rate: float, remaining: float | None, *, slow: bool, width: int
) -> str:
    """Return the line for so many cells; in a narrow one the bar and the hint are shorter.

    `remaining` is in seconds, None while unknown; `slow` is True if another encoder is faster.
    """
    counts = f"{progress.done}/{progress.total}"
    hints = [""]
    if remaining is not None:
        counts += f"  {rate:.0f}/s  {remaining:.0f} s left, once"
        if remaining > LONG_WAIT and slow:
            hints = ["  (F9: the static encoder needs seconds)", "  (F9: faster)", ""]
    for hint in hints:
        room = width - len(f"{progress.phase}  {counts}{hint}")
        if room >= _SHORTEST:
            break
    cells = max(_SHORTEST, min(_LONGEST, width // 4, room))
    return f"{progress.phase} {progress_bar(progress.done, progress.total, cells)} {counts}{hint}"
