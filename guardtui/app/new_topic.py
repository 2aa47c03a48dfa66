"""A new topic: what is wrong with its first definition, and its two files."""

from __future__ import annotations

import contextlib
import csv
import io
import unicodedata
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import Topic, violations
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, from_os_error
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


def problems_of(
    topic: Topic, label: Callable[[str], str] = str, absent: Collection[str] = ()
) -> list[str]:
    """Return everything that is wrong with a first definition, a sentence each.

    `label` is what a field is called, `absent` names fields (name, description, examples) that are
    not known yet.
    """
    texts = [("name", topic.name), ("description", topic.description)]
    texts += [(f"example {place}", text) for place, text in enumerate(topic.examples, start=1)]
    problems = [f"{label(field)} {found}" for field, text in texts if (found := unwritable(text))]
    problems += [found.message for found in violations(topic) if found.field not in absent]
    for place, text in enumerate(topic.examples):
        if text in topic.examples[:place]:
            problems.append(f"{label(f'example {place + 1}')} is the same as one before it")
    return problems


def unwritable(text: str, subject: str = "") -> str:
    """Why a text cannot be part of a definition, or ""."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return f"{subject}holds bytes that are no UTF-8: type it again"
    controls = [character for character in text if unicodedata.category(character) == "Cc"]
    if controls:
        return f"{subject}holds a control character ({controls[0]!r}): leave it out"
    return ""


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


def paths_of(folder: Path, name: str) -> tuple[Path, Path]:
    """Where the topic file and the prompts of a new topic go."""
    stem = slug(name)
    return folder / f"{stem}.yaml", folder / f"{stem}.csv"


def refuse_existing(*paths: Path) -> None:
    """Raise FileError when one of these is there already, also as a link that leads nowhere."""
    for path in paths:
        if path.exists() or path.is_symlink():
            raise _exists(path)


def _exists(path: Path) -> FileError:
    return FileError(
        path,
        "this is there already, and is not written over",
        "choose another name or folder, or open it in guardtui",
    )


def write_new_topic(folder: Path, topic: Topic) -> tuple[Path, Path]:
    """Write a topic file and the first rows of its prompts, or neither; return both paths.

    Raises FileError and PromptSetError. Nothing that exists is written over.
    """
    topic_path, prompts_path = paths_of(folder, topic.name)
    with contextlib.ExitStack() as undo:
        for path in (topic_path, prompts_path):
            undo.enter_context(_reserved(path))
        save_topic(TopicFile(topic_path, topic, ""), topic, force=True)
        write_atomically(prompts_path, first_rows(topic).encode())
        load_prompts(prompts_path)  # nothing is left to the author that cannot be read
    return topic_path, prompts_path


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
