"""The clipboard of the system, by its programs: not every terminal supports OSC 52."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

TIMEOUT = 3.0
"""Seconds after which a program that does not finish is killed."""

_PROGRAMS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("wl-copy", (), "WAYLAND_DISPLAY", "utf-8"),
    ("xclip", ("-selection", "clipboard"), "DISPLAY", "utf-8"),
    ("xsel", ("--clipboard", "--input"), "DISPLAY", "utf-8"),
    ("pbcopy", (), "", "utf-8"),
    # Read as UTF-16 with a mark at its start; by the console's code page otherwise.
    ("clip.exe", (), "", "utf-16"),
)
"""Program, arguments, the variable of the display that it needs ("" for none), encoding."""


def copy_to_system(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Pass the text to the first program that accepts it; blocks, so call it in a thread.

    Returns False if no program works; OSC 52 of the terminal may still.
    """
    for name, arguments, display, encoding in _PROGRAMS:
        if display and not environment.get(display):
            continue
        program = shutil.which(name, path=environment.get("PATH"))
        if program is not None and _given([program, *arguments], text.encode(encoding, "replace")):
            return True
    return False


def _given(command: list[str], content: bytes) -> bool:
    try:
        # Nothing is captured: what these programs leave running would hold a pipe open.
        done = subprocess.run(  # noqa: S603 - a program of the list above, no shell
            command,
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
