"""Results in GitHub Actions: annotations in the log, and the summary of the step."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.cli.gates import Result, State
from guardtui.domain.text import shortened

if TYPE_CHECKING:
    from guardtui.reports.base import ReportInput

SUMMARY = "GITHUB_STEP_SUMMARY"
ANNOTATIONS = 10
"""Maximum number of annotated regressions: GitHub shows no more for a step."""

SUMMARY_BYTES = 1024 * 1024
"""Maximum size of a step's summary; GitHub shows nothing of a longer one."""

_CHARACTERS = 200  # of a prompt in an annotation
_CUT = "\n… the rest does not fit in here: see the report's file\n"


def annotate(report: ReportInput, results: Sequence[Result], prompts: Path, *inputs: Path) -> None:
    """Annotate failed gates and regressions, and append to the step's summary, if there is one.

    `prompts` is the file whose lines are annotated; the summary is never written to one of
    `inputs`. A failure to write is printed, and changes nothing else.
    """
    if diagnostics.is_github():
        for line in annotation_lines(report, results, prompts):
            diagnostics.workflow_command(line)
    if name := os.environ.get(SUMMARY):
        from guardtui.reports.formats import load_writer

        problem = _append(Path(name), load_writer("md")(report), (prompts, *inputs))
        if problem:
            diagnostics.warn(f"{name}: no summary of the step is written: {problem}")


def annotation_lines(
    report: ReportInput, results: Sequence[Result], prompts: Path
) -> Iterator[str]:
    """Yield workflow commands for gates and for regressions at lines of the prompt file."""
    from guardtui.domain.comparison import Change
    from guardtui.reports.base import verdict_text

    for result in results:
        if result.state is not State.PASSED:
            level = "error" if result.state is State.FAILED else "warning"
            title = _property(f"guardtui: {result.option} {result.state}")
            yield f"::{level} title={title}::{_data(result.text)}"
    refused = any(
        result.option == "--max-regressions" and result.state is State.FAILED for result in results
    )
    file = _property(_in_repository(prompts))
    for row in islice(report.with_change(Change.REGRESSION), ANNOTATIONS):
        line = f",line={row.line}" if row.line else ""
        text = f"{row.outcome}, {verdict_text(row)}: {shortened(row.prompt or '', _CHARACTERS)}"
        level = "error" if refused else "warning"
        yield f"::{level} file={file}{line},title=Regression::{_data(text)}"


def _data(text: str) -> str:
    """Return the message of a command, escaped."""
    from guardtui.domain.text import display_text

    text = display_text(text).replace("%", "%25")
    return text.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return the value of a command's property, in which ":" and "," are escaped too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _in_repository(path: Path) -> str:
    """Return the file's path from the top of the repository, as GitHub requires."""
    top = os.environ.get("GITHUB_WORKSPACE")
    if top:
        try:
            return path.resolve().relative_to(Path(top).resolve()).as_posix()
        except (OSError, ValueError):
            pass
    return path.as_posix()


def _append(path: Path, text: str, inputs: Sequence[Path]) -> str:
    """Append as many whole lines to the summary as fit; return the problem, or ""."""
    from guardtui.files.atomic import refuse_overwriting
    from guardtui.files.problems import FileError

    try:
        refuse_overwriting(path, *inputs)
        size = 0
        if path.exists():
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return "not a regular file"
            size = status.st_size
        content = text.encode("utf-8", "replace")
        room = SUMMARY_BYTES - size
        if len(content) > room:
            end = content.rfind(b"\n", 0, max(0, room - len(_CUT.encode())))
            if end < 0:
                return "it is full"
            content = content[:end] + _CUT.encode()
        try:
            with path.open("ab") as stream:
                stream.write(content)
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(path, size)  # half a table would be taken for the whole
            raise
    except FileError as error:
        return error.problem
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or "its name cannot be used"
    return ""
