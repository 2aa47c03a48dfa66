"""`guardtui check`: errors and warnings on a definition and its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.advice.text_lint import lint_text
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, defused, note
from guardtui.cli.options import FILE, engine_options, exits, output_option, reading_options
from guardtui.cli.output import check_output, path_from_here, write
from guardtui.cli.output_options import format_choice, format_for
from guardtui.config import ConfigError
from guardtui.domain.figures import count_text
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.targets import ExportTarget
from guardtui.files.problems import FileError
from guardtui.files.topic_files import load_topic, load_topics
from guardtui.reports.check import Remark, check_sarif, check_table, definition_remarks

if TYPE_CHECKING:
    from guardtui.domain.operating_point import Wanted

_FORMATS = ("table", "json", "sarif")


@click.command(
    "check",
    cls=Command,
    examples=(
        ("guardtui check tax.yaml --prompts tax.csv", "A definition and its prompts"),
        (
            "guardtui check topics/one.yaml topics/two.yaml --strict",
            "Definitions alone; advice fails too",
        ),
    ),
)
@click.argument("topics", type=FILE, nargs=-1, required=True, metavar="TOPIC…")
@click.option(
    "--prompts",
    type=FILE,
    metavar="FILE",
    help="Labelled prompts (CSV, JSON, Parquet, Excel; - for standard input); without them "
    "definitions alone are checked.",
)
@reading_options
@format_choice(_FORMATS)
@click.option(
    "--for",
    "target",
    type=click.Choice([target.value for target in ExportTarget]),
    default=ExportTarget.AIRS.value,
    help="Report what this target would reject: airs (default), decision (a decision model behind "
    "LiteLLM's guardrail) or bedrock (a denied topic).",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there are only warnings.")
@engine_options
@output_option
@exits(
    {
        Exit.GATE_FAILED: "there are warnings, with --strict",
        Exit.BAD_INPUT: "bad usage or input, or there is an error",
    }
)
def command(
    topics: tuple[Path, ...],
    prompts: Path | None,
    reading: Reading | None,
    format_name: str | None,
    target: str,
    strict: bool,
    encoder: str | None,
    threshold: Wanted,
    output: Path | None,
) -> int:
    """List errors and warnings on a definition and its prompts.

    Errors are violated limits and invalid prompts. Warnings are doubtful prompts and known
    weaknesses of definitions, with the coverage that the engine measures without the
    weakness. Near-duplicates, and prompts near which another label would teach most, follow.
    Without --prompts, any number of topic files is checked by their texts alone, each
    with all of its topics; of a guardrails.yaml among them, the names and keys are checked.
    """
    if prompts is None:
        for option, given in (
            ("--set", encoder is not None),
            ("--threshold", threshold is not None),
            ("--unlabelled or --sheet", reading is not None),
        ):
            if given:
                raise click.UsageError(f"{option} needs --prompts: add --prompts FILE")
    elif len(topics) > 1:
        raise click.UsageError(
            "--prompts is for one topic: check several without it, or each with its own prompts"
        )
    check_output(output, *topics, *filter(None, [prompts]))
    format_name = format_for(format_name, output, "table", _FORMATS)
    kind = ExportTarget(target)
    surveyed = None
    if prompts is None:
        remarks = [remark for path in topics for remark in _definitions(path, kind)]
    else:
        # Imported here: definitions alone need neither data libraries nor an encoder.
        from guardtui.cli.check.prompts import measured

        file, surveys = load_topic(topics[0]), format_name != "sarif"
        remarks = definition_remarks(str(file.path), file.topic, kind)
        found, surveyed = measured(file, prompts, reading, encoder, threshold, surveys=surveys)
        remarks += found
    if format_name == "sarif":
        files = [*topics, *filter(None, [prompts])]
        shown = {str(path): path_from_here(path) for path in files}
        text = check_sarif(remarks, {str(path): _field_lines(path) for path in files}, shown)
    elif format_name == "json":
        from guardtui.reports.check_json import check_json

        text = check_json(remarks, surveyed)
    else:
        text = check_table(remarks)
        if surveyed is not None:
            from guardtui.reports.survey_document import survey_table

            text += survey_table(surveyed)
    write(text if format_name != "table" or output else defused(text), output)
    if any(remark.severity == "error" for remark in remarks):
        return Exit.BAD_INPUT
    return Exit.GATE_FAILED if strict and remarks else Exit.DONE


def _definitions(path: Path, target: ExportTarget) -> list[Remark]:
    """Return the remarks on the definitions of a file; an unreadable file is one.

    Guardrails are kept beside topics, so `topics/*.yaml` names their file too.
    """
    from guardtui.app.guardrails.named import FILE as TEAM_FILE
    from guardtui.app.guardrails.named import guardrails_in

    try:
        if path.name == TEAM_FILE and path.exists():
            count = count_text(len(guardrails_in(path)), "guardrail")
            note(f"{path}: checked as guardrails, not as a topic: {count}")
            return []
        files = load_topics(path)
    except FileError as error:
        problems = error.problems if isinstance(error, ConfigError) else (error,)
        return [_unreadable(problem) for problem in problems]
    remarks = []
    for number, file in enumerate(files, start=1):
        alone = definition_remarks(str(path), file.topic, target)
        alone += [Remark.advised(str(path), str(path), advice) for advice in lint_text(file.topic)]
        if len(files) == 1:
            return alone
        name = file.topic.name.strip() or f"topic {number}"
        for remark in alone:
            field = remark.field
            line = file.lines.get(field) or file.lines.get(field.partition(".")[0])
            line = line or next(iter(file.lines.values()), None)
            positions = remark.lines if line is None else (line,)
            named = f"{name}: {remark.message}"
            remarks.append(replace(remark, message=named, lines=positions))
    return remarks


def _unreadable(error: FileError) -> Remark:
    lines = () if error.line is None else (error.line,)
    text = "\n  ".join(filter(None, (error.problem, error.remedy)))
    return Remark(error.path, "error", "file", text, lines)


def _field_lines(path: Path) -> Mapping[str, int]:
    """Return the lines of the fields of a topic file; {} for any other file."""
    try:
        files = load_topics(path)
    except FileError:
        return {}
    return files[0].lines if len(files) == 1 else {}
