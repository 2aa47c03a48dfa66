"""`guardtui audit`: evaluate the topics of one profile together on their prompt sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_scans import AirsRun
from guardtui.cli.audit_airs import AuditResult, audit_profile, say_incomplete
from guardtui.cli.audit_engine import audit_engine
from guardtui.cli.audit_gates import AuditGates, gate_options
from guardtui.cli.audit_inputs import AuditInputs, find_inputs
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import exit_code, summary
from guardtui.cli.inputs import say_findings
from guardtui.cli.options import (
    FILE,
    declared,
    engine_options,
    profile_option,
    reading_options,
    require_fitting,
)
from guardtui.cli.output_options import check_outputs, choose, outputs_option
from guardtui.cli.progress import watched
from guardtui.domain.profile import closed_by_default
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import ProfilePrompts, TopicPrompts, all_prompts
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.reports.audit_base import FORMATS, AuditReport, load_writer
from guardtui.scanners.airs.command_options import MOST_CONCURRENT, SENDING
from guardtui.scanners.base import Scanner
from guardtui.scanners.options import CONCURRENCY, RATE
from guardtui.session.profile_scans import ProfileScan
from guardtui.session.report_reader import session_file

_CONCURRENCY_HELP = "Maximum concurrent requests to AIRS (default 5, or SCAN_CONCURRENCY)."
_FINDINGS = 3  # of one prompt set, listed one by one


@click.command("audit")
@click.argument("topics", type=FILE, nargs=-1, required=True, metavar="TOPIC|FOLDER|PROFILE…")
@click.option(
    "--prompts",
    multiple=True,
    metavar="TOPIC=FILE|FILE",
    help="Labelled prompts of one topic, or of all by a column 'topic' (repeatable).",
)
@reading_options
@click.option(
    "--default",
    "default_action",
    type=click.Choice(["allow", "block"]),
    help="What happens to prompts that no topic matches (default: block with an allow topic, else "
    "allow).",
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Format of the report: table, json, md, html. Default: by the file's ending, else table.",
)
@outputs_option
@gate_options
@click.option(
    "--scanner",
    "scanner_name",
    type=click.Choice(["engine", "airs"]),
    default="engine",
    help="Guardrail to use: engine (default), or airs with the profile as deployed.",
)
@engine_options
@profile_option
@declared(
    replace(CONCURRENCY, help=_CONCURRENCY_HELP, high=MOST_CONCURRENT),
    replace(RATE, help="Maximum requests per second to AIRS."),
    *SENDING,
)
def command(
    topics: tuple[Path, ...],
    prompts: tuple[str, ...],
    reading: Reading | None,
    default_action: str | None,
    format_name: str | None,
    outputs: tuple[Path, ...],
    min_coverage: float | None,
    min_topic_coverage: float | None,
    max_conflicts: int | None,
    max_errors: int | None,
    scanner_name: str,
    profile: str,
    **options: Any,
) -> int:
    """Evaluate the topics of one profile together, each with its own labelled prompts.

    Name topic files, a folder of them, or a profile file that lists them. The prompts of a
    topic are those used last in the app, or a file of the same name beside it, unless
    --prompts names others. The report has the profile as a whole, each topic, and the
    conflicts between topics.

    Exit code 0: done. 1: a gate failed. 2: bad usage or input. 3: the scan could not be
    completed; with --max-errors a number of prompts without a verdict is allowed. 129, 130,
    143: ended by a signal.
    """
    remote = scanner_name == "airs"
    require_fitting(scanner_name, options)
    gates = AuditGates(min_coverage, min_topic_coverage, max_conflicts, max_errors)
    chosen = choose(format_name, outputs, "table", FORMATS)
    # An unknown format fails before the work, not after it.
    writers = [load_writer(output.format_name) for output in chosen]
    inputs = find_inputs(topics, prompts, reading or AS_WRITTEN)
    check_outputs(outputs, *_all_read(inputs))
    _say_findings(inputs)
    together = all_prompts([TopicPrompts(topic.topic, topic.prompts) for topic in inputs.topics])
    closed = inputs.closed if default_action is None else default_action == "block"
    if remote:
        airs = AirsRun.of(options, profile or inputs.name)
        profile = airs.profile
        audited = audit_profile(together, airs, closed=closed)
        for notice in audited.notices:
            diagnostics.warn(notice)
    else:
        profile = profile or inputs.name
        scanner, notices = audit_engine(inputs.topics, options["encoder"], options["threshold"])
        audited = _audit_locally(together, scanner, notices, closed)
    evaluation = audited.evaluation
    report = AuditReport(evaluation, audited.settings, profile, audited.notices)
    failed = write_all(
        (output, writer(report)) for output, writer in zip(chosen, writers, strict=True)
    )
    results = gates.results(evaluation)
    for result in results:
        diagnostics.gate(result.state, result.text)
    code: int = exit_code(results)
    if remote and evaluation.errors:
        allowed = max_errors is not None and not evaluation.open_count
        say_incomplete(evaluation, fresh=airs.fresh, allowed=allowed)
        if not allowed:
            code = Exit.NOT_COMPLETED
    code = failed or code
    if message := summary(results, code):
        diagnostics.note(message)
    return code


def _all_read(inputs: AuditInputs) -> list[Path]:
    sessions = {session_file(topic.path) for topic in inputs.topics}
    return [*inputs.files, *sorted(sessions)]


def _say_findings(inputs: AuditInputs) -> None:
    """Warn of doubtful prompts, and of topics without a prompt set."""
    for topic in inputs.topics:
        if topic.prompts is None:
            prompt_file = topic.path.with_suffix(".csv").name
            diagnostics.warn(
                f"{topic.path}: no prompt set, so it is measured on those of the other topics\n"
                f"  put {prompt_file} beside it, or name one: --prompts {topic.path.stem}=FILE"
            )
        else:
            say_findings(topic.prompts, _FINDINGS)


def _audit_locally(
    prompts: ProfilePrompts, scanner: Scanner, notices: tuple[str, ...], closed: bool | None
) -> AuditResult:
    if closed is None:
        closed = closed_by_default(topic.topic for topic in prompts.topics)
    scan = ProfileScan(scanner)

    async def evaluate() -> ProfileEvaluation:
        return await watched(scan.evaluate(prompts, closed=closed), lambda: scan.progress)

    evaluation = signals.run(evaluate())
    return AuditResult(evaluation, scanner.settings, notices)
