"""Running an app on a terminal: invalid bytes, a closed window, signals to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from textual.app import App

from guardtui.tui.textual_compat import (
    accept_stray_bytes,
    stop_reading_keys,
    survive_a_lost_terminal,
)

EXIT_CODES = {"SIGTERM": 143, "SIGHUP": 129}
"""Signals that end the app, with their exit codes."""


def run_in_terminal(app: App[Any]) -> None:
    """Run an app on this process's terminal until it ends."""
    accept_stray_bytes()
    survive_a_lost_terminal()
    try:
        app.run()
    finally:
        stop_reading_keys(app)


def on_termination(terminate: Callable[[int], None]) -> None:
    """Call `terminate` with an exit code on a signal to end."""
    loop = asyncio.get_running_loop()
    for name, code in EXIT_CODES.items():
        number = getattr(signal, name, None)
        if number is not None:
            try:
                loop.add_signal_handler(number, terminate, code)
            except (NotImplementedError, RuntimeError, ValueError):
                return  # not the main thread, or Windows
