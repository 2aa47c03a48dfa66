"""`guardtui compare`: compare two evaluations, prompt by prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from guardtui.cli import diagnostics
from guardtui.cli.command_help import Command
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import InputError, warn
from guardtui.cli.inputs import say_findings
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.cli.options import FILE, engine_options, reading_options
from guardtui.cli.output_options import (
    ReportOutput,
    check_outputs,
    choose_reports,
    format_option,
    outputs_option,
    variants_of,
)
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, load_topic
from guardtui.reports.compared import MistakesData, Side, compared_report, mistakes_document
from guardtui.reports.formats import DOCUMENT_FORMATS, OF_SESSIONS, load_writer, render
from guardtui.reports.json_data import encode
from guardtui.session.evaluation_refs import (
    SIGN,
    Mistakes,
    RecordedEvaluation,
    find_evaluation,
    read_files,
)


@click.command(
    "compare",
    cls=Command,
    examples=(
        ("guardtui compare main.json branch.json", "Two reports"),
        ("guardtui compare tax.yaml@3 tax.yaml@last", "Two iterations of a session"),
        (
            "guardtui compare main.yaml branch.yaml --prompts tax.csv",
            "Two topic files, by the engine",
        ),
    ),
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@format_option("table", without=OF_SESSIONS)
@click.option(
    "--prompts",
    type=FILE,
    metavar="FILE",
    help="Evaluate the topic files A and B on these prompts with the engine.",
)
@reading_options
@engine_options
@outputs_option
def command(
    before: str,
    after: str,
    format_name: str | None,
    prompts: Path | None,
    reading: Reading | None,
    encoder: str | None,
    threshold: Wanted,
    outputs: tuple[Path, ...],
    **others: Any,
) -> int:
    """Report on B with A as its baseline: metrics, definition, regressions and fixes.

    A and B are each a JSON report, the JSON of 'airs runtime topics eval', or TOPIC.yaml for the
    best kept iteration of its session; TOPIC.yaml@3, @last, @kept, @pinned for another one. With
    --prompts they are topic files, which are both evaluated on that prompt set.
    """
    if prompts is None and (encoder is not None or threshold is not None):
        raise click.UsageError(
            "--set and --threshold need --prompts: without it nothing is evaluated"
        )
    if prompts is None and reading is not None:
        raise click.UsageError("--unlabelled and --sheet need --prompts: add --prompts FILE")
    read = [path for word in (before, after) for path in read_files(word)]
    check_outputs(outputs, *read, *filter(None, [prompts]))
    chosen = choose_reports(format_name, outputs, variants_of(others))
    sides: tuple[RecordedEvaluation | Mistakes, RecordedEvaluation | Mistakes]
    if prompts is None:
        sides = find_evaluation(before), find_evaluation(after)
    else:
        sides = _evaluate(before, after, prompts, reading or AS_WRITTEN, encoder, threshold)
    if any(isinstance(side, Mistakes) for side in sides):
        unfit = [output for output in chosen if output.format_name not in DOCUMENT_FORMATS]
        if unfit:
            raise InputError(
                f"format {unfit[0].format_name}: of one side only the mistakes are known\n"
                f"  choose one of {', '.join(DOCUMENT_FORMATS)}"
            )
    sets = [side.prompts for side in sides if isinstance(side, RecordedEvaluation)]
    check_outputs(outputs, *(Path(texts.source) for texts in sets if texts and texts.source))
    for note in dict.fromkeys(note for side in sides for note in side.notes):
        warn(note)
    first, second = sides
    if isinstance(first, Mistakes) or isinstance(second, Mistakes):
        return write_all((output, _by_mistakes(first, second, output)) for output in chosen)
    report = compared_report(first, second)
    return write_all(
        (output, load_writer(output.format_name, variant=output.variant)(report))
        for output in chosen
    )


def _by_mistakes(before: Side, after: Side, output: ReportOutput) -> str:
    if output.format_name == "json":
        return encode("mistakes", MistakesData.of(before, after))
    return render(mistakes_document(before, after), output.format_name)


def _evaluate(
    before: str, after: str, path: Path, reading: Reading, encoder: str | None, threshold: Wanted
) -> tuple[RecordedEvaluation, RecordedEvaluation]:
    """Evaluate two topic files on one prompt set with the engine.

    Raises InputError and FileError, also if they differ in intent, and PromptSetError.
    """
    files = [_topic_file(word) for word in (before, after)]
    given = [file for file in files if file.intent_given]
    if len({file.topic.intent for file in given}) > 1:
        raise InputError(
            f"{before}: intent is {given[0].topic.intent}, but that of {after} is "
            f"{given[1].topic.intent}\n  a prompt set has one intent: compare topics that share it"
        )
    prompts = load_prompts(path, (given or files)[0].topic.intent, reading)
    say_findings(prompts)
    first = agreed_topic(files[0], prompts) or files[0].topic
    scanner = settled_engine(encoder, threshold, first, prompts)

    def evaluated(file: TopicFile) -> RecordedEvaluation:
        topic = agreed_topic(file, prompts)
        if topic is None:
            raise disagreement(file, prompts)
        evaluation = scanner.evaluate_now(topic, prompts, show_progress)
        diagnostics.progress("")
        assert evaluation is not None  # noqa: S101 - nothing stops it
        return RecordedEvaluation(f"{file.path} on {prompts.source}", evaluation, prompts)

    return evaluated(files[0]), evaluated(files[1])


def _topic_file(word: str) -> TopicFile:
    """Return the topic file of an argument. Raises InputError for an iteration, and FileError."""
    path = Path(word)
    if SIGN in word and not path.exists() and Path(word.rpartition(SIGN)[0]).exists():
        raise InputError(
            f"{word}: names an iteration, and with --prompts topic files are evaluated\n"
            "  name the topic file alone, or omit --prompts"
        )
    return load_topic(path)
