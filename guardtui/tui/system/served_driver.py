"""The driver of the app in a browser: it ends the app when the server that shows it is gone."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

from guardtui.tui.textual_compat import app_of, write_with


class ServedDriver(WebDriver):
    """A driver behind two pipes, whose other end may be killed at any time."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        write_with(self, partial(_write_if_read, self.fileno))

    def run_input_thread(self) -> None:
        """Read until the input ends; then end the app as when its tab is closed."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            app_of(self).post_message(ExitApp())


def _write_if_read(descriptor: int, data: bytes) -> int:
    with contextlib.suppress(OSError):  # the app ends by its input, and keeps its draft
        return os.write(descriptor, data)
    return 0
