"""`guardtui check`: errors and warnings on a definition and its prompts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from guardtui.advice.engine_scores import open_scores
from guardtui.advice.lint import lint
from guardtui.advice.lint_advice import Advice
from guardtui.advice.prompt_set import Survey, survey
from guardtui.app.advice.engine_findings import engine_findings
from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import Exit, defused
from guardtui.cli.inputs import agreed_topic, disagreement, path_from_here
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.cli.options import FILE, engine_options, output_option, reading_options
from guardtui.cli.output import check_output, write
from guardtui.cli.output_options import format_choice, format_for
from guardtui.domain.figures import count_text
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import Finding, PromptSet, PromptSetError, check_prompt_set, located
from guardtui.domain.targets import ExportTarget, refusals
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, line_breaks
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, load_topic, load_topics
from guardtui.reports.formats import render
from guardtui.reports.json_data import encode
from guardtui.reports.sarif_log import SarifResult, SarifRule, sarif_log
from guardtui.reports.survey_document import survey_document, survey_json
from guardtui.scanners.local.scanner import LocalScanner

_FORMATS = ("table", "json", "sarif")


@dataclass(frozen=True, slots=True)
class CoverageChange:
    """Change of coverage without the cause of a finding, by the embedded engine.

    `fixes` and `regressions` count prompts; they and `p_value` are None if the cause is prompts.
    """

    action: str
    coverage_before: float | None
    coverage_after: float | None
    fixes: int | None
    regressions: int | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding in a file: `severity` is `error` or `warning`; `lines` are those of the file.

    `effect` is None if it was not measured. `field` is the part of the definition, such as
    `examples.2`, or "".
    """

    file: str
    severity: str
    code: str
    message: str
    lines: tuple[int, ...] = ()
    effect: CoverageChange | None = None
    field: str = ""


@click.command("check")
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
    weaknesses of definitions, with the coverage that the embedded engine measures without the
    weakness. Near-duplicates, and prompts near which another label would teach most, follow.
    Without --prompts, any number of topic files is checked by their texts alone, each
    with all of its topics. Exit code 2 if there is an error; warnings alone give 0.
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
    topic = topics[0]
    surveyed = None
    if prompts is None:
        remarks = [
            remark for path in topics for remark in _definition_alone(path, ExportTarget(target))
        ]
    else:
        # Read once: a pipe gives its content only once.
        file, prompt_set = _load(topic, prompts, reading or AS_WRITTEN)
        if isinstance(prompt_set, PromptSet):
            agreed = agreed_topic(file, prompt_set)
            engine = settled_engine(encoder, threshold, agreed or file.topic, prompt_set)
            remarks = _remarks(file, prompts, prompt_set, engine, ExportTarget(target))
            # A disagreement of the intents is among the remarks.
            if agreed is not None and format_name != "sarif":
                evaluation = engine.evaluate_now(agreed, prompt_set)
                if evaluation is not None:
                    surveyed = survey(engine, prompt_set, evaluation)
        else:
            remarks = _unreadable(file, prompts, prompt_set, ExportTarget(target))
    if format_name == "sarif":
        text = _sarif(remarks, [*topics, *filter(None, [prompts])])
    else:
        text = (_as_json if format_name == "json" else _as_table)(remarks, surveyed)
    write(text if format_name != "table" or output else defused(text), output)
    if any(remark.severity == "error" for remark in remarks):
        return Exit.BAD_INPUT
    return Exit.GATE_FAILED if strict and remarks else Exit.DONE


def _definition_alone(path: Path, target: ExportTarget) -> list[Remark]:
    """Return the remarks on the definitions of a file; an unreadable file is one."""
    try:
        files = load_topics(path)
    except FileError as error:
        lines = () if error.line is None else (error.line,)
        text = "\n  ".join(filter(None, (error.problem, error.remedy)))
        return [Remark(error.path, "error", "file", text, lines)]
    if len(files) == 1:
        return _alone(path, files[0].topic, target)
    remarks = []
    for number, file in enumerate(files, start=1):
        name = file.topic.name.strip() or f"topic {number}"
        for remark in _alone(path, file.topic, target):
            field = remark.field
            line = file.lines.get(field) or file.lines.get(field.partition(".")[0])
            line = line or next(iter(file.lines.values()), None)
            positions = remark.lines if line is None else (line,)
            named = f"{name}: {remark.message}"
            remarks.append(replace(remark, message=named, lines=positions))
    return remarks


def _alone(path: Path, topic: Topic, target: ExportTarget) -> list[Remark]:
    return _definition(path, topic, target) + [
        _advised(path, path, advice) for advice in lint(topic)
    ]


def _load(
    topic: Path, prompts: Path, reading: Reading
) -> tuple[TopicFile, PromptSet | PromptSetError]:
    """Return the topic file and its prompts, or the error in their rows. Raises FileError."""
    file = load_topic(topic)
    try:
        return file, load_prompts(prompts, file.topic.intent, reading)
    except PromptSetError as error:
        return file, error


def _unreadable(
    file: TopicFile, prompts_path: Path, error: PromptSetError, target: ExportTarget
) -> list[Remark]:
    """Return the remarks on a definition, and the errors in the rows of its prompts."""
    remarks = _definition(file.path, file.topic, target)
    remarks += [_prompt_remark(prompts_path, finding) for finding in error.findings]
    if error.total > len(error.findings):
        more = f"{error.total - len(error.findings)} more errors are not listed"
        remarks.append(Remark(str(prompts_path), "error", "more", more))
    return remarks + [_advised(file.path, prompts_path, finding) for finding in lint(file.topic)]


def _remarks(
    file: TopicFile,
    prompts_path: Path,
    prompts: PromptSet,
    engine: LocalScanner,
    target: ExportTarget,
) -> list[Remark]:
    topic_path = file.path
    remarks = _definition(topic_path, file.topic, target)
    topic = agreed_topic(file, prompts)
    if topic is None:
        remarks.append(
            Remark(
                str(topic_path),
                "error",
                "intent",
                disagreement(file, prompts),
                field="intent",
            )
        )
    findings = check_prompt_set(prompts, topic or file.topic)
    measured, far = _measured(engine, topic or file.topic, prompts)
    if any(finding.lines for finding in measured):  # equal prompts, with their effect on coverage
        findings = tuple(finding for finding in findings if finding.code != "leakage")
    remarks += [_prompt_remark(prompts_path, finding) for finding in (*findings, *far)]
    return remarks + [_advised(topic_path, prompts_path, finding) for finding in measured]


def _measured(
    scanner: LocalScanner, topic: Topic, prompts: PromptSet
) -> tuple[tuple[Advice, ...], tuple[Finding, ...]]:
    """Return advice on the definition and findings on the prompts, by the embedded engine."""
    try:
        engine = open_scores(scanner, prompts, show_progress)
        findings = engine_findings(scanner, prompts)
    finally:
        diagnostics.progress("")
    return lint(topic, prompts, engine), findings


def _advised(topic_path: Path, prompts_path: Path, advice: Advice) -> Remark:
    effect = None
    if advice.removal is not None:
        removal, edits = advice.removal, advice.remedy is not None
        effect = CoverageChange(
            advice.action,
            removal.before.coverage,
            removal.after.coverage,
            removal.fixes if edits else None,
            removal.regressions if edits else None,
            removal.p_value if edits else None,
        )
    # Lines, if any, are those of equal prompts.
    path = prompts_path if advice.lines else topic_path
    code = advice.code if advice.code == "leakage" else f"lint.{advice.code}"
    return Remark(str(path), "warning", code, advice.line, advice.lines, effect, advice.field)


def _definition(path: Path, topic: Topic, target: ExportTarget) -> list[Remark]:
    return [
        Remark(
            str(path),
            "error",
            f"limit.{violation.field}",
            violation.message,
            field=violation.field,
        )
        for violation in refusals(topic, target)
    ] + [
        Remark(
            str(path),
            "warning",
            f"line-break.{finding.field}",
            finding.message,
            field=finding.field,
        )
        for finding in line_breaks(topic)
    ]


def _prompt_remark(path: Path, finding: Finding) -> Remark:
    lines = tuple(int(line) for line in finding.lines)
    return Remark(str(path), str(finding.severity), finding.code, finding.message, lines)


# --- SARIF --------------------------------------------------------------------------------

_HELP = {
    "limit": "A definition that breaks a limit is never sent to AIRS. Make the text shorter, or "
    "give the number of examples that is asked for.",
    "line-break": "An editor of one line cannot hold a line break. Write the text in one line.",
    "lint": "Known to go wrong with definitions that are matched by meaning. The property "
    "`effect` says what coverage does without it, where that was measured.",
    "intent": "The topic file and the prompt set name different intents. Make the two agree.",
    "no-near-misses": "Negatives that have nothing in common with the topic are told apart by "
    "nearly any definition, so the rate at which they are rightly let through says little. Add "
    "prompts with the topic's own words and another intent.",
    "file": "The file cannot be read as a topic. Correct it as the message says.",
}
_OTHERS = "A finding about the labelled prompts. The lines are those of the prompt file."


def _sarif(remarks: Sequence[Remark], files: Sequence[Path]) -> str:
    """Return all findings as one run, named by the checked files."""
    lines = {str(path): _field_lines(path) for path in files}
    levels: dict[str, str] = {}
    findings = []
    for remark in remarks:
        rule = re.sub(r"\.\d+$", "", remark.code)
        level = "error" if remark.severity == "error" else "warning"
        levels.setdefault(rule, level)
        positions = remark.lines
        # Findings on prompts have lines; the line of a field is that of the definition.
        known = lines.get(remark.file, {})
        if not positions and remark.field:
            line = known.get(remark.field) or known.get(remark.field.partition(".")[0])
            positions = () if line is None else (line,)
        # Measured figures change with every edit, and are part of messages about a field.
        subject = f"{remark.code}\n{remark.field or remark.message}"
        findings.append(
            SarifResult(
                rule=rule,
                level=level,
                message=remark.message,
                path=path_from_here(Path(remark.file)),
                lines=positions or (() if remark.file.lower().endswith(".parquet") else (1,)),
                fingerprint=hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()[:16],
                properties={} if remark.effect is None else {"effect": asdict(remark.effect)},
            )
        )
    rules = [
        SarifRule(
            code,
            "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", code)),
            code.replace(".", ": ").replace("-", " "),
            _HELP.get(code.partition(".")[0], _OTHERS),
            level,
        )
        for code, level in sorted(levels.items())
    ]
    checked = " ".join(path_from_here(path) for path in files)
    return sarif_log(rules, findings, run=f"check {checked}")


def _field_lines(path: Path) -> Mapping[str, int]:
    """Return the lines of the fields of a topic file; {} for any other file."""
    try:
        files = load_topics(path)
    except FileError:
        return {}
    return files[0].lines if len(files) == 1 else {}


# --- table and JSON -----------------------------------------------------------------------


def _as_json(remarks: Sequence[Remark], surveyed: Survey | None) -> str:
    """Return the findings, and what was found in the prompt set, as JSON."""
    data: dict[str, object] = {
        "errors": sum(remark.severity == "error" for remark in remarks),
        "warnings": sum(remark.severity != "error" for remark in remarks),
        "findings": remarks,
    }
    if surveyed is not None:
        data |= survey_json(surveyed)
    return encode("check", data)


def _as_table(remarks: Sequence[Remark], surveyed: Survey | None) -> str:
    """Return the findings as text, a line each, and their number."""
    document = None if surveyed is None else survey_document(surveyed)
    more = "" if document is None else f"\n{render(document, 'table')}"
    if not remarks:
        return f"nothing is wrong or doubtful\n{more}"
    lines = []
    for remark in remarks:
        # A disagreement of two files names its places itself.
        text = remark.message
        if remark.code != "intent":
            text = located(remark.file, remark.message, remark.lines)
        lines.append(f"{remark.severity}: {display_text(text, newlines=True)}")
    errors = sum(remark.severity == "error" for remark in remarks)
    lines.append(f"{count_text(errors, 'error')}, {count_text(len(remarks) - errors, 'warning')}")
    return "\n".join(lines) + "\n" + more
