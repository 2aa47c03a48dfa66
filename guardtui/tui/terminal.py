"""What terminals do to an app, and how it survives: stray bytes, a closed window, a kill."""

from __future__ import annotations

import asyncio
import codecs
import signal
from collections.abc import Callable

LEAVING = {"SIGTERM": 143, "SIGHUP": 129}
"""Signals that ask the app to leave, and the exit code that tells of each."""


def accept_stray_bytes() -> None:
    """Have a byte that is no UTF-8, typed or pasted, read as "�" instead of ending the app."""
    try:
        from textual.drivers import linux_driver
    except ImportError:  # Windows reads characters, not bytes
        return

    def tolerant(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
        return lambda: codecs.getincrementaldecoder(encoding)(errors="replace")

    if hasattr(linux_driver, "getincrementaldecoder"):
        linux_driver.getincrementaldecoder = tolerant


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
