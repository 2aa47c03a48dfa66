"""`guardtui audit`: the topics of one profile held together against their prompt sets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from guardtui.cli import diagnostics
from guardtui.cli.airs_scans import AirsRun
from guardtui.cli.audit_airs import Audited, audit_profile, say_incomplete
from guardtui.cli.audit_engine import audit_engine
from guardtui.cli.audit_gates import AuditGates, gate_options
from guardtui.cli.audit_inputs import Inputs, find_inputs
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import exit_code, summary
from guardtui.cli.inputs import say_findings
from guardtui.cli.options import (
    FILE,
    declared,
    engine_options,
    profile_option,
    require_fitting,
)
from guardtui.cli.outputs import check_outputs, choose, outputs_option
from guardtui.cli.progress import watched
from guardtui.domain.audit import Audit
from guardtui.domain.topic import Intent
from guardtui.reports.audit_base import AuditReport, format_of_name, load_writer
from guardtui.scanners.airs.command_options import MOST_CONCURRENT, SENDING
from guardtui.scanners.base import Scanner
from guardtui.scanners.options import CONCURRENCY, RATE
from guardtui.session.audit import Auditor, Source, put_together
from guardtui.session.recorded import session_file

_CONCURRENCY_HELP = "Requests to AIRS at once (default: 5, or SCAN_CONCURRENCY)."
_FINDINGS = 3  # of one prompt set, that are told one by one


@click.command("audit")
@click.argument("topics", type=FILE, nargs=-1, required=True, metavar="TOPIC|FOLDER|PROFILE…")
@click.option(
    "--prompts",
    multiple=True,
    metavar="TOPIC=FILE|FILE",
    help="Labelled prompts of one topic, or of all by a column 'topic' (repeatable).",
)
@click.option(
    "--default",
    "default_action",
    type=click.Choice(["allow", "block"]),
    help="What happens to what no topic matches (default: block with an allow topic, else allow).",
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Form of the report: table, json, md, html. Default: by the file's ending, else table.",
)
@outputs_option
@gate_options
@click.option(
    "--scanner",
    "scanner_name",
    type=click.Choice(["local", "airs"]),
    default="local",
    help="Scanner to use: local (default), or airs with what is in effect in the profile.",
)
@engine_options
@profile_option
@declared(
    replace(CONCURRENCY, help=_CONCURRENCY_HELP, high=MOST_CONCURRENT),
    replace(RATE, help="Requests a second that AIRS is sent at most."),
    *SENDING,
)
def command(
    topics: tuple[Path, ...],
    prompts: tuple[str, ...],
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
    --prompts names others. The report has the profile as a whole, each topic, and where
    topics get into each other's way.

    Exit code 0: done. 1: a gate failed. 2: bad usage or input. 3: the scan could not be
    completed; with --max-errors a number of prompts without a verdict is allowed. 129, 130,
    143: ended by a signal.
    """
    remote = scanner_name == "airs"
    require_fitting(scanner_name, options)
    gates = AuditGates(min_coverage, min_topic_coverage, max_conflicts, max_errors)
    chosen = choose(format_name, outputs, format_of_name, "table")
    # An unknown format fails before the work, not after it.
    writers = [load_writer(one.format_name) for one in chosen]
    inputs = find_inputs(topics, prompts)
    check_outputs(outputs, *_all_read(inputs))
    _say_findings(inputs)
    sources = [Source(one.topic, one.prompts) for one in inputs.found]
    closed = inputs.closed if default_action is None else default_action == "block"
    if remote:
        airs = AirsRun.of(options, profile or inputs.name)
        profile = airs.profile
        audited = audit_profile(sources, airs, closed=closed)
        for notice in audited.notices:
            diagnostics.warn(notice)
    else:
        profile = profile or inputs.name
        scanner, notices = audit_engine(inputs.found, options["encoder"], options["threshold"])
        audited = _audit_locally(sources, scanner, notices, closed)
    audit = audited.audit
    report = AuditReport(audit, audited.settings, profile, audited.notices)
    failed = write_all((one, writer(report)) for one, writer in zip(chosen, writers, strict=True))
    results = gates.results(audit)
    for result in results:
        diagnostics.gate(result.state, result.text)
    code: int = exit_code(results)
    if remote and audit.errors:
        say_incomplete(
            audit, fresh=airs.fresh, allowed=max_errors is not None and not audit.open_count
        )
        if max_errors is None or audit.open_count:
            code = Exit.NOT_COMPLETED
    code = failed or code
    if told := summary(results, code):
        diagnostics.note(told)
    return code


def _all_read(inputs: Inputs) -> list[Path]:
    sessions = {session_file(one.path) for one in inputs.found}
    return [*inputs.read, *sorted(sessions)]


def _say_findings(inputs: Inputs) -> None:
    """Warn of what is doubtful in the prompt sets, and of topics that have none."""
    for one in inputs.found:
        if one.prompts is None:
            beside = one.path.with_suffix(".csv").name
            diagnostics.warn(
                f"{one.path}: no prompt set is known, so it is measured on those of the others\n"
                f"  put {beside} beside it, or name one: --prompts {one.path.stem}=FILE"
            )
        else:
            say_findings(one.prompts, _FINDINGS)


def _audit_locally(
    sources: Sequence[Source], scanner: Scanner, notices: tuple[str, ...], closed: bool | None
) -> Audited:
    if closed is None:
        closed = any(one.topic.intent is Intent.ALLOW for one in sources)
    auditor = Auditor(scanner)

    async def audited() -> Audit:
        work = auditor.audit(sources, put_together(sources), closed=closed)
        return await watched(work, lambda: auditor.progress)

    audit = asyncio.run(audited())
    return Audited(audit, auditor.scanner.settings, notices)
