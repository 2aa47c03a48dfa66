"""What GitHub Actions shows of an evaluation: annotations in the log, a summary of the step."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.cli.gates import Result, State

if TYPE_CHECKING:
    from guardtui.reports.base import ReportInput

SUMMARY = "GITHUB_STEP_SUMMARY"
ANNOTATIONS = 10
"""Regressions that are annotated: GitHub shows no more of a step."""

SUMMARY_BYTES = 1024 * 1024
"""What GitHub takes of a step; it shows nothing of a longer one."""

_CHARACTERS = 200  # of a prompt in an annotation
_CUT = "\n… the rest does not fit in here: see the report's file\n"


def tell(report: ReportInput, results: Sequence[Result], prompts: Path, *inputs: Path) -> None:
    """Annotate what failed and got worse, and append to the step's summary, where there is one.

    `prompts` is the file whose lines are annotated; the summary goes into none of `inputs`. What
    cannot be written is said, and changes nothing else.
    """
    if diagnostics.is_github():
        for line in annotation_lines(report, results, prompts):
            diagnostics.workflow_command(line)
    if name := os.environ.get(SUMMARY):
        from guardtui.reports.base import load_writer

        problem = _append(Path(name), load_writer("md")(report), (prompts, *inputs))
        if problem:
            diagnostics.warn(f"{name}: no summary of the step is written: {problem}")


def annotation_lines(
    report: ReportInput, results: Sequence[Result], prompts: Path
) -> Iterator[str]:
    """Commands of the workflow that show gates and regressions beside the prompt file's lines."""
    from guardtui.domain.comparison import Change
    from guardtui.reports.base import verdict_text

    for one in results:
        if one.state is not State.PASSED:
            level = "error" if one.state is State.FAILED else "warning"
            title = _property(f"guardtui: {one.option} {one.state}")
            yield f"::{level} title={title}::{_data(one.text)}"
    refused = any(
        one.option == "--max-regressions" and one.state is State.FAILED for one in results
    )
    file = _property(_in_repository(prompts))
    for row in report.with_change(Change.REGRESSION).first(ANNOTATIONS):
        line = f",line={row.line}" if row.line else ""
        text = f"{row.outcome}, {verdict_text(row)}: {(row.prompt or '')[:_CHARACTERS]}"
        level = "error" if refused else "warning"
        yield f"::{level} file={file}{line},title=Regression::{_data(text)}"


def _data(text: str) -> str:
    """The message of a command: what could end it, or be read as an escape, escaped."""
    from guardtui.domain.text import display_text

    text = display_text(text).replace("%", "%25")
    return text.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The value of a command's property, in which ":" and "," have a meaning too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _in_repository(path: Path) -> str:
    """The file's path from the top of the repository, which is what GitHub asks for."""
    top = os.environ.get("GITHUB_WORKSPACE")
    if top:
        try:
            return path.resolve().relative_to(Path(top).resolve()).as_posix()
        except (OSError, ValueError):
            pass
    return path.as_posix()


def _append(path: Path, text: str, inputs: Sequence[Path]) -> str:
    """Append to the summary as much as it takes, by whole lines; what was wrong, or ""."""
    from guardtui.files.atomic import refuse_overwriting
    from guardtui.files.problems import FileError

    try:
        refuse_overwriting(path, *inputs)
        size = 0
        if path.exists():
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return "it is no ordinary file"
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
                os.truncate(path, size)  # half a table would be read as all of it
            raise
    except FileError as error:
        return error.problem
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or "its name cannot be used"
    return ""
