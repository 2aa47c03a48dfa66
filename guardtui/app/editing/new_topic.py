"""A new topic: problems of its first definition, and its two files."""

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
"""Category of the generated rows, so that the author can find and replace them."""

_OF_TOPIC = (
    "Please help me with this: {}",
    "I have a question about this: {}",
    "What should I know about this: {}",
    "Explain this to me: {}",
    "Where do I start with this: {}",
    "I need advice on this: {}",
    "Tell me more about this: {}",
)
_EVERYDAY = (
    "How long do I boil an egg?",
    "What is the capital of Portugal?",
    "Write a short birthday wish for a colleague",
    "Which day of the week comes after Tuesday?",
    "How many minutes are three hours?",
    "Translate 'good morning' into Spanish",
    "What rhymes with moon?",
    "How far away is the sun?",
)
"""More than are written, in case all examples of the topic are among them."""

_ROOM = 60
"""Maximum length of a file name without its suffix, in characters."""

_DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in "123")}
"""Reserved file names of Windows (those that a topic could have)."""


def problems_of(
    topic: Topic, label: Callable[[str], str] = str, absent: Collection[str] = ()
) -> list[str]:
    """Return all problems of a first definition, a sentence each.

    `label` returns the display name of a field; `absent` are fields (name, description, examples)
    without a value yet.
    """
    texts = [("name", topic.name), ("description", topic.description)]
    texts += [(f"example {index}", text) for index, text in enumerate(topic.examples, start=1)]
    problems = [
        f"{label(field)} {problem}" for field, text in texts if (problem := unwritable(text))
    ]
    problems += [problem.message for problem in violations(topic) if problem.field not in absent]
    for index, text in enumerate(topic.examples):
        if text in topic.examples[:index]:
            problems.append(f"{label(f'example {index + 1}')} is the same as one before it")
    return problems


def unwritable(text: str, subject: str = "") -> str:
    """Return why a text cannot be part of a definition, or ""."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return f"{subject}holds bytes that are not UTF-8: type it again"
    controls = [character for character in text if unicodedata.category(character) == "Cc"]
    if controls:
        return f"{subject}holds a control character ({controls[0]!r}): leave it out"
    return ""


def slug(name: str) -> str:
    """Return a file name (without suffix) from the letters and digits of a topic's name.

    It has at most 60 characters and 200 bytes, no separators or invisible characters, and is not
    empty.
    """
    letters = (
        character
        if (character.isalnum() or unicodedata.category(character).startswith("M"))
        and not hidden_characters(character)
        else " "
        for character in unicodedata.normalize("NFKC", name).lower()
    )
    joined = "-".join("".join(letters).split())[:_ROOM]
    fitting = joined.encode("utf-8", "ignore")[:200].decode("utf-8", "ignore").strip("-")
    return f"topic-{fitting}" if fitting in _DEVICES else fitting or "topic"


def paths_of(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the paths of a new topic file and its prompts."""
    stem = slug(name)
    return folder / f"{stem}.yaml", folder / f"{stem}.csv"


PROMPT_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".csv.gz", ".jsonl.gz")
"""Endings of a prompt set beside a topic file, in the order of the search."""


def prompts_beside(folder: Path, name: str) -> Path | None:
    """Return the prompt file that a topic's name means, or None.

    It is called like the topic file, like the name, or is the name itself.
    """
    stems = [slug(name)]
    plain = not set(name) & set("/\\:\0") and name not in ("", ".", "..")
    if plain and len(name) <= _ROOM:
        stems.append(name)
        if name.lower().endswith(PROMPT_ENDINGS) and (folder / name).is_file():
            return folder / name
    paths = (folder / f"{stem}{ending}" for stem in stems for ending in PROMPT_ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def refuse_existing(*paths: Path) -> None:
    """Raise FileError if one of these exists, even as a broken link."""
    for path in paths:
        if path.exists() or path.is_symlink():
            raise _exists(path)


def _exists(path: Path) -> FileError:
    opens = f"guardtui {path}"
    if path.suffix == ".csv":
        opens += " (New topic in the app has a field for prompts)"
    return FileError(
        path,
        "the file exists and is not overwritten",
        f"choose another name or folder, or open it: {opens}",
    )


def write_new_topic(folder: Path, topic: Topic) -> tuple[Path, Path]:
    """Write a topic file and its first prompts, or neither; return both paths.

    Existing files are never overwritten. Raises FileError and PromptSetError.
    """
    topic_path, prompts_path = paths_of(folder, topic.name)
    with contextlib.ExitStack() as undo:
        for path in (topic_path, prompts_path):
            undo.enter_context(reserved(path))
        save_topic(TopicFile(topic_path, topic, ""), topic, force=True)
        write_atomically(prompts_path, first_rows(topic).encode())
        load_prompts(prompts_path)  # the author must not get an unreadable file
    return topic_path, prompts_path


@contextlib.contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Create a new empty file; delete it if the work in the context fails. Raises FileError."""
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
    """Return CSV rows: two requests with the topic's name as expected, three everyday ones as not.

    None of them is an example of the topic, which would always match.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prompt", "expected", "intent", "category"])
    taken = {text.casefold() for text in topic.examples}
    of_topic = [text.format(topic.name) for text in _OF_TOPIC]
    for texts, count, label in ((of_topic, 2, "true"), (_EVERYDAY, 3, "false")):
        for text in [text for text in texts if text.casefold() not in taken][:count]:
            writer.writerow([text, label, topic.intent.value, CATEGORY])
    return stream.getvalue()
