"""The progress line of the embedded engine, read ten times a second."""

from __future__ import annotations

import time
from collections.abc import Mapping

from guardtui.app.engine import Engine
from guardtui.app.state import AppState
from guardtui.scanners.base import Progress
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

POLL_EVERY = 0.1

LONG_WAIT = 60.0
"""Seconds of embedding from which on the faster encoder is pointed out."""


class EngineProgress:
    """Shows how far the engine is while it runs."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, engine: Engine, window: Window) -> None:
        self._engine, self._window = engine, window
        self._line = window.panes.progress

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Progress is no part of the state: it is polled."""

    def poll(self) -> None:
        """Show the newest snapshot."""
        progress = self._engine.progress
        running = progress is not None and progress.done < progress.total
        self._line.set_class(running, "running")
        if progress is not None and running:
            self._line.update(self._text(progress), layout=False)

    def _text(self, progress: Progress) -> str:
        elapsed = max(time.monotonic() - self._engine.started, 0.001)
        rate = (progress.done - progress.known) / elapsed  # what was cached took no time
        width = max(10, min(40, self._window.size.width // 4))
        filled = int(width * progress.done / max(progress.total, 1))
        line = f"{progress.phase} {'█' * filled}{'░' * (width - filled)} "
        line += f"{progress.done}/{progress.total}"
        if rate > 0 and elapsed > 0.5:
            remaining = (progress.total - progress.done) / rate
            line += f"  {rate:.0f}/s  {remaining:.0f} s left, once"
            if remaining > LONG_WAIT and self._engine.scanner.encoder_name != "static":
                line += "  (F9: the static encoder needs seconds)"
        return line
