"""`guardtui audit`: evaluate the topics of one profile together on their prompt sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from guardtui.cli import diagnostics, signals
from guardtui.cli.audit.inputs import AuditInputs, AuditTopic
from guardtui.cli.command_help import Command
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import Result, State, coverage_gate, exit_code, summary
from guardtui.cli.inputs import say_findings
from guardtui.cli.operating_point import settled_engine
from guardtui.cli.options import FILE, SHARE, engine_options, exits, reading_options
from guardtui.cli.output_options import check_outputs, choose, format_choice, outputs_option
from guardtui.cli.progress import watched
from guardtui.domain.figures import count_text, threshold_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import FITTED, Wanted
from guardtui.domain.profile import closed_by_default
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import all_prompts
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.reports.audit import AuditReport, audit_document
from guardtui.reports.audit_json import audit_json
from guardtui.reports.formats import DOCUMENT_FORMATS, render
from guardtui.scanners.base import Report, Scanner
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.profile_scans import ProfileScan
from guardtui.session.session_file import session_file

_FINDINGS = 3  # of one prompt set, listed one by one
_NAME_CHARACTERS = 60


@click.command(
    "audit",
    cls=Command,
    examples=(
        ("guardtui audit topics/ --max-conflicts 0", "All topics of a folder"),
        ("guardtui audit tax.yaml harm.yaml --min-coverage 0.8", "Two topics, with a gate"),
    ),
)
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
@format_choice(DOCUMENT_FORMATS)
@outputs_option
@click.option(
    "--min-coverage",
    type=SHARE,
    metavar="X",
    help="Exit with 1 if coverage of the whole profile is below X (0 to 1).",
)
@click.option(
    "--min-topic-coverage",
    type=SHARE,
    metavar="X",
    help="Exit with 1 if coverage of a topic by itself is below X (0 to 1).",
)
@click.option(
    "--max-conflicts",
    type=click.IntRange(min=0),
    metavar="N",
    help="Exit with 1 if there are more than N conflicts.",
)
@engine_options
@exits({Exit.GATE_FAILED: "a gate failed"})
def command(
    topics: tuple[Path, ...],
    prompts: tuple[str, ...],
    reading: Reading | None,
    default_action: str | None,
    format_name: str | None,
    outputs: tuple[Path, ...],
    encoder: str | None,
    threshold: Wanted,
    **gates: Any,
) -> int:
    """Evaluate the topics of one profile together, each with its own labelled prompts.

    Name topic files, a folder of them, or a profile file that lists them. The prompts of a
    topic are those used last in the app, or a file of the same name beside it, unless
    --prompts names others. The report has the profile as a whole, each topic, and the
    conflicts between topics, all by the engine.
    """
    chosen = choose(format_name, outputs, "table", DOCUMENT_FORMATS)
    inputs = AuditInputs(topics, prompts, reading or AS_WRITTEN)
    sessions = {session_file(topic.path) for topic in inputs.topics}
    check_outputs(outputs, *inputs.files, *sorted(sessions))
    _say_findings(inputs)
    closed = inputs.closed if default_action is None else default_action == "block"
    if closed is None:
        closed = closed_by_default(topic.topic for topic in inputs.topics)
    scanner, notices = _engine(inputs.topics, encoder, threshold)
    evaluation = _evaluate(inputs, scanner, closed=closed)
    report = AuditReport(evaluation, scanner.settings, inputs.name, notices)
    failed = write_all((output, _text(report, output.format_name)) for output in chosen)
    results = list(_gates(evaluation, **gates))
    for result in results:
        diagnostics.gate(result.state, result.text)
    code: int = failed or exit_code(results)
    if message := summary(results, code):
        diagnostics.note(message)
    return code


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


def _evaluate(inputs: AuditInputs, scanner: Scanner, *, closed: bool) -> ProfileEvaluation:
    together = all_prompts([(topic.topic, topic.prompts) for topic in inputs.topics])
    scan = ProfileScan(scanner)

    async def evaluate() -> ProfileEvaluation:
        return await watched(scan.evaluate(together, closed=closed), lambda: scan.progress)

    return signals.run(evaluate())


def _text(report: AuditReport, format_name: str) -> str:
    return (
        audit_json(report) if format_name == "json" else render(audit_document(report), format_name)
    )


def _gates(
    evaluation: ProfileEvaluation,
    *,
    min_coverage: float | None,
    min_topic_coverage: float | None,
    max_conflicts: int | None,
) -> Iterator[Result]:
    """Yield the result of each requested gate; topics without a prompt set have none."""
    if min_coverage is not None:
        subject = "coverage of the profile"
        yield coverage_gate("--min-coverage", subject, evaluation.metrics, min_coverage)
    if min_topic_coverage is not None:
        for member in evaluation.members:
            if member.source:
                subject = f"coverage of {display_start(member.topic.name, _NAME_CHARACTERS)}"
                least = min_topic_coverage
                yield coverage_gate("--min-topic-coverage", subject, member.alone, least)
    if max_conflicts is not None:
        count = evaluation.conflict_count
        text = f"{count_text(count, 'conflict')}, at most {max_conflicts} allowed"
        failed = count > max_conflicts
        state, code = (State.FAILED, Exit.GATE_FAILED) if failed else (State.PASSED, Exit.DONE)
        yield Result("--max-conflicts", state, text, code)


# --- the engine, with one threshold for all topics or one for each ------------------------


@dataclass(frozen=True)
class OwnThresholds:
    """The engine with a threshold for each topic, by the topic's name."""

    engine: LocalScanner
    thresholds: Mapping[str, float]
    live = True

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the engine, without a threshold: there are several."""
        engine = self.engine.settings
        return ScannerSettings(engine.guardrail)

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        """Scan with the threshold of this topic."""
        self.engine.use_threshold(self.thresholds[topic.name])
        return await self.engine.scan(topic, prompts, report)


def _engine(
    topics: Sequence[AuditTopic], encoder: str | None, wanted: Wanted
) -> tuple[Scanner, tuple[str, ...]]:
    """Return the scanner of an audit, and a notice on the threshold of each topic.

    With `fitted`, each topic has the threshold fitted to its labels, or, with too few of them, the
    built-in one. Otherwise all have the same, and there are no notices. Raises ScannerError.
    """
    engine = LocalScanner(encoder or ENCODERS[0])
    if wanted != FITTED:
        if isinstance(wanted, float):
            engine.use_threshold(wanted)
        return engine, ()
    thresholds: dict[str, float] = {}
    notices = []
    for topic in topics:
        settings = engine.settings
        if topic.prompts is not None:
            fitted = settled_engine(encoder, None, topic.topic, topic.prompts)
            evaluation = fitted.evaluate_now(topic.topic, topic.prompts)
            assert evaluation is not None  # noqa: S101 - nothing stops it
            settings = evaluation.settings
        threshold = settings.threshold or engine.built_in_threshold
        thresholds[topic.topic.name] = threshold
        name = display_start(topic.topic.name, _NAME_CHARACTERS)
        notices.append(
            f"{name}: threshold {threshold_text(threshold)} ({settings.threshold_source})"
        )
    return OwnThresholds(engine, thresholds), tuple(notices)
