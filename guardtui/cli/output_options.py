"""Options of a command's reports: files (--output) and formats (--format, or the ending)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import FILE
from guardtui.cli.output import check_output

if TYPE_CHECKING:
    from guardtui.reports.base import PageRequest

    _NameType = click.ParamType[str]
else:  # older versions of click do not have it generic
    _NameType = click.ParamType

TEMPLATES = ("md", "table")
"""Formats of a file of instructions: text, with Markdown or without."""


@dataclass(frozen=True, slots=True)
class ReportOutput:
    """Output of a report: a file, or None for standard output, and its format.

    `variant` says whether the variant of the format is wanted, such as CSV for Excel.
    """

    path: Path | None
    format_name: str
    variant: bool = False


class ReportFormatName(_NameType):
    """A name of a format: one of `choices`, or of another package."""

    name = "format"

    def __init__(self, choices: Sequence[str]) -> None:
        self.choices = choices


def format_option(default: str, *, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Return the options --format and those of variants; `without` are formats not in the help.

    `variants_of` takes the variants from the values of a command.
    """
    from guardtui.reports.formats import FORMATS, VARIANTS

    names = tuple(name for name in FORMATS if name not in without)

    def add(function: Function) -> Function:
        for name, variant in reversed(VARIANTS.items()):
            function = click.option(
                variant.option, variant.keyword, is_flag=True, help=f"Write {name} {variant.about}."
            )(function)
        return click.option(
            "--format",
            "format_name",
            type=ReportFormatName(names),
            metavar="NAME",
            help=f"Format of the report: {', '.join(names)}. Default: that of the file's ending, "
            f"or {default}.",
        )(function)

    return add


def format_choice(formats: Sequence[str]) -> Callable[[Function], Function]:
    """Return the option --format of a command with few formats."""
    return click.option(
        "--format",
        "format_name",
        type=click.Choice(formats),
        help="Format of the report (default: that of the file's ending, or table).",
    )


def variants_of(values: dict[str, Any]) -> frozenset[str]:
    """Remove the options of variants from a command's values; return the formats they are for."""
    from guardtui.reports.formats import VARIANTS

    return frozenset(name for name, variant in VARIANTS.items() if values.pop(variant.keyword))


def with_variants(outputs: list[ReportOutput], variants: Collection[str]) -> list[ReportOutput]:
    """Return the outputs with their variants. Raises `click.UsageError` for one without an output.

    `variants` are names of formats, from `variants_of`.
    """
    from guardtui.reports.formats import VARIANTS

    for name in variants:
        if not any(output.format_name == name for output in outputs):
            raise click.UsageError(
                f"{VARIANTS[name].option} is for the format {name}: add --format {name}"
            )
    return [replace(output, variant=output.format_name in variants) for output in outputs]


def page_options(function: Function) -> Function:
    """Add --more and --page, of which `page_of` makes a page."""
    function = click.option(
        "--page", type=click.IntRange(1), metavar="K", help="With --more: the page (default: 1)."
    )(function)
    return click.option(
        "--more",
        type=click.Choice(("fp", "fn", "broke", "fixed")),
        help="With --format brief: a page of all false positives or negatives, or of the prompts "
        "that broke or were fixed.",
    )(function)


def page_of(
    name: str | None, number: int | None, outputs: Sequence[ReportOutput]
) -> PageRequest | None:
    """Return the page that --more and --page name, or None.

    Raises `click.UsageError` if they do not fit each other or the outputs.
    """
    from guardtui.reports.base import PageRequest

    if name is None:
        if number is not None:
            raise click.UsageError("--page is for --more: add --more fp, fn, broke or fixed")
        return None
    if not any(output.format_name == "brief" for output in outputs):
        raise click.UsageError("--more is for the format brief: add --format brief")
    return PageRequest(name, number or 1)


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
    default: str,
    formats: Collection[str] | None = None,
) -> list[ReportOutput]:
    """Return the outputs of a command. Raises `click.UsageError` and `InputError`.

    `formats` are those of the command; None: all of reports. A named format is that of the screen,
    or of a single file with any ending of a text; several files have the formats of their endings.
    """
    from guardtui.reports.formats import FORMATS

    known = FORMATS if formats is None else formats
    for path in paths:
        if path.suffix.lower() in _BINARY:
            raise _not_an_ending(path, known)
    if not paths:
        return [ReportOutput(None, format_name or default)]
    if len(paths) == 1:
        only = _file(paths[0])
        return [ReportOutput(only, format_name or _format_of(only, default, known))]
    outputs: list[ReportOutput] = []
    for file in map(_file, paths):
        if any(output.path == file for output in outputs):
            raise click.UsageError(f"--output {file or '-'} is named twice")
        named = format_name if file is None else None
        outputs.append(ReportOutput(file, named or _format_of(file, default, known)))
    if format_name and all(output.path for output in outputs):
        raise click.UsageError(
            "--format is for one output: several files have the formats of their endings"
        )
    return outputs


def choose_reports(
    format_name: str | None, paths: Sequence[Path], variants: Collection[str]
) -> list[ReportOutput]:
    """Return the outputs of a command that reports on one evaluation, by default as a table.

    Raises `click.UsageError`, `InputError` and, for an unknown format, `ReportError`.
    """
    from guardtui.reports.formats import FORMATS, OF_SESSIONS, load_writer

    for name in OF_SESSIONS:
        ending = f".{FORMATS[name].ending}"
        by_ending = format_name is None and any(path.suffix.lower() == ending for path in paths)
        if format_name == name or by_ending:
            raise InputError(
                f"format {name}: it has the iterations of a session, and this is one evaluation\n"
                f"  'guardtui export TOPIC --format {name}' writes it; choose another format here"
            )
    formats = [name for name in FORMATS if name not in OF_SESSIONS]
    outputs = with_variants(choose(format_name, paths, "table", formats), variants)
    for output in outputs:
        # An unknown format fails before the work.
        load_writer(output.format_name, without=OF_SESSIONS)
    return outputs


def format_for(
    format_name: str | None, path: Path | None, default: str, formats: Collection[str]
) -> str:
    """Return the format of a command's only output. Raises `InputError`."""
    (output,) = choose(format_name, [] if path is None else [path], default, formats)
    return output.format_name


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


_BINARY = (".eval", ".xlsx", ".parquet", ".zip", ".gz", ".pdf", ".png")
"""Endings that no text fits, whichever format is named."""

_MORE_ENDINGS = {"xml": "junit", "htm": "html", "markdown": "md", "sarif.json": "sarif"}


def _format_of(path: Path | None, default: str, formats: Collection[str]) -> str:
    """Return the format of a file by its longest known ending, or the default without any.

    Raises `InputError` for a file with another ending.
    """
    if path is None:
        return default
    endings = _endings(formats)
    endings |= {ending: name for ending, name in _MORE_ENDINGS.items() if name in formats}
    fitting = [ending for ending in endings if path.name.lower().endswith(f".{ending}")]
    if fitting:
        return endings[max(fitting, key=len)]
    if path.suffix:
        raise _not_an_ending(path, formats)
    return default


def _endings(formats: Collection[str]) -> dict[str, str]:
    from guardtui.reports.formats import FORMATS

    return {FORMATS[name].ending: name for name in formats}


def _not_an_ending(path: Path, formats: Collection[str]) -> InputError:
    from guardtui.domain.text import display_text

    endings = ", ".join(f".{ending}" for ending in _endings(formats))
    problem = f"{path}: {display_text(path.suffix)} is not the ending of a report"
    if path.suffix.lower() in _BINARY:
        return InputError(f"{problem}, which is a text\n  give the file one of these: {endings}")
    return InputError(
        f"{problem}\n  give the file one of these: {endings}; or name the format with --format"
    )
