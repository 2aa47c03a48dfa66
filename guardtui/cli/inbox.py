"""`guardtui inbox`: collect prompts from logs beside a prompt set, and label them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.command_help import ListingGroup
from guardtui.cli.diagnostics import note, progress, warn
from guardtui.cli.guardrail_options import Function, set_option
from guardtui.cli.options import FILE, writer_option
from guardtui.cli.output import check_output, table, write

if TYPE_CHECKING:
    from guardtui.advice.drafts import Draft
    from guardtui.app.labels.drafts import DraftMaterial
    from guardtui.app.labels.inbox import Imported, Inbox
    from guardtui.domain.inbox import InboxPrompt
    from guardtui.files.prompt_logs import LoggedPrompt
    from guardtui.scanners.models.judge import JudgeOptions

_LISTED = 20
_SHOWN = 80  # characters of a prompt
_EACH = 10_000
_PRIVATE = "may hold personal data: only you can read it, and nothing is sent anywhere"
_STATES = ("true", "false", "set-aside", "unlabelled")


@click.group(
    "inbox",
    cls=ListingGroup,
    examples=(
        ("guardtui inbox add tax.yaml prod.log", "Collect the prompts of a log"),
        ("guardtui inbox tax.yaml", "What waits for a label"),
    ),
)
def command() -> None:
    """Collect prompts from logs, and label them.

    They wait in NAME.inbox.jsonl beside the prompt set NAME.csv, and so do its rows without a
    label: in no figure until a person has labelled them. 'guardtui inbox TOPIC' lists them.
    """


def _prompts_option(function: Function) -> Function:
    return click.option(
        "--prompts",
        type=FILE,
        metavar="FILE",
        help="The prompt set (default: the one used last, else NAME.csv beside the topic file).",
    )(function)


@command.command("add")
@click.argument("topic", type=FILE)
@click.argument("logs", type=FILE, nargs=-1, required=True, metavar="LOG…")
@_prompts_option
@click.option(
    "--prompt-column",
    "column",
    default="",
    metavar="NAME",
    help="Column, key or path (a.b.c) of the prompts in a log of another shape.",
)
@click.option(
    "--guardrail",
    default="",
    metavar="NAME",
    help="The guardrail whose verdicts the logs have, with the definition of the topic file.",
)
@click.option(
    "--iteration", type=int, metavar="N", help="The one with the definition of those verdicts."
)
def add(
    topic: Path,
    logs: tuple[Path, ...],
    prompts: Path | None,
    column: str,
    guardrail: str,
    iteration: int | None,
) -> None:
    """Add the prompts of logs; - is standard input.

    Reads text with a prompt in each line, CSV, JSON, JSON Lines, Parquet and Excel with a column
    prompt, chats and logs of LiteLLM (messages: the user's turns), spans of OpenTelemetry
    (gen_ai.input.messages), scan contents of airs-cli, each also gzipped. A text that occurs again,
    or that the prompt set has, is left out.

    Verdicts of a guardrail in production come along where a log has them. Those of a known
    guardrail and definition become its verdicts once their prompts are labelled.
    """
    from guardtui.app.labels.logged_verdicts import add_logged
    from guardtui.files.prompt_logs import PromptLog

    if iteration is not None and not guardrail:
        raise click.UsageError("--iteration is of the guardrail's verdicts: add --guardrail NAME")
    inbox = _opened(topic, prompts)
    readers = [PromptLog(log, column) for log in logs]
    logged = _counted(prompt for reader in readers for prompt in reader)
    added, verdicts = add_logged(inbox, topic, logged, guardrail, iteration)
    for reader in readers:
        if reader.unfinished:
            warn(f"{reader.path}: the last line is incomplete, and was left out")
        if reader.labelled:
            warn(
                f"{reader.path}: its labels in the column expected are not read: "
                "'guardtui inbox import' reads them"
            )
    without = sum(reader.without_text for reader in readers)
    note(added.text(inbox.path, without))
    for line in verdicts:
        note(line)
    if added.added:
        note(f"{inbox.path} {_PRIVATE}")
    _record_logged(inbox, topic)


def _counted(logged: Iterable[LoggedPrompt]) -> Iterator[LoggedPrompt]:
    """Yield the prompts, and say how many were read, on a terminal."""
    for count, prompt in enumerate(logged):
        if count % _EACH == _EACH - 1:
            progress(f"{count + 1:,} prompts read")
        yield prompt
    progress("")


def _record_logged(inbox: Inbox, topic: Path) -> None:
    """Record the verdicts that logs have on labelled prompts, and say so."""
    from guardtui.app.labels.logged_verdicts import record_logged
    from guardtui.domain.guardrail import guardrail_text

    for iteration in record_logged(inbox, topic):
        evaluation = iteration.evaluation
        of = f"{evaluation.metrics.total} of {evaluation.metrics.prompts} prompts"
        who = guardrail_text(evaluation.settings)
        note(f"recorded as #{iteration.number}, from the log: {of} have a verdict of {who}")


@command.command("list")
@click.argument("topic", type=FILE)
@_prompts_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("table", "json")),
    default="table",
    help="Format (default: table, of the first ones without a label; json has all).",
)
def list_(topic: Path, prompts: Path | None, format_name: str) -> None:
    """List the prompts that wait for a label, and count those of each state."""
    from datetime import UTC, datetime

    from guardtui.app.labels.drift import changes_text
    from guardtui.domain.inbox import State
    from guardtui.domain.text import display_start

    inbox = _opened(topic, prompts)
    if format_name == "json":
        from guardtui.reports.inbox import KIND, InboxData
        from guardtui.reports.json_data import encode

        write(encode(KIND, InboxData.of(inbox.counts, inbox.own)))
        return
    waiting = [prompt for prompt in inbox.own if prompt.state is State.UNLABELLED]
    rows = [
        (prompt.id, prompt.why_asked or "", prompt.origin, display_start(prompt.text, _SHOWN))
        for prompt in waiting[:_LISTED]
    ]
    write(table(rows, ("id", "asked as", "origin", "prompt")))
    note(", ".join(f"{count:,} {state.value}" for state, count in inbox.counts.items()))
    if drift := changes_text(inbox.prompts.values(), datetime.now(UTC)):
        note(drift)


@command.command("label")
@click.argument("topic", type=FILE)
@click.argument("name", metavar="[ID", required=False)
@click.argument(
    "label", type=click.Choice(_STATES), metavar=f"{'|'.join(_STATES)}]", required=False
)
@_prompts_option
@click.option("--reason", default="", metavar="TEXT", help="Why; kept with the label.")
def label(
    topic: Path, name: str | None, label: str | None, prompts: Path | None, reason: str
) -> None:
    """Give a prompt a label, set it aside, or take its label back.

    Without an ID, the app shows one unlabelled prompt after the other.

    ID is that of 'guardtui inbox list', or its first characters. The label is written into the
    prompt set, of which a backup is kept. Labels are for people to give: not for a model.
    """
    if name is not None and label is None:
        raise click.UsageError(f"say what it is: {', '.join(_STATES)}")
    inbox = _opened(topic, prompts)
    if name is None:
        _label_in_app(inbox, topic)
        return
    prompt = inbox.find(name)
    if label == "set-aside":
        done = inbox.set_aside(prompt.id, reason)
    elif label == "unlabelled":
        done = inbox.take_back(prompt.id, reason)
    else:
        done = inbox.label(prompt.id, label == "true", reason)
    _say_label(inbox, topic, prompt, done)
    _record_logged(inbox, topic)


def _label_in_app(inbox: Inbox, topic: Path) -> None:
    from guardtui.app.labels.labelling import require_waiting
    from guardtui.cli.open import require_terminal
    from guardtui.domain.figures import count_text
    from guardtui.files.topic_files import load_topic

    require_waiting(inbox)
    require_terminal()
    from guardtui.app.labels.logged_verdicts import VerdictSources
    from guardtui.tui.labels.app import run_queue

    count = run_queue(inbox, load_topic(topic).topic, VerdictSources(topic, inbox))
    note(f"{count_text(count, 'answer')} written; 'guardtui {topic}' shows the figures")
    _record_logged(inbox, topic)


def _say_label(inbox: Inbox, topic: Path, before: InboxPrompt, after: InboxPrompt) -> None:
    from guardtui.app.labels.logged_verdicts import VerdictSources
    from guardtui.domain.text import display_start
    from guardtui.files.topic_files import load_topic

    words = [
        prompt.state.value if prompt.expected is None else str(prompt.expected).lower()
        for prompt in (before, after)
    ]
    note(f"{after.id} {' → '.join(words)}: {display_start(after.text, _SHOWN)}")
    if after.expected is not None:
        note(f"it is a prompt of {inbox.set_path}")
    if after.expected is None or not after.production:
        return
    sources, definition = VerdictSources(topic, inbox), load_topic(topic).topic
    verbs = {True: "triggered", False: "did not trigger", None: "did both"}
    for verdict in after.production:
        by = display_start(verdict.guardrail, _SHOWN) or "the guardrail"
        which = sources.words(verdict, definition)
        note(f"in production {by} {verbs[verdict.triggered]}, {which}")


@command.command("draft")
@click.argument("topic", type=FILE)
@_prompts_option
@click.option(
    "--number",
    type=click.IntRange(1, 50),
    default=20,
    metavar="N",
    help="Maximum number of drafts (default: 20).",
)
@writer_option("A language model that writes the drafts instead of rules; you are asked first.")
@set_option("Value of a key of a judge, for the writer: max-tokens, retries or allow-http.")
@click.option("--yes", is_flag=True, help="Call the writer without asking first.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("table", "json")),
    default="table",
    help="Format (default: table).",
)
def draft(
    topic: Path,
    prompts: Path | None,
    number: int,
    writer: str | None,
    settings: tuple[str, ...],
    yes: bool,
    format_name: str,
) -> None:
    """Draft near misses and rephrasings, for a person to label.

    They are made from the examples and prompts that belong to the topic, rephrasings from those
    that the newest iteration missed. Rules are for English, and make fewer drafts where they know
    no natural sentence. Drafts are added to the inbox without a label, and are in no audit.
    """
    from guardtui.app.labels.drafts import NO_DRAFT, DraftMaterial
    from guardtui.domain.text import display_start
    from guardtui.files.topic_files import load_topic

    model = None if writer is None else _writer(writer, settings)
    if model is None and (settings or yes):
        raise click.UsageError("--set and --yes are for --writer: omit them")
    definition = load_topic(topic).topic
    material = DraftMaterial.of(definition, topic, _opened(topic, prompts))
    if model is None:
        added = material.add(material.by_rules(number))
    else:
        drafts = _written(material, model, number, yes=yes)
        if drafts is None:
            return
        added = material.add(drafts, model.name)
    if format_name == "json":
        from guardtui.reports.inbox import DRAFTS_KIND, DraftsData
        from guardtui.reports.json_data import encode

        write(encode(DRAFTS_KIND, DraftsData.of(added, "" if model is None else model.name)))
    else:
        shown = [
            (prompt.id, made.origin, display_start(prompt.text, _SHOWN)) for made, prompt in added
        ]
        write(table(shown, ("id", "draft", "prompt")))
    if not added and model is None:
        note(f"{NO_DRAFT}; or name a --writer")
    note(material.told(added))


def _writer(address: str, settings: tuple[str, ...]) -> JudgeOptions:
    from guardtui.cli.scans.models import models_and_writer
    from guardtui.scanners.configuration import (
        ConfigurationError,
        JudgeConfiguration,
        configure,
        parse_settings,
    )

    try:
        configuration = configure("judge", parse_settings(settings))
    except ConfigurationError as error:
        raise click.UsageError(f"--set {error}") from error
    assert isinstance(configuration, JudgeConfiguration)  # noqa: S101 - by its kind
    _, writer = models_and_writer(
        (),
        address,
        allow_http=configuration.allow_http,
        retries=configuration.retries,
        max_tokens=configuration.max_tokens,
    )
    assert writer is not None  # noqa: S101 - it was named
    return writer


def _written(
    material: DraftMaterial, writer: JudgeOptions, number: int, *, yes: bool
) -> tuple[Draft, ...] | None:
    """Return the drafts of a writer; None if the author declined."""
    from guardtui.cli import asking, signals
    from guardtui.domain.figures import count_text
    from guardtui.reports.base import usage_text

    call = material.call(writer, number)
    if call.is_cached:
        note(f"no call to {writer.title}: its drafts are in the cache")
    else:
        note(f"{writer.title} is sent {call.sent_text}: {call.cost_text}")
        if not asking.agrees("Ask it?", yes=yes, remedy="--yes calls the writer"):
            return None
    try:
        written = signals.run(call.written())
    finally:
        if call.budget.spent.calls:
            note(f"{writer.title}: {usage_text(call.budget.spent)}")
    for problem in written.invalid:
        warn(f"--writer: {problem}")
    if written.left_out:
        note(f"{count_text(written.left_out, 'draft')} left out: there is such a prompt already")
    return written.drafts


@command.command("drop")
@click.argument("topic", type=FILE)
@click.argument("names", nargs=-1, required=True, metavar="ID…")
@_prompts_option
def drop(topic: Path, names: tuple[str, ...], prompts: Path | None) -> None:
    """Remove prompts without a label from the inbox for good."""
    from guardtui.domain.figures import count_text

    inbox = _opened(topic, prompts)
    count = inbox.drop([inbox.find(name).id for name in names])
    note(f"{count_text(count, 'prompt')} removed from {inbox.path}")


@command.command("export")
@click.argument("topic", type=FILE)
@click.option(
    "--output", "-o", type=FILE, required=True, metavar="FILE.csv", help="The file to write."
)
@_prompts_option
def export(topic: Path, output: Path, prompts: Path | None) -> None:
    """Write the prompts to a CSV file, for labelling elsewhere.

    Fill in the columns expected (true or false) and reason, and read them with 'inbox import'.
    """
    from guardtui.domain.figures import count_text
    from guardtui.reports.inbox import inbox_csv

    inbox = _opened(topic, prompts)
    check_output(output, topic, inbox.set_path, inbox.path)
    write(inbox_csv(inbox.own), output, private=True)
    note(f"{count_text(len(inbox.own), 'prompt')} written to {output}, which {_PRIVATE}")


@command.command("import")
@click.argument("topic", type=FILE)
@click.argument("labelled", type=FILE, metavar="FILE.csv")
@click.option("--replace", is_flag=True, help="Overwrite labels that contradict those of the file.")
@_prompts_option
def import_(topic: Path, labelled: Path, replace: bool, prompts: Path | None) -> None:
    """Read labels that were given elsewhere, from a file of 'inbox export'.

    Prompts are found by their id, else by their text.
    """
    from guardtui.files.labelled_tables import read_labelled

    inbox = _opened(topic, prompts)
    imported = inbox.import_labels(read_labelled(labelled), replace=replace)
    _say_imported(inbox, labelled, imported)
    _record_logged(inbox, topic)


def _say_imported(inbox: Inbox, path: Path, imported: Imported) -> None:
    from guardtui.domain.figures import count_text
    from guardtui.domain.text import display_start

    for row, prompt in imported.contradicting[:_LISTED]:
        given, has = (str(entry.expected).lower() for entry in (row, prompt))
        shown = display_start(prompt.text, _SHOWN)
        warn(f"{path}:{row.line}: {given} contradicts the label {has}: {shown}")
    if count := len(imported.contradicting):
        warn(
            f"{count_text(count, 'label')} not written, since the prompts have the other one: "
            "--replace overwrites"
        )
    for row in imported.unknown[:_LISTED]:
        warn(f"{path}:{row.line}: no prompt has this id or text")
    if len(imported.unknown) > _LISTED:
        warn(f"{len(imported.unknown) - _LISTED} unknown prompts more")
    rest = [
        f"{count:,} {what}"
        for count, what in (
            (imported.same, "known already"),
            (imported.empty, "without a label"),
            (len(imported.unknown), "of unknown prompts"),
        )
        if count
    ]
    more = f"; {', '.join(rest)}" if rest else ""
    note(f"{count_text(imported.labelled, 'label')} written to {inbox.set_path}{more}")


def _opened(topic: Path, prompts: Path | None) -> Inbox:
    from guardtui.app.labels.inbox import Inbox

    return Inbox.of_topic(topic, prompts)
