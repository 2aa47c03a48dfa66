"""`guardtui history`: list, keep, discard, restore and pin the iterations of a topic."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.command_help import ListingGroup
from guardtui.cli.diagnostics import Exit, note, warn
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import FILE, exits
from guardtui.cli.output import table, write
from guardtui.domain.figures import ON_NEW_PROMPTS

if TYPE_CHECKING:
    from guardtui.app.editing.iteration_decisions import IterationDecisions
    from guardtui.domain.prompts import PromptSet
    from guardtui.session.experiments import ExperimentRecord
    from guardtui.session.session import Iteration, Session

_HEADER = (
    "#",
    "★◆",
    "decision",
    "coverage",
    ON_NEW_PROMPTS,
    "TPR",
    "TNR",
    "by",
    "recorded",
    "guardrail",
)
_LEGEND = "★ best, ◆ baseline, each of its guardrail"
_YES = "give --yes to answer yes"
_UNANSWERED = {Exit.BAD_INPUT: "bad input, or a question without --yes"}


@click.group(
    "history",
    cls=ListingGroup,
    examples=(
        ("guardtui history tax.yaml", "All iterations"),
        ("guardtui history keep tax.yaml", "Keep the newest one"),
        ("guardtui history restore tax.yaml 2", "Write the definition of #2 into the file"),
    ),
)
def command() -> None:
    """List the iterations of a topic's session; keep, discard, restore and pin them.

    'guardtui history TOPIC' lists them.

    'guardtui eval' records iterations, and so does the app: both work on one session.
    """


def _common(function: Function) -> Function:
    function = click.option(
        "--format",
        "format_name",
        type=click.Choice(("table", "json")),
        default="table",
        help="Format (default: table).",
    )(function)
    return click.option(
        "--prompts",
        type=FILE,
        metavar="FILE",
        help="The prompt set that decides which iteration is the best (default: the one used "
        "last).",
    )(function)


_iteration_option = click.option(
    "--iteration",
    "number",
    type=click.IntRange(0),
    metavar="N",
    help="The iteration (default: the newest of the topic file's definition).",
)
_number_argument = click.argument("number", type=click.IntRange(0), metavar="N")
_yes_option = click.option("--yes", "-y", is_flag=True, help="Answer every question with yes.")


@command.command("list")
@click.argument("topic", type=FILE)
@_common
def list_(topic: Path, prompts: Path | None, format_name: str) -> None:
    """List the iterations, oldest first; with --prompts those on that prompt set."""
    from guardtui.app.editing.iteration_decisions import no_session
    from guardtui.domain.guardrail import guardrail_text
    from guardtui.domain.prompts import PromptSetError
    from guardtui.files.inputs import load_inputs
    from guardtui.files.problems import FileError
    from guardtui.session.experiments import ExperimentLog
    from guardtui.session.prompt_file import load_prompts_of
    from guardtui.session.report_reader import has_iterations
    from guardtui.session.session import Session
    from guardtui.session.store import SessionStore

    if not has_iterations(topic):
        raise no_session(topic)
    store = SessionStore(topic, reading=True)
    iterations: Sequence[Iteration] = store.iterations()
    current = None
    if prompts is not None:
        current = load_inputs(topic, prompts)[1]
    else:
        with suppress(FileError, PromptSetError):  # a prompt file may be gone
            current = load_prompts_of(topic, store)
    session = Session(iterations[-1].evaluation.topic, iterations, store.pinned(), current)
    experiments = ExperimentLog(store).experiments()
    if current is not None and prompts is not None:
        own = current.fingerprint
        iterations = [
            iteration for iteration in iterations if iteration.evaluation.prompt_set == own
        ]
        experiments = [experiment for experiment in experiments if experiment.prompt_set == own]
        if not iterations:
            note(f"no iteration is on {prompts}")
    _print(iterations, format_name, session, experiments, current)
    if format_name != "json":
        for record in experiments:
            note(f"{record.created}: {record.text}; {guardrail_text(record.settings)}")


@command.command("keep")
@click.argument("topic", type=FILE)
@_iteration_option
@_yes_option
@click.option(
    "--anyway",
    is_flag=True,
    help="Keep it even if verdicts are missing or the change is not demonstrable.",
)
@_common
@exits(
    _UNANSWERED
    | {
        Exit.NOT_COMPLETED: "verdicts are missing",
        Exit.NOT_ENOUGH_EVIDENCE: "its coverage is not demonstrably greater than that of the best "
        "iteration",
    }
)
def keep(
    topic: Path,
    number: int | None,
    yes: bool,
    anyway: bool,
    prompts: Path | None,
    format_name: str,
) -> None:
    """Keep an iteration: its definition is written to the topic file."""
    decisions = _opened(topic, prompts)
    iteration = decisions.chosen(number)
    if not anyway:
        decisions.require_progress(iteration)
    if _may_overwrite(decisions, iteration, yes):
        _print([decisions.keep(iteration)], format_name, decisions.session)
        note(f"kept as #{iteration.number}, and in {topic}")


@command.command("discard")
@click.argument("topic", type=FILE)
@_iteration_option
@_yes_option
@_common
@exits(_UNANSWERED)
def discard(
    topic: Path, number: int | None, yes: bool, prompts: Path | None, format_name: str
) -> None:
    """Discard an iteration: the best definition is written to the topic file again."""
    from guardtui.app.editing.deciding import plateau_text
    from guardtui.cli.asking import agrees
    from guardtui.domain.text import display_start

    decisions = _opened(topic, prompts)
    iteration = decisions.chosen(number)
    best = decisions.restored_by_discarding(iteration)
    objection = decisions.against_discarding(iteration)
    if objection and not agrees(f"{objection} Discard anyway?", yes=yes, remedy=_YES):
        return
    discarded, restored = decisions.discard(iteration)
    _print([discarded], format_name, decisions.session)
    back = (
        f"back to #{best.number}" if restored else f"{topic} has another definition, and keeps it"
    )
    note(f"discarded as #{discarded.number}; {back}")
    if restored and (profile := discarded.evaluation.settings.guardrail.profile):
        name = display_start(profile, 60)
        note(f"profile {name} has the definition applied last: apply {topic} again")
    if plateau := plateau_text(decisions.session):
        warn(plateau)


@command.command("restore")
@click.argument("topic", type=FILE)
@_number_argument
@_yes_option
@_common
@exits(_UNANSWERED)
def restore(topic: Path, number: int, yes: bool, prompts: Path | None, format_name: str) -> None:
    """Write the definition of iteration N to the topic file."""
    decisions = _opened(topic, prompts)
    iteration = decisions.chosen(number)
    if _may_overwrite(decisions, iteration, yes):
        decisions.restore(iteration)
        _print([iteration], format_name, decisions.session)
        note(f"{topic} has the definition of #{number}")


@command.command("pin")
@click.argument("topic", type=FILE)
@_number_argument
@_common
def pin(topic: Path, number: int, prompts: Path | None, format_name: str) -> None:
    """Make iteration N the baseline of all comparisons."""
    decisions = _opened(topic, prompts)
    iteration = decisions.chosen(number)
    decisions.pin(number)
    _print([iteration], format_name, decisions.session)
    note(f"baseline: #{number} (pinned)")


@command.command("unpin")
@click.argument("topic", type=FILE)
@_common
def unpin(topic: Path, prompts: Path | None, format_name: str) -> None:
    """Make the iteration kept last the baseline again."""
    decisions = _opened(topic, prompts)
    decisions.pin(None)
    baseline = decisions.session.baseline
    _print([] if baseline is None else [baseline], format_name, decisions.session)
    note(
        f"baseline: {'none yet' if baseline is None else f'#{baseline.number}'} (the last kept one)"
    )


def _opened(topic: Path, prompts: Path | None) -> IterationDecisions:
    from guardtui.app.editing.iteration_decisions import IterationDecisions

    return IterationDecisions(topic, prompts)


def _may_overwrite(decisions: IterationDecisions, iteration: Iteration, yes: bool) -> bool:
    """Return whether the topic file may get a definition. Raises `InputError` without an answer."""
    from guardtui.cli.asking import agrees

    if not decisions.overwrites:
        return True
    return agrees(
        "The topic file has a definition that no iteration has (a backup is kept). Write that of "
        f"#{iteration.number}?",
        yes=yes,
        remedy=_YES,
    )


def _print(
    iterations: Sequence[Iteration],
    format_name: str,
    session: Session,
    experiments: Sequence[ExperimentRecord] = (),
    current: PromptSet | None = None,
) -> None:
    """Print iterations of a session; `current` are the prompts that one column is named after."""
    if format_name == "json":
        from guardtui.reports.history import KIND, History
        from guardtui.reports.json_data import encode

        write(encode(KIND, History.of(iterations, session, experiments)))
        return
    from guardtui.session.history import best_and_baselines

    best, baselines = best_and_baselines(session)
    header, rows = list(_HEADER), [_cells(iteration, best, baselines) for iteration in iterations]
    if len({iteration.evaluation.prompt_set for iteration in iterations}) > 1:
        header.append("prompts")
        for row, iteration in zip(rows, iterations, strict=True):
            row.append(_prompts_name(iteration, current))
    write(table(rows, header))
    if any(row[1] for row in rows):
        note(_LEGEND)


def _prompts_name(iteration: Iteration, current: PromptSet | None) -> str:
    """Return the name of the current prompt file, or number and fingerprint of other prompts."""
    evaluation = iteration.evaluation
    if current is not None and evaluation.prompt_set == current.fingerprint:
        return Path(current.source).name
    return f"{len(evaluation.keys):,} prompts, {evaluation.prompt_set[:8]}"


def _cells(iteration: Iteration, best: Container[int], baselines: Container[int]) -> list[str]:
    from guardtui.domain.figures import interval_text, rate_text
    from guardtui.domain.guardrail import guardrail_text

    evaluation, number = iteration.evaluation, iteration.number
    return [
        str(number),
        "★" * (number in best) + "◆" * (number in baselines),
        iteration.decision.value,
        rate_text(evaluation.rate("coverage")),
        evaluation.answered_text or interval_text(evaluation.coverage_interval),
        rate_text(evaluation.rate("true_positive_rate")),
        rate_text(evaluation.rate("true_negative_rate")),
        iteration.by.value,
        iteration.created,
        guardrail_text(evaluation.settings),
    ]
