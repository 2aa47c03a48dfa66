"""Input of a command: a topic file with its prompt set."""

from __future__ import annotations

from pathlib import Path

from guardtui.cli.diagnostics import InputError, warn
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet, located
from guardtui.domain.topic import Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, load_topic


def load_inputs(
    topic_path: Path, prompts_path: Path, reading: Reading | None = None
) -> tuple[Topic, PromptSet]:
    """Return topic and prompts; a file without an intent takes that of the other one.

    Raises `FileError`, `PromptSetError`, and `InputError` if the intents disagree.
    """
    file = load_topic(topic_path)
    prompts = load_prompts(prompts_path, file.topic.intent, reading or AS_WRITTEN)
    topic = agreed_topic(file, prompts)
    if topic is None:
        raise InputError(disagreement(file, prompts))
    return topic, prompts


def agreed_topic(file: TopicFile, prompts: PromptSet) -> Topic | None:
    """Return the topic with the agreed intent, or None if the two files disagree."""
    if not file.intent_given:
        return file.topic.model_copy(update={"intent": prompts.intent})
    return file.topic if file.topic.intent is prompts.intent else None


def disagreement(file: TopicFile, prompts: PromptSet) -> str:
    """Return a message with both intents, their locations and a remedy."""
    line = int(prompts.frame["line"][0])
    return (
        f"{file.path}{_intent_line(file.path)}: the topic's intent is {file.topic.intent}, "
        f"but that of {prompts.source}:{line} is {prompts.intent}\n"
        "  make the two agree: correct one of them, or omit the intent in the topic file"
    )


def _intent_line(path: Path) -> str:
    """Return ":n" for the line of the intent in a topic file, or ""."""
    for number, line in enumerate(path.read_text("utf-8-sig", "replace").splitlines(), start=1):
        if line.lstrip(" {\t").lower().startswith(("intent", '"intent"', "'intent'")):
            return f":{number}"
    return ""


def path_from_here(path: Path) -> str:
    """Return the path as CI systems expect it: relative if it is below this folder."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def say_blank_texts(path: Path, topic: Topic) -> None:
    """Warn if the topic has no name or no description, which count as empty texts."""
    texts = (("name", topic.name), ("description", topic.description))
    blank = [f"no {kind}" for kind, text in texts if not text.strip()]
    if blank:
        warn(f"{path}: the topic has {' and '.join(blank)}: only the rest of it is measured")


def say_findings(prompts: PromptSet, limit: int = 5) -> None:
    """Warn of doubtful prompts: the first findings, and the number of others."""
    for finding in prompts.findings[:limit]:
        warn(located(prompts.source, finding.message, finding.lines))
    if len(prompts.findings) > limit:
        warn(f"{len(prompts.findings) - limit} more findings: 'guardtui check' lists them")
