"""Reports made in a process of their own: a large one would hold the interpreter for seconds.

Encoders such as json's do not let other threads run, and a screen would stand still meanwhile.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from guardtui.reports.base import ReportError, ReportInput, load_writer

LARGE = 1000
"""Prompts from which on the start of a process takes less than the screen would miss."""

_FAILED = 3

_BEGIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from guardtui.reports.apart import answer; answer()"
)
"""Modules are looked for where this process looks for them; the format may be in any package."""


def report_bytes(name: str, report: ReportInput) -> bytes:
    """The whole report of a format; blocks, and other threads go on meanwhile.

    Raises `ReportError` for a format that is not there, and for one that fails.
    """
    load_writer(name)  # what is wrong with the name is told without a process
    if len(report.evaluation.keys) < LARGE:
        return _made(name, report)
    given = pickle.dumps(sys.path) + pickle.dumps((name, report))
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, and no text of others
            [sys.executable, "-c", _BEGIN],
            input=given,
            capture_output=True,
            check=False,
        )
    except OSError:  # no memory for a second process, or an interpreter that has no file
        return _made(name, report)
    if done.returncode == 0:
        return done.stdout
    kind = done.stderr.decode("utf-8", "replace") if done.returncode == _FAILED else ""
    raise ReportError(_failure(kind or f"exit code {done.returncode}"))


def _made(name: str, report: ReportInput) -> bytes:
    try:
        # A lone surrogate of a topic is the one thing that UTF-8 cannot carry.
        return load_writer(name)(report).encode("utf-8", "replace")
    except ReportError:
        raise
    except Exception as error:  # a writer may be another package's
        raise ReportError(_failure(type(error).__name__)) from error


def _failure(kind: str) -> str:
    return f"the report could not be made ({kind})"


def answer() -> None:
    """In the other process: read a report's name and input, give its bytes, and end."""
    output, said = os.dup(1), os.dup(2)
    # What a writer prints is no part of a report.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        name, report = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process above
        data = load_writer(name)(report).encode("utf-8", "replace")
    except Exception as error:  # noqa: BLE001 - only its kind is told: its text may be a prompt
        os.write(said, type(error).__name__.encode())
        os._exit(_FAILED)
    with os.fdopen(output, "wb") as stream:
        stream.write(data)
