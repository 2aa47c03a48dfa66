"""A topic file with its prompt set, which share an intent."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile, load_topic


def load_inputs(
    topic_path: Path, prompts_path: Path, reading: Reading | None = None
) -> tuple[Topic, PromptSet]:
    """Return topic and prompts; a file without an intent takes that of the other one.

    Raises `FileError`, also if the intents disagree, and `PromptSetError`.
    """
    file = load_topic(topic_path)
    prompts = load_prompts(prompts_path, file.topic.intent, reading or AS_WRITTEN)
    topic = agreed_topic(file, prompts)
    if topic is None:
        raise disagreement(file, prompts)
    return topic, prompts


def agreed_topic(file: TopicFile, prompts: PromptSet) -> Topic | None:
    """Return the topic with the agreed intent, or None if the two files disagree."""
    if not file.intent_given:
        return file.topic.model_copy(update={"intent": prompts.intent})
    return file.topic if file.topic.intent is prompts.intent else None


def disagreement(file: TopicFile, prompts: PromptSet) -> FileError:
    """Return the error with both intents, their locations and a remedy."""
    line = int(prompts.frame["line"][0])
    return FileError(
        file.path,
        f"the topic's intent is {file.topic.intent}, "
        f"but that of {prompts.source}:{line} is {prompts.intent}",
        "make the two agree: correct one of them, or omit the intent in the topic file",
        _intent_line(file.path),
    )


def _intent_line(path: Path) -> int | None:
    """Return the line of the intent in a topic file, or None."""
    for number, line in enumerate(path.read_text("utf-8-sig", "replace").splitlines(), start=1):
        if line.lstrip(" {\t").lower().startswith(("intent", '"intent"', "'intent'")):
            return number
    return None
