"""`guardtui new`: create a topic file and the first rows of its prompts, from four questions."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from guardtui.app.new_topic import (
    CATEGORY,
    paths_of,
    problems_of,
    refuse_existing,
    unwritable,
    write_new_topic,
)
from guardtui.cli.diagnostics import InputError, note
from guardtui.cli.options import FILE
from guardtui.cli.output import write
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Intent, Topic, violations


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


@click.command("new")
@click.argument("words", metavar="[NAME]", required=False)
@click.option("--name", metavar="TEXT", help="Name of the topic, in place of NAME.")
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
    words: str | None,
    name: str | None,
    description: str | None,
    intent: str | None,
    examples: tuple[str, ...],
    folder: Path,
) -> int | None:
    """Create a topic file and the first rows of its prompts.

    Asks on the terminal for values without an option: name, description, intent, examples.
    Existing files are never overwritten, and Ctrl-C writes nothing.
    """
    if words is not None and name is not None and words != name:
        raise click.UsageError("NAME and --name differ: give one of them")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder\n  create it, or name another one")
    answers = _Answers(
        name=_stripped(words if name is None else name),
        description=_stripped(description),
        intent=intent,
        examples=[text.strip() for text in examples],
    )
    _check_given(answers)
    if answers.name is not None:
        refuse_existing(*paths_of(folder, answers.name))
    _ask_missing(answers, folder)
    topic_path, prompts_path = write_new_topic(folder, answers.topic())
    note(f"\nWrote {topic_path} and {prompts_path}.")
    note(f"The rows of category {CATEGORY} only start the set: replace them with real requests.")
    note("Open it with:")
    write(f"guardtui {_word(topic_path)} --prompts {_word(prompts_path)}\n")
    return None


def _stripped(text: str | None) -> str | None:
    return text if text is None else text.strip()


def _check_given(answers: _Answers) -> None:
    """Raise InputError with all errors in the options."""
    absent = {
        "name": answers.name is None,
        "description": answers.description is None,
        "examples": not answers.examples,
    }
    problems = problems_of(
        answers.topic(),
        label=lambda field: f"--{field}",
        absent=[field for field, missing in absent.items() if missing],
    )
    if problems:
        raise InputError("\n".join([*problems, "  shorten or correct these, and try again"]))


def _ask_missing(answers: _Answers, folder: Path) -> None:
    """Ask for missing values. Raises InputError if standard input is not a terminal."""
    missing = [
        option
        for option, value in (
            ("--name", answers.name),
            ("--description", answers.description),
            ("--intent", answers.intent),
            ("--example", answers.examples),
        )
        if not value
    ]
    if not missing:
        return
    if not _can_ask():
        raise InputError(
            f"{', '.join(missing)}: missing, and there is no terminal to ask for it\n"
            "  give --name, --description, --intent and --example (two to five times)"
        )
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - arrows and corrections in the answers
    note("A new topic. Ctrl-C leaves without writing anything.")
    if answers.name is None:
        answers.name = _ask(
            "\nWhat is the name of the topic?", lambda text: _name_problem(answers, text)
        )
        refuse_existing(*paths_of(folder, answers.name))
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


def _ask_examples(answers: _Answers) -> None:
    note(
        f"\nRequests that are of the topic, {EXAMPLES_AT_LEAST} to {EXAMPLES_AT_MOST}, one a line. "
        "An empty line ends."
    )
    while len(answers.examples) < EXAMPLES_AT_MOST:
        enough = len(answers.examples) >= EXAMPLES_AT_LEAST
        try:
            text = _read(f"{len(answers.examples) + 1}> ")
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
            text = _read("> ")
        except EOFError:
            raise click.Abort from None
        if problem := unwritable(text, "it ") or problem_of(text):
            note(f"  {problem}")
        else:
            return text


def _can_ask() -> bool:
    """Return whether both ends are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def _read(sign: str) -> str:
    """Return one line of input, stripped. Raises EOFError at Ctrl-D."""
    try:
        return input(sign if sys.stdout and sys.stdout.isatty() else "").strip()
    except UnicodeDecodeError:
        return "\ud800"  # half a character, which every answer's check rejects


def _broken(topic: Topic, field: str) -> str:
    """Return the limit that a field, or the whole topic, exceeds, or ""."""
    messages = [
        violation.message for violation in violations(topic) if violation.field in (field, "total")
    ]
    return "; ".join(messages)


def _name_problem(answers: _Answers, text: str) -> str:
    return _broken(answers.topic(name=text), "name")


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


def _word(path: Path) -> str:
    """Return a path quoted for a shell, never an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
