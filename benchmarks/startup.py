"""How long until something is there: `guardtui --help`, the app's first screen, short commands.

`--help` is timed in turns with a bare `python -c "import click"`; the app in a pseudo-terminal,
until its first pane is drawn, in turns with a minimal Textual app. Of `check` and `eval` on the
sample of 200 prompts, whose vectors are cached, the CPU time is measured. The exit code is 1 if
one of them misses its aim.

    python benchmarks/startup.py
"""

from __future__ import annotations

import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TURNS = 7
SAMPLE = Path(__file__).parents[1] / "sample_data" / "tax-advice.yaml"
PROMPTS = ["--prompts", str(SAMPLE.with_suffix(".csv"))]
COMMANDS: dict[str, tuple[list[str], float | None]] = {
    "check TOPIC": (["check", str(SAMPLE)], 0.35),
    "check TOPIC --prompts": (["check", str(SAMPLE), *PROMPTS], None),
    "eval TOPIC --prompts": (["eval", str(SAMPLE), *PROMPTS], 0.8),
}
"""Words of short commands, with the CPU seconds they may take."""

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


def cpu_time(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


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
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "GUARDTUI_DATA": str(Path(folder) / "data"),
            "GUARDTUI_CACHE": str(Path(folder) / "cache"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for words, _ in COMMANDS.values():  # writes byte code, and embeds the prompts
            cpu_time([python, "-m", "guardtui", *words], environment)
        for _ in range(TURNS):
            clicks.append(command_time([python, "-c", "import click"]))
            helps.append(command_time([python, "-m", "guardtui", "--help"]))
            floors.append(paint_time([python, "-c", _MINIMAL], environment))
            paints.append(paint_time([python, "-m", "guardtui"], environment))
            for name, (words, _) in COMMANDS.items():
                seconds[name].append(cpu_time([python, "-m", "guardtui", *words], environment))
    for name, times, floor_name, floor in (
        ("guardtui --help", helps, "import click", clicks),
        ("first screen", paints, "minimal Textual app", floors),
    ):
        print(
            f"{name:<16} {1000 * min(times):>6.0f} ms   {floor_name:<20} "
            f"{1000 * min(floor):>6.0f} ms   ratio {min(times) / min(floor):.2f}"
        )
    missed = False
    for name, (_, aim) in COMMANDS.items():
        median = statistics.median(seconds[name])
        missed = missed or (aim is not None and median > aim)
        print(f"guardtui {name:<24} {median:.2f} CPU seconds   aim {aim or '-'}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
