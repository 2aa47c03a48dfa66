"""Running an app on a terminal: nothing outlives it."""

from __future__ import annotations

import io
import threading

import pytest
from textual.app import App
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from guardtui.tui.system.terminal import run_in_terminal
from guardtui.tui.textual_compat import survive_a_lost_terminal


class _Driver:
    """A terminal whose keys are read in a thread until it is told to end."""

    def __init__(self) -> None:
        self.exit_event = threading.Event()
        self.thread = threading.Thread(target=self.exit_event.wait, daemon=True)
        self.thread.start()


class _Broken(App[None]):
    """An app that ends without stopping its terminal, as one whose window is gone may do."""

    def run(self, *arguments: object, **others: object) -> None:  # type: ignore[override]
        self._driver = _Driver()  # type: ignore[assignment]
        raise OSError("the terminal is gone")


class _Lost(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_drawing_on_a_lost_terminal_never_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WriterThread, "run", WriterThread.run)  # restored after the test
    survive_a_lost_terminal()
    thread = WriterThread(_Lost())
    thread.start()
    for _ in range(10 * MAX_QUEUED_WRITES):  # more than wait in its queue
        thread.write("x")
    thread.stop()
    assert not thread.is_alive()


def test_thread_of_keys_ends_with_an_app_that_breaks_off() -> None:
    app = _Broken()
    with pytest.raises(OSError, match="gone"):
        run_in_terminal(app)
    driver = app._driver
    assert isinstance(driver, _Driver)
    driver.thread.join(timeout=60)
    assert not driver.thread.is_alive()
