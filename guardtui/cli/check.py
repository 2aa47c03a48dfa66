"""`guardtui check`: everything that is wrong or doubtful in a definition and its prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.options import FILE, output_option
from guardtui.cli.output import check_output, write

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import Survey
    from guardtui.domain.prompts import Finding
    from guardtui.domain.topic import Topic

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding, wherever it is: `severity` is `error` or `warning`; `lines` are of the file."""

    file: str
    severity: str
    code: str
    message: str
    lines: tuple[int, ...] = ()


@click.command("check")
@click.argument("topic", type=FILE)
@click.option(
    "--prompts",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Labelled prompts (CSV, JSONL, Parquet).",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Form of the result (default: table).",
)
@click.option(
    "--clusters",
    is_flag=True,
    help="Also group prompts that are alike: error rates, near-duplicates, what to label next.",
)
@output_option
def command(
    topic: Path, prompts: Path, format_name: str, clusters: bool, output: Path | None
) -> int:
    """List what breaks the limits of a definition, and what is wrong or doubtful in its prompts.

    Exit code 2 when there is an error; warnings alone give 0.
    """
    check_output(output, topic, prompts)
    remarks = _remarks(topic, prompts)
    render = _json if format_name == "json" else _table
    survey = None
    if clusters:
        from guardtui.cli.clusters import survey_of_files

        survey = survey_of_files(topic, prompts)
    write(render(remarks, survey), output)
    errors = any(remark.severity == "error" for remark in remarks)
    return Exit.BAD_INPUT if errors else Exit.DONE


def _remarks(topic_path: Path, prompts_path: Path) -> list[Remark]:
    from guardtui.cli.inputs import agreed_topic, disagreement
    from guardtui.domain.prompts import PromptSetError, check_prompt_set
    from guardtui.files.prompt_files import load_prompts
    from guardtui.files.topic_files import load_topic

    file = load_topic(topic_path)
    remarks = _definition(topic_path, file.topic)
    try:
        prompts = load_prompts(prompts_path)
    except PromptSetError as error:
        remarks += [_prompt_remark(prompts_path, finding) for finding in error.findings]
        if error.total > len(error.findings):
            more = f"{error.total - len(error.findings)} more errors are not listed"
            remarks.append(Remark(str(prompts_path), "error", "more", more))
        return remarks
    topic = agreed_topic(file, prompts)
    if topic is None:
        remarks.append(
            Remark(str(topic_path), "error", "intent", disagreement(file, prompts, prompts_path))
        )
    remarks += [
        _prompt_remark(prompts_path, finding)
        for finding in check_prompt_set(prompts, topic or file.topic)
    ]
    return remarks


def _definition(path: Path, topic: Topic) -> list[Remark]:
    from guardtui.domain.topic import line_breaks, violations

    return [
        Remark(str(path), "error", f"limit.{violation.field}", violation.message)
        for violation in violations(topic)
    ] + [
        Remark(str(path), "warning", f"line-break.{found.field}", found.message)
        for found in line_breaks(topic)
    ]


def _prompt_remark(path: Path, finding: Finding) -> Remark:
    lines = tuple(int(line) for line in finding.lines)
    return Remark(str(path), str(finding.severity), finding.code, finding.message, lines)


def _json(remarks: Sequence[Remark], survey: Survey | None) -> str:
    document: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "errors": sum(remark.severity == "error" for remark in remarks),
        "warnings": sum(remark.severity != "error" for remark in remarks),
        "findings": [asdict(remark) for remark in remarks],
    }
    if survey is not None:
        from guardtui.cli import clusters

        document["prompt_set"] = clusters.document(survey)
    return json.dumps(document, indent=2) + "\n"


def _table(remarks: Sequence[Remark], survey: Survey | None) -> str:
    from guardtui.cli import clusters
    from guardtui.cli.inputs import located
    from guardtui.domain.text import display_text

    more = "" if survey is None else clusters.table(survey)
    if not remarks:
        return f"nothing is wrong or doubtful\n{more}"
    lines = []
    for remark in remarks:
        # A disagreement of two files says itself where it is.
        text = remark.message
        if remark.code != "intent":
            text = located(remark.file, remark.message, remark.lines)
        lines.append(f"{remark.severity}: {display_text(text, newlines=True)}")
    errors = sum(remark.severity == "error" for remark in remarks)
    lines.append(f"{errors} errors, {len(remarks) - errors} warnings")
    return "\n".join(lines) + "\n" + more
