"""What terminals do to an app, and how it survives: stray bytes, a closed window, a kill."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from textual.app import App

from guardtui.tui.textual_compat import accept_stray_bytes

LEAVING = {"SIGTERM": 143, "SIGHUP": 129}
"""Signals that ask the app to leave, and the exit code that tells of each."""


def run_in_terminal(app: App[Any]) -> None:
    """Run an app on this process's terminal until it ends."""
    accept_stray_bytes()
    app.run()


def on_leaving(leave: Callable[[int], None]) -> None:
    """Call `leave` with an exit code when the system asks the process to end."""
    loop = asyncio.get_running_loop()
    for name, code in LEAVING.items():
        number = getattr(signal, name, None)
        if number is not None:
            try:
                loop.add_signal_handler(number, leave, code)
            except (NotImplementedError, RuntimeError, ValueError):
                return  # not the main thread, or Windows
