"""Options of a command's reports: files (--output) and formats (--format, or the ending)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import FILE, Function
from guardtui.cli.output import check_output


@dataclass(frozen=True, slots=True)
class ReportOutput:
    """Output of a report: a file, or None for standard output, and the name of its format."""

    path: Path | None
    format_name: str


def format_option(default: str, *, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Return the option --format, whose help names the built-in formats except `without`."""
    from guardtui.reports.formats import FORMATS

    names = ", ".join(name for name in FORMATS if name not in without)
    return click.option(
        "--format",
        "format_name",
        metavar="NAME",
        help=f"Format of the report: {names}. Default: that of the file's ending, or {default}.",
    )


def outputs_option(function: Function) -> Function:
    """Add --output, which may be given several times."""
    return click.option(
        "--output",
        "-o",
        "outputs",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="Write to this file, in the format of its ending (repeatable; - is the screen).",
    )(function)


def choose(
    format_name: str | None,
    paths: Sequence[Path],
    ending: Callable[[str], str | None],
    default: str,
) -> list[ReportOutput]:
    """Return the outputs of a command. Raises `click.UsageError` and `InputError`.

    `ending` returns the format of a file name, or None. A named format is that of the screen, or of
    a single file with any ending; several files have the formats of their endings.
    """
    if not paths:
        return [ReportOutput(None, format_name or default)]
    if len(paths) == 1:
        path = _file(paths[0])
        chosen = format_name or (ending(path.name) if path else None)
        return [ReportOutput(path, chosen or _without_ending(path, default))]
    outputs: list[ReportOutput] = []
    for path in map(_file, paths):
        if any(output.path == path for output in outputs):
            raise click.UsageError(f"--output {path or '-'} is named twice")
        chosen = format_name if path is None else ending(path.name)
        outputs.append(ReportOutput(path, chosen or _without_ending(path, default)))
    if format_name and all(output.path for output in outputs):
        raise click.UsageError(
            "--format is for one output: several files have the formats of their endings"
        )
    return outputs


def check_outputs(paths: Sequence[Path], *inputs: Path) -> None:
    """Check before the work that all outputs can be written and none is an input.

    Without `paths` that is standard output. Raises `FileError` and `InputError`.
    """
    for path in paths or (None,):
        check_output(path, *inputs)
        # A scan takes long: fail before it if its report cannot be written.
        if path is not None and not _is_folder(path.parent):
            raise InputError(f"{path}: no folder {path.parent}\n  create it first")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _file(path: Path) -> Path | None:
    return None if str(path) == "-" else path


def _without_ending(path: Path | None, default: str) -> str:
    """Return the default format. Raises `InputError` for a file with an unknown ending."""
    if path is not None and path.suffix:
        from guardtui.domain.text import display_text

        raise InputError(
            f"{path}: {display_text(path.suffix)} is not the ending of a report\n"
            "  name the format with --format, or give the file another ending"
        )
    return default


_MORE_ENDINGS = {"xml": "junit", "htm": "html", "markdown": "md", "sarif.json": "sarif"}


def format_of_name(name: str) -> str | None:
    """Return the format of a file name, by its longest known ending, or None."""
    from guardtui.reports.formats import FORMATS

    endings = {report_format.ending: key for key, report_format in FORMATS.items()} | _MORE_ENDINGS
    fitting = [ending for ending in endings if name.lower().endswith(f".{ending}")]
    return endings[max(fitting, key=len)] if fitting else None
