"""`guardtui new`: a topic file and the first rows of its prompts, from four questions."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from guardtui.cli.diagnostics import InputError, note
from guardtui.cli.options import FILE
from guardtui.cli.output import write
from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Intent, Topic, violations
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import from_os_error
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, save_topic

CATEGORY = "to-replace"
"""The category of every row made here: the author filters by it and writes real prompts."""

_NEUTRAL = (
    "How long do I boil an egg?",
    "What is the capital of Portugal?",
    "Write a short birthday wish for a colleague",
)
_SPARES = (
    "Which day of the week comes after Tuesday?",
    "How many minutes are three hours?",
    "Translate 'good morning' into Spanish",
    "What rhymes with moon?",
    "How far away is the sun?",
)
"""As many as a topic has examples, for one whose examples are all everyday requests."""

_ROOM = 60
"""Characters of a file name without its ending."""

_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in "123")}
"""Names that Windows keeps for itself (the ones that a topic could have)."""


@dataclass
class _Answers:
    """What is known so far; None is still to be asked."""

    name: str | None
    description: str | None
    intent: str | None
    examples: list[str]

    def topic(self, **changes: object) -> Topic:
        """The topic so far, with what is being answered put in."""
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
    help="A request that is of the topic; two to five times.",
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
    """Make a topic file and the first rows of its prompts.

    Asks on the terminal for what no option gives: name, description, block or allow, examples.
    Nothing that exists is written over, and Ctrl-C leaves nothing behind.
    """
    if words is not None and name is not None and words != name:
        raise click.UsageError("NAME and --name differ: give one of them")
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder\n  make it first, or name another")
    answers = _Answers(
        name=_stripped(words if name is None else name),
        description=_stripped(description),
        intent=intent,
        examples=[text.strip() for text in examples],
    )
    _check_given(answers)
    if answers.name is not None:
        _refuse_existing(*_paths(folder, answers.name))
    _ask_missing(answers, folder)
    _write_both(*_paths(folder, answers.name or ""), answers.topic())
    return None


def _stripped(text: str | None) -> str | None:
    return text if text is None else text.strip()


def _check_given(answers: _Answers) -> None:
    """Raise InputError with everything that is wrong with the options, all together."""
    texts = [("--name", answers.name), ("--description", answers.description)]
    texts += [(f"--example {place}", text) for place, text in enumerate(answers.examples, start=1)]
    problems = [f"{label} {found}" for label, text in texts if (found := _unwritable(text or ""))]
    absent = {
        "name": answers.name is None,
        "description": answers.description is None,
        "examples": not answers.examples,
    }
    problems += [
        one.message for one in violations(answers.topic()) if not absent.get(one.field, False)
    ]
    for place, text in enumerate(answers.examples):
        if text in answers.examples[:place]:
            problems.append(f"--example {place + 1} is the same as one before it")
    if problems:
        raise InputError("\n".join([*problems, "  shorten or correct these, and try again"]))


def _ask_missing(answers: _Answers, folder: Path) -> None:
    """Ask for what is not known; InputError when it is missing and nobody can be asked."""
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
            f"{', '.join(missing)}: not given, and without a terminal nobody can be asked\n"
            "  give --name, --description, --intent and --example (two to five times)"
        )
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - arrows and corrections in the answers
    note("A new topic. Ctrl-C leaves without writing anything.")
    if answers.name is None:
        answers.name = _ask(
            "\nWhat is the name of the topic?", lambda text: _name_problem(answers, text)
        )
        _refuse_existing(*_paths(folder, answers.name))
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
        if problem := _unwritable(text, "it ") or _example_problem(answers, text):
            note(f"  {problem}")
        else:
            answers.examples.append(text)


def _ask(question: str, problem_of: Callable[[str], str]) -> str:
    """Ask until the answer has no problem."""
    note(question)
    while True:
        try:
            text = _read("> ")
        except EOFError:
            raise click.Abort from None
        if problem := _unwritable(text, "it ") or problem_of(text):
            note(f"  {problem}")
        else:
            return text


def _can_ask() -> bool:
    """Whether questions are seen and answers come from a person."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def _read(sign: str) -> str:
    """One line of the author, blanks around it dropped. Raises EOFError at Ctrl-D."""
    try:
        return input(sign if sys.stdout and sys.stdout.isatty() else "").strip()
    except UnicodeDecodeError:
        return "\ud800"  # half a character, which the check of every answer refuses


def _unwritable(text: str, subject: str = "") -> str:
    """Why a text cannot be part of a definition, or ""."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return f"{subject}holds bytes that are no UTF-8: type it again"
    controls = [character for character in text if unicodedata.category(character) == "Cc"]
    if controls:
        return f"{subject}holds a control character ({controls[0]!r}): leave it out"
    return ""


def _broken(topic: Topic, field: str) -> str:
    """The limit that one field of the topic breaks, or all together; "" when none."""
    found = [one.message for one in violations(topic) if one.field in (field, "total")]
    return "; ".join(found)


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


def slug(name: str) -> str:
    """A file name (without ending) made of the letters and digits of a topic's name.

    At most 60 characters and 200 bytes, no separators, no invisible characters, never empty.
    """
    kept = (
        character
        if (character.isalnum() or unicodedata.category(character).startswith("M"))
        and not hidden_characters(character)
        else " "
        for character in unicodedata.normalize("NFKC", name).lower()
    )
    joined = "-".join("".join(kept).split())[:_ROOM]
    fitting = joined.encode("utf-8", "ignore")[:200].decode("utf-8", "ignore").strip("-")
    return f"topic-{fitting}" if fitting in _DEVICES else fitting or "topic"


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    stem = slug(name)
    return folder / f"{stem}.yaml", folder / f"{stem}.csv"


def _refuse_existing(*paths: Path) -> None:
    for path in paths:
        if path.exists() or path.is_symlink():
            raise _exists(path)


def _exists(path: Path) -> InputError:
    return InputError(
        f"{path}: this is there already, and is not written over\n"
        "  choose another name or --folder, or open it with 'guardtui'"
    )


def _write_both(topic_path: Path, prompts_path: Path, topic: Topic) -> None:
    """Write the topic file and its prompts, or neither."""
    with contextlib.ExitStack() as undo:
        for path in (topic_path, prompts_path):
            undo.enter_context(_reserved(path))
        save_topic(TopicFile(topic_path, topic, ""), topic, force=True)
        write_atomically(prompts_path, first_rows(topic).encode())
        load_prompts(prompts_path)  # nothing is left to the author that cannot be read
    note(f"\nWrote {topic_path} and {prompts_path}.")
    note(f"The rows of category {CATEGORY} only start the set: replace them with real requests.")
    note("Open it with:")
    write(f"guardtui {_word(topic_path)} --prompts {_word(prompts_path)}\n")


@contextlib.contextmanager
def _reserved(path: Path) -> Iterator[None]:
    """Make an empty file that was not there before; gone again when the work in it fails."""
    try:
        path.open("xb").close()
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise from_os_error(path, error) from error
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def first_rows(topic: Topic) -> str:
    """Rows of a prompt set as CSV: the examples as expected, three everyday requests as not."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prompt", "expected", "intent", "category"])
    for text in topic.examples:
        writer.writerow([text, "true", topic.intent.value, CATEGORY])
    taken = {text.casefold() for text in topic.examples}
    everyday = [text for text in (*_NEUTRAL, *_SPARES) if text.casefold() not in taken]
    for text in everyday[: len(_NEUTRAL)]:
        writer.writerow([text, "false", topic.intent.value, CATEGORY])
    return stream.getvalue()


def _word(path: Path) -> str:
    """A path as a shell takes it for one word that is no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
