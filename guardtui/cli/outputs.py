"""Several reports from one run: where each goes, and in which form, told by its ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import FILE, Function
from guardtui.cli.output import check_output


@dataclass(frozen=True, slots=True)
class Output:
    """One report: a file, or None for standard output, and the format's name."""

    path: Path | None
    format_name: str


def format_option(default: str, *, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Make --format, whose help names the built-in formats but those that fit no such report."""
    from guardtui.reports.formats import FORMATS

    names = ", ".join(name for name in FORMATS if name not in without)
    return click.option(
        "--format",
        "format_name",
        metavar="NAME",
        help=f"Form of the report: {names}. Default: that of the file's ending, else {default}.",
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
        help="Write to this file, in the form of its ending (repeatable; - is the screen).",
    )(function)


def choose(
    format_name: str | None,
    paths: Sequence[Path],
    ending: Callable[[str], str | None],
    default: str,
) -> list[Output]:
    """What to write where. Raises `click.UsageError` and `InputError` before any work is done.

    `ending` gives the format of a file's name, or None. A format that was named holds for the
    screen, or for a single file whatever its ending is; of several files each has its own.
    """
    if not paths:
        return [Output(None, format_name or default)]
    if len(paths) == 1:
        path = _file(paths[0])
        chosen = format_name or (ending(path.name) if path else None)
        return [Output(path, chosen or _otherwise(path, default))]
    found: list[Output] = []
    for path in map(_file, paths):
        if any(one.path == path for one in found):
            raise click.UsageError(f"--output {path or '-'} is named twice")
        chosen = format_name if path is None else ending(path.name)
        found.append(Output(path, chosen or _otherwise(path, default)))
    if format_name and all(one.path for one in found):
        raise click.UsageError(
            "--format fits one output: of several files each has the form of its ending"
        )
    return found


def check_outputs(paths: Sequence[Path], *inputs: Path) -> None:
    """See before the work that all can be delivered, and none is read; none is the screen.

    Raises `FileError` and `InputError`.
    """
    for path in paths or (None,):
        check_output(path, *inputs)
        # A scan takes long: that its report can go nowhere is not for the end.
        if path is not None and not _is_folder(path.parent):
            raise InputError(f"{path}: there is no folder {path.parent}\n  make it first")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _file(path: Path) -> Path | None:
    return None if str(path) == "-" else path


def _otherwise(path: Path | None, default: str) -> str:
    """The format of a name that tells none; an ending that is another's is refused."""
    if path is not None and path.suffix:
        from guardtui.domain.text import display_text

        raise InputError(
            f"{path}: {display_text(path.suffix)} is the ending of no report\n"
            "  name the form with --format, or give the file another ending"
        )
    return default


_MORE_ENDINGS = {"xml": "junit", "htm": "html", "markdown": "md", "sarif.json": "sarif"}


def format_of_name(name: str) -> str | None:
    """The format of reports whose files are called so; the longest ending that fits tells."""
    from guardtui.reports.formats import FORMATS

    endings = {one.ending: key for key, one in FORMATS.items()} | _MORE_ENDINGS
    fitting = [ending for ending in endings if name.lower().endswith(f".{ending}")]
    return endings[max(fitting, key=len)] if fitting else None
