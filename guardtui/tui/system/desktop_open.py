"""Opening a file with the program of the desktop, or the reason why that is impossible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

TIMEOUT = 3.0
"""Seconds within which an opener fails; one that still runs then shows the file."""

_PROGRAMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "darwin": (("open",),),
    "linux": (("xdg-open",), ("gio", "open"), ("wslview",)),
}


def open_refusal(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str:
    """Return why no program can show a file to this author; "" if one can."""
    if any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")):
        return "this is another machine's terminal (SSH)"
    if platform in ("win32", "cygwin"):
        return ""
    if platform != "darwin" and not any(
        environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_INTEROP")
    ):
        return "there is no display"
    if _opener(environment, platform) is None:
        return "no program that opens files was found (xdg-open)"
    return ""


def open_file(
    path: Path, environment: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> str:
    """Open a file on the desktop; return the problem, or "".

    Blocks for a moment, so call it in a thread. The program gets no terminal and may outlive
    the app.
    """
    if problem := open_refusal(environment, platform):
        return problem
    if platform in ("win32", "cygwin"):
        return _started(path)
    opener = _opener(environment, platform)
    if opener is None:
        return "no program that opens files was found"
    try:
        process = subprocess.Popen(  # noqa: S603 - a program of the list above, no shell
            # Absolute, so that no name is taken for an option.
            [*opener, os.path.abspath(path)],  # noqa: PTH100 - links are the program's to follow
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
        code = process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        # Some run until the window is closed; the process must be reaped.
        threading.Thread(target=process.wait, daemon=True).start()
        return ""
    except OSError as error:
        return f"{opener[0]} cannot be started: {error.strerror}"
    return f"{opener[0]} ended with {code}" if code else ""


def _opener(environment: Mapping[str, str], platform: str) -> list[str] | None:
    for name, *arguments in _PROGRAMS.get(platform, _PROGRAMS["linux"]):
        program = shutil.which(name, path=environment.get("PATH"))
        if program is not None:
            return [program, *arguments]
    return None


def _started(path: Path) -> str:
    start = getattr(os, "startfile", None)  # Windows only
    if start is None:
        return "no program that opens files was found"
    try:
        start(os.path.abspath(path))  # noqa: PTH100
    except OSError as error:
        return f"no program opened it: {error.strerror}"
    return ""
