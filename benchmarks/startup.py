"""How long until something is there: `guardtui --help`, and the app's first screen.

`--help` is timed in turns with a bare `python -c "import click"`; the app in a pseudo-terminal,
until its first pane is drawn, in turns with a minimal Textual app.

    python benchmarks/startup.py
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TURNS = 7

_MINIMAL = """
from textual.app import App
from textual.widgets import Label
class Minimal(App):
    def compose(self):
        yield Label("Topic")
Minimal().run()
"""


def command_time(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def paint_time(command: list[str], environment: dict[str, str]) -> float:
    """Seconds until the word "Topic" is drawn on a pseudo-terminal of 120×40."""
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment, close_fds=True
    )
    os.close(follower)
    seen = b""
    try:
        while b"Topic" not in seen:
            if not select.select([leader], [], [], 30)[0]:
                raise SystemExit("nothing was drawn within 30 s")
            seen += os.read(leader, 65536)
        return time.perf_counter() - start
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def main() -> None:
    python = sys.executable
    helps, clicks, paints, floors = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "GUARDTUI_DATA": str(Path(folder) / "data"),
            "GUARDTUI_CACHE": str(Path(folder) / "cache"),
        }
        for _ in range(TURNS):
            clicks.append(command_time([python, "-c", "import click"]))
            helps.append(command_time([python, "-m", "guardtui", "--help"]))
            floors.append(paint_time([python, "-c", _MINIMAL], environment))
            paints.append(paint_time([python, "-m", "guardtui"], environment))
    for name, times, floor_name, floor in (
        ("guardtui --help", helps, "import click", clicks),
        ("first screen", paints, "minimal Textual app", floors),
    ):
        print(
            f"{name:<16} {1000 * min(times):>6.0f} ms   {floor_name:<20} "
            f"{1000 * min(floor):>6.0f} ms   ratio {min(times) / min(floor):.2f}"
        )


if __name__ == "__main__":
    main()
