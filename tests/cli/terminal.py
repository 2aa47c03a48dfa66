"""Commands on a pseudo-terminal: what they show, and keys that are typed."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        import fcntl
        import termios

        self.handle, inner = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "guardtui", *arguments],
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)

    def expect(self, text: str) -> str:
        """Read until the text comes; what came before it and with it is used up."""
        end = time.monotonic() + 120
        while text not in self.seen:
            assert select.select([self.handle], [], [], max(0, end - time.monotonic()))[0], (
                f"{text!r} did not come after {self.seen!r}"
            )
            part = os.read(self.handle, 65536)
            self.seen += part.decode("utf-8", "replace")
        came, self.seen = self.seen.split(text, 1)
        return came

    def type(self, text: str, answer_to: str = "> ") -> None:
        self.expect(answer_to)
        os.write(self.handle, text.encode("utf-8", "surrogateescape"))

    def leave(self, key: str) -> str:
        """Press a key at a question until it is heard; what was said then.

        An interrupt in the microseconds between a prompt and the reading behind it is only heard
        at the next key: no person is that fast, but a test is.
        """
        self.expect("> ")
        os.write(self.handle, key.encode())
        end = time.monotonic() + 120
        while not select.select([self.handle], [], [], 2)[0]:
            assert time.monotonic() < end, "no key is heard"
            os.write(self.handle, key.encode())
        return self.rest()

    def rest(self) -> str:
        """All that still comes, until the process has let go of the terminal."""
        while select.select([self.handle], [], [], 120)[0]:
            try:
                part = os.read(self.handle, 65536)
            except OSError:
                break
            if not part:
                break
            self.seen += part.decode("utf-8", "replace")
        self.process.wait(120)
        return self.seen.replace("\r", "")

    def close(self) -> None:
        """End the command, and close its terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self.handle)
