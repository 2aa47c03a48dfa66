"""Reports written in a subprocess, since a large one would block the interpreter for seconds.

Encoders such as that of json do not release the interpreter, so the screen would freeze.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.formats import load_writer

LARGE = 1000
"""Number of prompts from which a subprocess is worth its start."""

_FAILED = 3

_BEGIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from guardtui.reports.subprocess_writer import answer; answer()"
)
"""Command of the subprocess. It has this process's module path: any package may add formats."""


def report_bytes(name: str, report: ReportInput, *, variant: bool = False) -> bytes:
    """Return the report in a format. Blocks, but other threads run meanwhile.

    Raises `ReportError` for an unknown or failing format.
    """
    load_writer(name)  # raises for an unknown name before the process starts
    if len(report.evaluation.keys) < LARGE:
        return _made(name, report, variant)
    given = pickle.dumps(sys.path) + pickle.dumps((name, report, variant))
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, and no text of others
            [sys.executable, "-c", _BEGIN],
            input=given,
            capture_output=True,
            check=False,
        )
    except OSError:  # no memory for a second process, or an interpreter without a file
        return _made(name, report, variant)
    if done.returncode == 0:
        return done.stdout
    kind = done.stderr.decode("utf-8", "replace") if done.returncode == _FAILED else ""
    raise ReportError(_failure(kind or f"exit code {done.returncode}"))


def _made(name: str, report: ReportInput, variant: bool) -> bytes:
    try:
        # A lone surrogate of a topic is not valid in UTF-8.
        return load_writer(name, variant=variant)(report).encode("utf-8", "replace")
    except ReportError:
        raise
    except Exception as error:  # the writer may be of another package
        raise ReportError(_failure(type(error).__name__)) from error


def _failure(kind: str) -> str:
    return f"the report could not be made ({kind})"


def answer() -> None:
    """Read a report's name and input, write its bytes, and exit; runs in the subprocess."""
    output, errors = os.dup(1), os.dup(2)
    # Output printed by a writer is not part of the report.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        name, report, variant = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process above
        data = load_writer(name, variant=variant)(report).encode("utf-8", "replace")
    except Exception as error:  # noqa: BLE001 - only its kind is told: its text may be a prompt
        os.write(errors, type(error).__name__.encode())
        os._exit(_FAILED)
    with os.fdopen(output, "wb") as stream:
        stream.write(data)
