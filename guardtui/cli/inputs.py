"""A topic file and a prompt set that belong together, loaded for a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from guardtui.cli.diagnostics import InputError, warn
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, load_topic


def load_inputs(topic_path: Path, prompts_path: Path) -> tuple[Topic, PromptSet]:
    """Topic and prompts; a file without an intent takes that of the other one.

    Raises `FileError`, `PromptSetError`, and `InputError` when the intents disagree.
    """
    file = load_topic(topic_path)
    prompts = load_prompts(prompts_path, file.topic.intent)
    topic = agreed_topic(file, prompts)
    if topic is None:
        raise InputError(disagreement(file, prompts))
    return topic, prompts


def refuse_standard_input(prompts: Path) -> None:
    """Raise InputError for `--prompts -` where the keyboard or nobody is at standard input."""
    if str(prompts) == "-":
        raise InputError(
            "--prompts -: the app cannot read prompts from standard input\n"
            "  save them to a file and name that, or use 'guardtui eval'"
        )


def agreed_topic(file: TopicFile, prompts: PromptSet) -> Topic | None:
    """The topic with the intent that holds; None when the two files disagree."""
    if not file.intent_given:
        return file.topic.model_copy(update={"intent": prompts.intent})
    return file.topic if file.topic.intent is prompts.intent else None


def disagreement(file: TopicFile, prompts: PromptSet) -> str:
    """The two intents with the places where they stand, and what to do."""
    line = int(prompts.frame["line"][0])
    return (
        f"{file.path}{_intent_line(file.path)}: the topic's intent is {file.topic.intent}, "
        f"but that of {prompts.source}:{line} is {prompts.intent}\n"
        "  make the two agree: correct one of them, or leave the intent out of the topic file"
    )


def _intent_line(path: Path) -> str:
    """ ":n" for the line of the topic file that gives the intent; "" when it is not found."""
    for number, line in enumerate(path.read_text("utf-8-sig", "replace").splitlines(), start=1):
        if line.lstrip(" {\t").lower().startswith(("intent", '"intent"', "'intent'")):
            return f":{number}"
    return ""


def path_from_here(path: Path) -> str:
    """The path as code scanning and CI systems want it: relative where it is below this folder."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def located(file: str, message: str, lines: Sequence[int]) -> str:
    """A finding in one sentence: the file with its first line, the message, further lines."""
    place = f"{file}:{lines[0]}" if lines else file
    further = f" (lines {', '.join(map(str, lines[:10]))})" if len(lines) > 1 else ""
    if len(lines) > 10:
        further = f"{further[:-1]}, …)"
    return f"{place}: {message}{further}"


def say_blank_texts(path: Path, topic: Topic) -> None:
    """Warn when the topic has no name or no description, which count as empty texts."""
    texts = (("name", topic.name), ("description", topic.description))
    blank = [f"no {kind}" for kind, text in texts if not text.strip()]
    if blank:
        warn(f"{path}: the topic has {' and '.join(blank)}: what is measured is the rest of it")


def say_findings(prompts: PromptSet, limit: int = 5) -> None:
    """Warn of what is doubtful in the prompts: the first findings, and how many more there are."""
    for finding in prompts.findings[:limit]:
        warn(located(prompts.source, finding.message, finding.lines))
    if len(prompts.findings) > limit:
        warn(f"{len(prompts.findings) - limit} more findings: 'guardtui check' lists them")
