"""`guardtui convert`: make a prompt set of another tool's test cases, a log or plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError, note, warn
from guardtui.cli.options import FILE, output_option, sheet_option
from guardtui.cli.output import check_output, write
from guardtui.domain.figures import count_text
from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.atomic import descriptor_of, write_atomically
from guardtui.files.foreign import FORMATS, recognised
from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
    check_rows,
)
from guardtui.files.problems import FileError
from guardtui.files.prompt_rows import read_prompt_bytes
from guardtui.files.prompt_writing import prompt_set_bytes, starts_formula

TO = {"csv": (".csv", ".tsv"), "jsonl": (".jsonl", ".ndjson"), "parquet": (".parquet",)}
"""Endings of each format; the first is the default if no file is named."""

_READ_ONLY = (".json", ".xlsx")
"""Endings of formats that are read but not written."""

_OPTION = {
    "prompt_column": "--prompt-column",
    "expected_column": "--expected-column",
    "true": "--true",
    "guardrail": "--guardrail",
    "label": "--expected",
    "unlabelled": "--unlabelled",
    "sheet": "--sheet",
}
_OF_LISTS = ("prompt_column", "sheet")
"""Fields of the options that fit --positive and --negative."""


@click.command(
    "convert",
    cls=Command,
    examples=(
        ("guardtui convert promptfooconfig.yaml -o prompts.csv", "Test cases of promptfoo"),
        (
            "guardtui convert --positive bad.txt --negative good.txt -o prompts.csv",
            "Two plain lists",
        ),
    ),
)
@click.argument("source", type=FILE, required=False, metavar="[INPUT]")
@click.option(
    "--from",
    "format_name",
    type=click.Choice(list(FORMATS)),
    metavar="|".join(FORMATS),
    help="Format of INPUT (default: detected from its content).",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(tuple(TO)),
    help="Format of the prompt set (default: by the ending of --output, or csv).",
)
@output_option
@click.option(
    "--intent",
    type=click.Choice(["block", "allow"]),
    help="Intent of the prompt set (default: that of INPUT, or block).",
)
@click.option("--prompt-column", metavar="NAME", help="Column or variable of the prompt.")
@click.option(
    "--expected-column",
    metavar="NAME",
    help="Column, variable or metadata with the label.",
)
@click.option(
    "--true",
    "true",
    multiple=True,
    metavar="VALUE",
    help="A label, assertion's value or user intent that means that it belongs (repeatable).",
)
@click.option(
    "--guardrail", metavar="NAME", help="The guardrail or policy to convert, if there are several."
)
@click.option(
    "--expected",
    "label",
    type=click.Choice(["true", "false"]),
    help="The label of every prompt of a plain list, or of a table with --prompt-column.",
)
@click.option(
    "--unlabelled",
    type=click.Choice(("error", "leave-out", "false")),
    help="What rows with an empty label are: an error (default), left out, or false.",
)
@sheet_option
@click.option(
    "--positive",
    "positive",
    multiple=True,
    metavar="FILE[:COLUMN]",
    help="Prompts that belong to the topic, in place of INPUT: a plain list, or a table with the "
    "column of its prompts, or with --prompt-column (repeatable).",
)
@click.option(
    "--negative",
    "negative",
    multiple=True,
    metavar="FILE[:COLUMN]",
    help="Prompts that do not belong to the topic, likewise (repeatable).",
)
def command(
    source: Path | None,
    format_name: str | None,
    target: str | None,
    output: Path | None,
    intent: str | None,
    prompt_column: str | None,
    expected_column: str | None,
    true: tuple[str, ...],
    guardrail: str | None,
    label: str | None,
    unlabelled: str | None,
    sheet: str | None,
    positive: tuple[str, ...],
    negative: tuple[str, ...],
) -> None:
    """Make a prompt set of INPUT: another tool's test cases, a log, a table or plain lists.

    Reads test cases of promptfoo, datasets of openai-guardrails' evaluation tool, evaluation sets
    of NeMo Guardrails, logs of inspect_ai, tables with columns of other names, and plain lists.
    Other fields are kept as columns. An existing file is never overwritten.
    """
    lists = [_List.of(word, True) for word in positive]
    lists += [_List.of(word, False) for word in negative]
    if (source is None) is not bool(lists):
        problem = "--positive and --negative take the place of INPUT" if lists else "no INPUT"
        raise click.UsageError(f"{problem}: give one of them")
    if lists and format_name not in (None, "lines", "table"):
        raise click.UsageError(f"--positive and --negative do not fit --from {format_name}")
    inputs = [item.path for item in lists] if source is None else [source]
    check_output(output, *inputs)
    written_as = _written_as(target, output)
    _refuse_existing(output)
    mapped = ImportOptions(
        prompt_column=prompt_column or "",
        expected_column=expected_column or "",
        true=true,
        guardrail=guardrail or "",
        label=None if label is None else label == "true",
        intent=Intent(intent or "block"),
        unlabelled=None if unlabelled is None else Unlabelled(unlabelled),
        sheet=sheet or "",
    )
    problems = Problems()
    if source is None:
        name, reading = _read_lists(lists, format_name, mapped, problems)
    else:
        name, reading = _read(source, format_name, mapped, problems)
    check_rows(reading.rows, problems, as_text=written_as.suffix in TO["csv"])
    problems.raise_any()
    if not reading.rows:
        problems.add(inputs[0], "there are no prompts in it")
    problems.raise_any()
    chosen = Intent(intent) if intent else reading.intent or Intent.BLOCK
    half = mapped.label is not None or (bool(lists) and not (positive and negative))
    content = _content(inputs[0], written_as, reading, chosen, half=half)
    for text in reading.notes:
        warn(text)
    if output is None or str(output) == "-":
        write(content.decode())
    else:
        write_atomically(output, content)
    _say(name, reading, chosen, written_as, output, half=half)


def _written_as(target: str | None, output: Path | None) -> Path:
    """Return a path whose ending is that of the prompt set's format."""
    ending = "" if output is None else output.suffix.lower()
    known = {suffix: name for name, endings in TO.items() for suffix in endings}
    if ending and ending not in known and (target is None or ending in _READ_ONLY):
        raise click.UsageError(
            f"--output {output}: a prompt set is written to files that end in {', '.join(known)}"
        )
    if target is None:
        target = known.get(ending, "csv")
    elif ending in known and known[ending] != target:
        raise click.UsageError(
            f"--to {target} does not fit {output}: a file with this ending is read as {ending[1:]}"
        )
    elif (
        target != "csv"
        and ending not in known
        and output is not None
        and str(output) != "-"
        and not output.exists()
        and descriptor_of(output) is None
    ):
        raise click.UsageError(
            f"--to {target} does not fit {output}: only a file that ends in "
            f"{' or '.join(TO[target])} is read as that"
        )
    if target == "parquet" and (output is None or str(output) == "-"):
        raise click.UsageError("Parquet is binary: name a file with --output")
    return Path(f"prompts{ending}" if known.get(ending) == target else f"prompts{TO[target][0]}")


def _refuse_existing(output: Path | None) -> None:
    """Raise InputError if a file would be overwritten; a device or pipe may exist."""
    if output is None or str(output) == "-":
        return
    if (output.is_symlink() or output.is_file()) and descriptor_of(output) is None:
        raise InputError(
            f"{output}: the file exists, and is never overwritten\n"
            "  name another file, or remove it first"
        )


def _read(
    path: Path, name: str | None, mapped: ImportOptions, problems: Problems
) -> tuple[str, ForeignPrompts]:
    """Return the name of the format, and the content of the input."""
    source = _source(path, problems)
    if name is None:
        name = recognised(source) if mapped.label is None else _list_or_table(source)
    else:
        source.content  # noqa: B018 - raises the error of an unreadable file
    form = FORMATS[name]
    if mapped.label is not None and (mapped.expected_column or mapped.true):
        raise click.UsageError("--expected gives every label: omit --expected-column and --true")
    for field, option in _OPTION.items():
        if getattr(mapped, field) not in ("", (), None) and field not in form.options:
            fitting = ", ".join(_OPTION[key] for key in form.options)
            raise click.UsageError(f"{option} does not fit {form.title}: its options are {fitting}")
    return name, form.read(source, mapped)


def _source(path: Path, problems: Problems) -> ForeignInput:
    """Return the input, standard input for `-`. Raises FileError."""
    if str(path) == "-":
        return ForeignInput(*read_prompt_bytes(path), problems)
    return ForeignInput(path, problems=problems)


def _list_or_table(source: ForeignInput) -> str:
    """Return the format of prompts that all have one label. Raises FileError."""
    return "table" if FORMATS["table"].recognises(source) else "lines"


@dataclass(frozen=True)
class _List:
    """A file of prompts that all have one label; `column` is "" if none was named."""

    path: Path
    label: bool
    column: str = ""

    @classmethod
    def of(cls, word: str, label: bool) -> _List:
        """Parse FILE or FILE:COLUMN. Both may contain colons: the longest existing file counts."""
        if word != "-" and not _exists(word):
            colons = [index for index, sign in enumerate(word) if sign == ":"]
            for index in reversed(colons):
                name, column = word[:index], word[index + 1 :]
                if column and (name == "-" or _exists(name)):
                    return cls(Path(name), label, column)
        return cls(Path(word), label)


def _exists(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _read_lists(
    lists: Sequence[_List],
    format_name: str | None,
    mapped: ImportOptions,
    problems: Problems,
) -> tuple[str, ForeignPrompts]:
    """Return the names of the inputs of one label, and their content."""
    for field, option in _OPTION.items():
        if field not in _OF_LISTS and getattr(mapped, field) not in ("", (), None):
            raise click.UsageError(f"{option} does not fit --positive and --negative")
    rows: list[ForeignRow] = []
    notes: list[str] = []
    formats: dict[str, None] = {}
    for item in lists:
        source = _source(item.path, problems)
        name = format_name or _list_or_table(source)
        formats[name] = None
        if item.column and name != "table":
            raise click.UsageError(f"{item.path}: a plain list has no column {item.column!r}")
        column = item.column or mapped.prompt_column
        chosen = replace(mapped, label=item.label, prompt_column=column)
        reading = FORMATS[name].read(source, chosen)
        rows += reading.rows
        notes += reading.notes
    if mapped.prompt_column and "table" not in formats:
        raise click.UsageError("--prompt-column does not fit plain lists")
    return " and ".join(formats), ForeignPrompts(rows, None, notes)


def _content(
    source: Path, written_as: Path, reading: ForeignPrompts, intent: Intent, *, half: bool
) -> bytes:
    """Return the bytes of the prompt set. Raises InputError if it would be invalid."""
    rows = reading.rows
    names = dict.fromkeys(name for row in rows for name in row.extra)
    try:
        return prompt_set_bytes(
            written_as,
            [row.prompt for row in rows],
            [row.expected for row in rows],
            intent,
            {name: [row.extra.get(name, "") for row in rows] for name in names},
            one_class=half,
        )
    except PromptSetError as error:
        problems = "\n".join(finding.message for finding in error.findings)
        raise InputError(f"{source}: {problems}") from error
    except FileError as error:
        raise InputError(f"{source}: {error.problem}\n  {error.remedy}") from error


def _say(
    name: str,
    reading: ForeignPrompts,
    intent: Intent,
    written_as: Path,
    output: Path | None,
    *,
    half: bool,
) -> None:
    """Report what was converted, with warnings."""
    rows = reading.rows
    true = sum(row.expected for row in rows)
    target = "" if output is None or str(output) == "-" else f" to {output}"
    note(
        f"{name}: {count_text(len(rows), 'prompt')}{target}, "
        f"{true} expected true and {len(rows) - true} false, intent {intent}"
    )
    if half and true in (0, len(rows)):
        warn(
            f"no prompt is expected {'false' if true else 'true'}: add such prompts "
            "before it is used as a prompt set"
        )
    if written_as.suffix in TO["csv"] and (count := starts_formula([row.prompt for row in rows])):
        verb = "begins" if count == 1 else "begin"
        warn(
            f"{count} of the prompts {verb} like a formula: do not open the file in a spreadsheet, "
            "or convert with --to jsonl"
        )
