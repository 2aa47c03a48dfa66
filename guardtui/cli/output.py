"""Data of commands: written to standard output, or to the file named by --output."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from guardtui.cli.diagnostics import InputError


def write(text: str, output: Path | None = None, *, private: bool = False) -> None:
    """Write a command's data: to the file, atomically, or to standard output ("-" or None).

    A reader that stopped reading (`guardtui eval … | head`) is not an error. For a terminal,
    control characters are made visible; a pipe or file gets the text unchanged, in UTF-8. Raises
    `FileError` if the file, and `OSError` if standard output cannot be written.
    """
    if _is_file(output):
        from guardtui.files.atomic import write_atomically

        _refuse_sessions(output)
        _require_writable(output)
        write_atomically(output, text.encode("utf-8", "replace"), private=private)
        return
    _require_stdout()
    if sys.stdout.isatty():
        from guardtui.domain.text import display_text

        # Tabs separate the cells of a table, and are harmless.
        text = "\t".join(display_text(part, newlines=True) for part in text.split("\t"))
        content = text.encode(sys.stdout.encoding or "utf-8", "replace")
    else:
        content = text.encode("utf-8", "replace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        forget_stdout()
    except OSError:
        forget_stdout()
        raise


def path_from_here(path: Path) -> str:
    """Return the path as CI systems expect it: relative if it is below this folder."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Return rows of texts: aligned below a header for a terminal, tab-separated for a pipe."""
    if not (sys.stdout and sys.stdout.isatty()):
        return "".join("\t".join(row) + "\n" for row in rows)
    from guardtui.domain.text import display_text

    shown = [list(map(display_text, row)) for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in shown
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def check_output(output: Path | None, *inputs: Path) -> None:
    """Check before the work that the output can be written and is not one of the inputs.

    Raises `FileError`, and `InputError` if standard output is needed but closed.
    """
    if _is_file(output):
        from guardtui.files.atomic import refuse_overwriting

        refuse_overwriting(output, *inputs)
        _refuse_sessions(output)
        _require_writable(output)
    else:
        _require_stdout()


def _require_writable(output: Path) -> None:
    """Raise FileError if the file cannot be created, as far as that is known before."""
    from guardtui.files.atomic import descriptor_of
    from guardtui.files.problems import FileError, from_os_error

    if descriptor_of(output) is not None:
        return
    try:
        # Not `exists`, which hides that a name is too long from Python 3.14 on.
        if not stat.S_ISREG(output.stat().st_mode):
            return  # a device or pipe can be written
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise from_os_error(output, error) from error
    folder = Path(os.path.realpath(output)).parent
    if not folder.exists():
        raise FileError(output, f"no folder {output.parent}", "create it first")
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise FileError(output, f"the folder {folder} is read-only", "name a file elsewhere")


_SESSIONS = ".guardtui", "sessions.sqlite3"  # as in session.store, which imports much


def _refuse_sessions(output: Path) -> None:
    """Raise InputError for a file in a folder of sessions, whose iterations would be lost."""
    folder, kept = _SESSIONS
    for parent in Path(os.path.realpath(output)).parents:
        if parent.name == folder and (parent / kept).exists():
            raise InputError(f"{output}: sessions are stored in this folder\n  name another folder")


def _is_file(output: Path | None) -> TypeGuard[Path]:
    """Return whether this is not standard output."""
    if output is None or str(output) == "-":
        return False
    from guardtui.files.atomic import descriptor_of

    return descriptor_of(output) != 1


def _require_stdout() -> None:
    if sys.stdout is None:  # closed by the caller
        raise InputError("standard output is closed\n  open it, or redirect it to a file: > FILE")


def forget_stdout() -> None:
    """Redirect standard output to the null device, so that the last flush succeeds."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
