"""Instructions of the judge: a text file with placeholders for topic and fenced prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.scanners.models.template_file import (
    TemplateError,
    TemplateFormat,
    fill,
    parse_sections,
    read_template,
)

PLACEHOLDERS = ("name", "description", "examples", "prompt")
"""Placeholders of a template, written in braces. `{prompt}` is required."""

_FORMAT = TemplateFormat(("system", "user"), "user", PLACEHOLDERS, "prompt")


@dataclass(frozen=True)
class JudgeTemplate:
    """Messages with placeholders. `source` is the file, "" for the shipped template.

    `messages` are (role, text). Only `{name}`, `{description}`, `{examples}` and `{prompt}` are
    placeholders; other braces are kept, so that a template may contain JSON.
    """

    messages: tuple[tuple[str, str], ...]
    source: str = ""

    @cached_property
    def id(self) -> str:
        """8 hex digits that identify the content."""
        content = "\0".join(f"{role}\0{text}" for role, text in self.messages)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def text(self) -> str:
        """The content of a template file."""
        return "\n".join(f"[{role}]\n{text}\n" for role, text in self.messages)

    def filled(self, topic: Topic, prompt: str) -> list[dict[str, str]]:
        """Return the messages of one call, in the form of the protocol.

        Placeholders are replaced once: braces in topic or prompt are text.
        """
        values = {
            "name": topic.name,
            "description": topic.description,
            "examples": "\n".join(f"- {example}" for example in topic.examples) or "- (none)",
            "prompt": fenced(prompt, self.id),
        }
        return [{"role": role, "content": fill(text, values)} for role, text in self.messages]


def fenced(prompt: str, salt: str) -> str:
    """Return a prompt between two marks that it does not contain and its writer cannot predict.

    The mark is derived from the prompt, so that the same prompt gives the same messages.
    """
    for attempt in range(1000):
        seed = f"{attempt}\0{salt}\0{prompt}".encode("utf-8", "surrogatepass")
        mark = hashlib.blake2b(seed, digest_size=8).hexdigest()
        if mark not in prompt:
            break
    return f"<<<prompt {mark}>>>\n{prompt}\n<<<end {mark}>>>"


def default_template() -> JudgeTemplate:
    """Return the shipped template."""
    text = files("guardtui.scanners.models").joinpath("judge.txt").read_text("utf-8")
    return parse_template(text, "")


def load_template(path: Path) -> JudgeTemplate:
    """Read a template from a file. Raises TemplateError naming the line."""
    return parse_template(read_template(path, _FORMAT), str(path))


def parse_template(text: str, source: str) -> JudgeTemplate:
    """Parse the text of a template; sections start with a line `[system]` or `[user]`.

    Without sections, the text is the user's message. Raises TemplateError.
    """
    messages = tuple(parse_sections(text, source, _FORMAT))
    if not any("{prompt}" in body for role, body in messages if role == "user"):
        raise TemplateError(
            source,
            "{prompt} is missing in the section [user]",
            "write {prompt} there, where the prompt is to be inserted",
        )
    return JudgeTemplate(messages, source)
