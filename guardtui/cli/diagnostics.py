"""Messages on standard error, and exit codes: each failure is a sentence, not a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click

from guardtui.cli.signals import ending
from guardtui.domain.errors import GuardtuiError


class Exit(IntEnum):
    """Exit codes of all commands, each with its meaning."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Make the exit code of a number."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    DONE = 0, "done"
    GATE_FAILED = 1, "a gate failed"
    BAD_INPUT = 2, "bad usage or input"
    NOT_COMPLETED = 3, "not completed: verdicts are missing, or a service or guardtui failed"
    NOT_ENOUGH_EVIDENCE = 4, "not enough evidence"
    INTERRUPTED = 130, "interrupted; 129, 143: ended by another signal"


_has_progress = False
"""True if the last line of the terminal is one of progress."""


class InputError(GuardtuiError):
    """Bad input of a command; the message names file, line and remedy."""

    exit_code = 2


_RED, _GREEN, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_GATES = {"failed": _RED, "unsure": _YELLOW, "passed": _GREEN}


# A line that begins with "::", or has "##[" anywhere, is a command to the runner.
_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)


def is_github() -> bool:
    """Return whether this runs as a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def defused(text: str) -> str:
    """Return a text for a log: on GitHub, without anything that the runner takes for a command."""
    if not is_github():
        return text
    return _COMMAND.sub(r"\1: ", text).replace("##[", "## [")


def is_terminal() -> bool:
    """Return whether standard error is a terminal that can move its cursor."""
    return bool(sys.stderr and sys.stderr.isatty()) and os.environ.get("TERM") != "dumb"


def can_ask() -> bool:
    """Return whether both ends are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def colours() -> bool:
    """Return whether standard error may be coloured: a terminal, and NO_COLOR is unset or ""."""
    return is_terminal() and not os.environ.get("NO_COLOR")


def error(message: str) -> None:
    """Print an error."""
    _say("error", message, _RED)


def warn(message: str) -> None:
    """Print a warning."""
    _say("warning", message, _YELLOW)


def gate(state: str, message: str) -> None:
    """Print that a gate `passed`, `failed` or is `unsure`, and why."""
    _say(f"gate {state}", message, _GATES[state])


def note(message: str) -> None:
    """Print a note."""
    _say("", message, "")


def workflow_command(line: str) -> None:
    """Print a command for the runner of GitHub Actions; texts in it are already escaped."""
    _write(f"{line}\n")


def progress(message: str) -> None:
    """Replace the line of progress on a terminal, or clear it with "" if there is one."""
    global _has_progress
    if not is_terminal() or not (message or _has_progress):
        return
    _has_progress = bool(message)
    from guardtui.domain.text import display_text

    _write(f"\r\x1b[2K{display_text(message)}")


def _say(label: str, message: str, colour: str) -> None:
    from guardtui.domain.text import display_text

    if label and colour and colours():
        label = f"{colour}{label}:{_PLAIN} "
    elif label:
        label = f"{label}: "
    _write(f"{label}{defused(display_text(message, newlines=True))}\n")


def _write(text: str) -> None:
    if sys.stderr is None:  # closed by the caller
        return
    # There is no way to report that standard error cannot be written.
    with contextlib.suppress(OSError, ValueError):
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()


def run(command: Callable[[], Any]) -> int:
    """Run a command, print what it raises as a message, and return the exit code.

    The code is the command's result if that is an int, and 0 otherwise.
    """
    try:
        result = command()
        return int(result) if isinstance(result, int) else Exit.DONE
    except (KeyboardInterrupt, click.exceptions.Abort):
        progress("")
        word, code = ending()
        note(word)
        return code
    except click.ClickException as problem:
        return _usage(problem)
    except SystemExit as leave:
        # Click exits like this if the reader of its help is gone, and after a completion.
        return leave.code if isinstance(leave.code, int) else Exit.DONE
    except BaseException as problem:  # noqa: BLE001 - nothing may end in a traceback
        progress("")
        return failure(problem)


def _usage(problem: click.ClickException) -> int:
    context = getattr(problem, "ctx", None)
    message = problem.format_message()
    if context is not None and " " in context.command_path:
        message += f"\n  see '{context.command_path} --help'"
    error(message)
    return Exit.BAD_INPUT


_OF_NAMES = (errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR)
"""Errors of the system about a name that the user gave, wherever it is used first."""


def failure(problem: BaseException) -> int:
    """Print a failure and its remedy; return its exit code."""
    if isinstance(problem, GuardtuiError):
        error(str(problem))
        return problem.exit_code
    if isinstance(problem, MemoryError):
        error("not enough memory: use fewer prompts, or --set encoder=static")
        return Exit.NOT_COMPLETED
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
        target = problem.filename or "standard output"
        error(f"{target}: {problem.strerror}\n  free some space, or write to another place")
        return Exit.BAD_INPUT
    if isinstance(problem, OSError) and problem.errno in _OF_NAMES and problem.filename:
        error(f"{os.fsdecode(problem.filename)}: {problem.strerror}\n  name another file")
        return Exit.BAD_INPUT
    path = crash_file(problem)
    kept = f"; where it happened is in {path}" if path else ""
    error(
        f"guardtui failed unexpectedly ({type(problem).__name__}){kept}\n"
        "  that is a defect: please report it"
        + (" with that file, which holds no prompts" if path else "")
    )
    return Exit.NOT_COMPLETED


def crash_report(problem: BaseException) -> str:
    """Return types and places of an exception and its causes; no messages, values or prompts."""
    from guardtui import __version__

    lines = [f"guardtui {__version__}, python {sys.version.split()[0]}, {sys.platform}"]
    seen: set[int] = set()
    current: BaseException | None = problem
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        kind = type(current)
        lines.append(f"{kind.__module__}.{kind.__qualname__}")
        lines += _places(current.__traceback__)
        current = current.__cause__ or current.__context__
    return "\n".join(lines) + "\n"


def _places(traceback: TracebackType | None) -> list[str]:
    lines = []
    while traceback is not None:
        frame = traceback.tb_frame
        module = frame.f_globals.get("__name__", "?")
        lines.append(f"  {module}:{traceback.tb_lineno} {frame.f_code.co_name}")
        traceback = traceback.tb_next
    return lines


def crash_file(problem: BaseException) -> Path | None:
    """Write the crash report below the cache folder; return None if that fails."""
    from datetime import UTC, datetime

    name = f"crash-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.txt"
    try:
        folder = _cache_folder() / "crashes"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(crash_report(problem), "utf-8")
    except Exception:  # noqa: BLE001 - the way out of a failure must not fail
        return None
    return path


def _cache_folder() -> Path:
    # Not from the scanner's module, which imports numpy: numpy may be broken.
    if named := os.environ.get("GUARDTUI_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("guardtui", appauthor=False)
