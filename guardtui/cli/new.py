"""`guardtui new`: create a topic file, for prompts that exist or with the first rows of some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from guardtui.app.editing.new_topic import (
    CATEGORY,
    paths_of,
    problems_of,
    prompts_beside,
    refuse_existing,
    reserved,
    unwritable,
    write_new_topic,
)
from guardtui.cli.asking import read_line
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError, can_ask, note, warn
from guardtui.cli.options import FILE
from guardtui.cli.output import write
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Intent, Topic, violations
from guardtui.files.command_lines import command_line
from guardtui.files.topic_files import SeveralTopicsError, TopicFile, load_topics, save_topic


@dataclass
class _Answers:
    """Answers so far; None for a question still to be asked."""

    name: str | None
    description: str | None
    intent: str | None
    examples: list[str]

    def topic(self, **changes: object) -> Topic:
        """Return the topic so far, with further answers."""
        fields: dict[str, object] = {
            "name": self.name or "",
            "description": self.description or "",
            "examples": tuple(self.examples),
            "intent": Intent(self.intent or "block"),
        }
        return Topic.model_validate({**fields, **changes})


@click.command(
    "new",
    cls=Command,
    examples=(
        ("guardtui new", "Ask for everything"),
        ('guardtui new "Tax advice" --description "Personal tax advice"', "Ask for the rest"),
        ("guardtui new --from all-topics.json#Loans", "From a file of several topics"),
    ),
)
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    metavar="FILE[#NAME]",
    help="Take the definition from a file of topics; #NAME says which of several.",
)
@click.option("--description", metavar="TEXT", help="What the topic is about, in a sentence.")
@click.option(
    "--intent",
    type=click.Choice(["block", "allow"]),
    help="Stop prompts on the topic (block), or all others (allow).",
)
@click.option(
    "--example",
    "examples",
    multiple=True,
    metavar="TEXT",
    help="A prompt that belongs to the topic; give two to five.",
)
@click.option(
    "--folder", type=FILE, default=".", metavar="FOLDER", help="Where to write (default: here)."
)
def command(
    name: str | None,
    source: str | None,
    description: str | None,
    intent: str | None,
    examples: tuple[str, ...],
    folder: Path,
) -> None:
    """Create a topic file and the first rows of its prompts.

    Asks on the terminal for values without an option: name, description, intent, examples. If a
    file of labelled prompts (NAME.csv …) exists, nothing is asked: the topic gets its intent and,
    as examples, the most central of its prompts, which are taken out of it. Existing topic files
    are never overwritten, and Ctrl-C writes nothing.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder\n  create it, or name another one")
    answers = _Answers(
        name=_stripped(name),
        description=_stripped(description),
        intent=intent,
        examples=[text.strip() for text in examples],
    )
    if source is not None:
        _take(source, answers)
    _check_given(answers, as_draft=source is not None)
    existing = _prompts_for(folder, answers)
    if existing is None and source is None:
        existing = _ask_missing(answers, folder)
    if existing is None:
        topic_path, prompts_path = write_new_topic(folder, answers.topic())
        note(f"\nWrote {topic_path} and {prompts_path}.")
        note(
            f"The rows of category {CATEGORY} only start the set: replace them with real requests."
        )
        _say_command(topic_path, prompts_path)
    elif source is None:
        _for_prompts(existing, answers)
    else:
        _beside_prompts(paths_of(folder, answers.name or "")[0], existing, answers.topic())


def _prompts_for(folder: Path, answers: _Answers) -> Path | None:
    """Return the existing prompts of a topic whose name is known, or None.

    Raises FileError if its files exist otherwise.
    """
    if answers.name is None:
        return None
    topic_path, prompts_path = paths_of(folder, answers.name)
    existing = prompts_beside(folder, answers.name)
    if existing is None:
        refuse_existing(topic_path, prompts_path)
    return existing


def _say_command(topic_path: Path, prompts_path: Path) -> None:
    note("Open it with:")
    write(f"{command_line('guardtui', topic_path, '--prompts', prompts_path)}\n")


def _for_prompts(prompts_path: Path, answers: _Answers) -> None:
    """Write a topic for a prompt file that exists. Raises FileError and PromptSetError."""
    from guardtui.app.editing.topic_from_prompts import name_for, start_topic, stem_of

    stem = stem_of(prompts_path)
    topic_path = stem.with_name(f"{stem.name}.yaml")
    if answers.name in (prompts_path.name, stem.name):
        answers.name = name_for(prompts_path)
    refuse_existing(topic_path)
    intent = None if answers.intent is None else Intent(answers.intent)
    workspace = start_topic(prompts_path, topic_path, answers.topic(), intent)
    workspace.store.close()
    note(display_text(workspace.opening_note))
    if answers.description is None:
        note("Its description is still empty.")
    _say_command(topic_path, prompts_path)


def _beside_prompts(topic_path: Path, prompts_path: Path, topic: Topic) -> None:
    """Write the topic file alone: its prompts exist. Raises FileError."""
    with reserved(topic_path):
        save_topic(TopicFile(topic_path, topic, ""), topic, force=True)
    note(f"Wrote {topic_path}; the prompts of {prompts_path} are unchanged.")
    _say_command(topic_path, prompts_path)


def _take(source: str, answers: _Answers) -> None:
    """Fill the answers from a topic of a file. Raises FileError and InputError."""
    path, name = Path(source), ""
    if not path.exists() and "#" in source:
        start, _, name = source.rpartition("#")
        path = Path(start)
    files = load_topics(path)
    names = [file.topic.name for file in files]
    if name:
        files = [file for file in files if _key(file.topic.name) == _key(name)]
    if not files:
        listed = ", ".join(display_start(name, 60) for name in names[:20])
        raise InputError(
            f"{path}: no topic is called {display_start(name, 60)!r}\n  its topics are: {listed}"
        )
    if len(files) > 1:
        raise SeveralTopicsError(path, names)
    (file,) = files
    topic = file.topic
    answers.name = topic.name.strip() if answers.name is None else answers.name
    answers.description = topic.description if answers.description is None else answers.description
    answers.examples = answers.examples or list(topic.examples)
    if answers.intent is None:
        answers.intent = topic.intent.value
        if not file.intent_given:
            note(f"{path} gives no intent: it is taken to be block (--intent allow for the other)")


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _stripped(text: str | None) -> str | None:
    return text if text is None else text.strip()


def _check_given(answers: _Answers, *, as_draft: bool) -> None:
    """Raise InputError with all errors in the options; a draft may exceed the limits, said so."""
    absent = {
        "name": answers.name is None,
        "description": answers.description is None,
        "examples": not answers.examples,
    }
    problems = problems_of(
        answers.topic(),
        label=lambda field: "NAME" if field == "name" else f"--{field}",
        absent=[field for field, missing in absent.items() if missing and not as_draft],
    )
    if as_draft and answers.name and not unwritable("".join(answers.examples)):
        for problem in problems:
            warn(problem)
    elif problems:
        raise InputError("\n".join([*problems, "  shorten or correct these, and try again"]))


def _ask_missing(answers: _Answers, folder: Path) -> Path | None:
    """Ask for missing values; stop after the name if its prompts exist, and return their path.

    Raises InputError if standard input is not a terminal.
    """
    missing = [
        option
        for option, value in (
            ("NAME", answers.name),
            ("--description", answers.description),
            ("--intent", answers.intent),
            ("--example", answers.examples),
        )
        if not value
    ]
    if not missing:
        return None
    if not can_ask():
        raise InputError(
            f"{', '.join(missing)}: missing, and there is no terminal to ask for it\n"
            "  give NAME, --description, --intent and --example (two to five times)"
        )
    note("A new topic. Ctrl-C leaves without writing anything.")
    if answers.name is None:
        answers.name = _ask(
            "\nWhat is the name of the topic?",
            lambda text: _broken(answers.topic(name=text), "name"),
        )
        if existing := _prompts_for(folder, answers):
            return existing
    if answers.description is None:
        answers.description = _ask(
            "\nWhat is it about, in a sentence? That is what requests are compared with.",
            lambda text: _broken(answers.topic(description=text), "description"),
        )
    if answers.intent is None:
        answer = _ask("\nStop prompts on the topic (block), or all others (allow)?", _no_intent)
        answers.intent = "block" if "block".startswith(answer.lower()) else "allow"
    if not answers.examples:
        _ask_examples(answers)
    return None


def _ask_examples(answers: _Answers) -> None:
    note(
        f"\nRequests that are of the topic, {EXAMPLES_AT_LEAST} to {EXAMPLES_AT_MOST}, one a line. "
        "An empty line ends."
    )
    while len(answers.examples) < EXAMPLES_AT_MOST:
        enough = len(answers.examples) >= EXAMPLES_AT_LEAST
        try:
            text = read_line(f"{len(answers.examples) + 1}> ")
        except EOFError:
            if not enough:
                raise click.Abort from None
            return
        if not text and enough:
            return
        if problem := unwritable(text, "it ") or _example_problem(answers, text):
            note(f"  {problem}")
        else:
            answers.examples.append(text)


def _ask(question: str, problem_of: Callable[[str], str]) -> str:
    """Ask until the answer is valid."""
    note(question)
    while True:
        try:
            text = read_line("> ")
        except EOFError:
            raise click.Abort from None
        if problem := unwritable(text, "it ") or problem_of(text):
            note(f"  {problem}")
        else:
            return text


def _broken(topic: Topic, field: str) -> str:
    """Return the limit that a field, or the whole topic, exceeds, or ""."""
    messages = [
        violation.message for violation in violations(topic) if violation.field in (field, "total")
    ]
    return "; ".join(messages)


def _example_problem(answers: _Answers, text: str) -> str:
    if not text:
        return _broken(answers.topic(), "examples")
    if text in answers.examples:
        return "this example is there already"
    number = len(answers.examples) + 1
    return _broken(answers.topic(examples=(*answers.examples, text)), f"examples.{number}")


def _no_intent(text: str) -> str:
    known = text and any(word.startswith(text.lower()) for word in ("block", "allow"))
    return "" if known else "write block or allow"
