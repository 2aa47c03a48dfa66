"""The judge's instructions: a text file with places for the topic and for the fenced prompt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.scanners.template_file import (
    Format,
    TemplateError,
    fill,
    parse_sections,
    read_template,
)

PLACES = ("name", "description", "examples", "prompt")
"""What a template can stand for, each in braces. The prompt has to be there."""

_FORMAT = Format(("system", "user"), "user", PLACES, "prompt")


@dataclass(frozen=True)
class Template:
    """Messages with places in them. `source` is the file, "" for the shipped one.

    `messages` are (role, text). Only `{name}`, `{description}`, `{examples}` and `{prompt}` are
    places: other braces stay as they are, so that a template may hold JSON.
    """

    messages: tuple[tuple[str, str], ...]
    source: str = ""

    @cached_property
    def id(self) -> str:
        """8 hex digits that name what the template says."""
        told = "\0".join(f"{role}\0{text}" for role, text in self.messages)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def text(self) -> str:
        """The template as a file holds it."""
        return "\n".join(f"[{role}]\n{text}\n" for role, text in self.messages)

    def filled(self, topic: Topic, prompt: str) -> list[dict[str, str]]:
        """The messages of one call, in the form of the protocol.

        Places are filled in once: braces in the topic or in the prompt are text.
        """
        values = {
            "name": topic.name,
            "description": topic.description,
            "examples": "\n".join(f"- {one}" for one in topic.examples) or "- (none)",
            "prompt": fenced(prompt, self.id),
        }
        return [{"role": role, "content": fill(text, values)} for role, text in self.messages]


def fenced(prompt: str, salt: str) -> str:
    """A prompt between two marks that it does not hold, and that nobody who wrote it could know.

    The mark is made from the prompt itself, so that the same prompt is asked in the same words.
    """
    for attempt in range(1000):
        seed = f"{attempt}\0{salt}\0{prompt}".encode("utf-8", "surrogatepass")
        mark = hashlib.blake2b(seed, digest_size=8).hexdigest()
        if mark not in prompt:
            break
    return f"<<<prompt {mark}>>>\n{prompt}\n<<<end {mark}>>>"


def default_template() -> Template:
    """The shipped template."""
    text = files("guardtui.scanners.judge").joinpath("default.txt").read_text("utf-8")
    return parse_template(text, "")


def load_template(path: Path) -> Template:
    """A template from a file. Raises TemplateError naming the line."""
    return parse_template(read_template(path, _FORMAT), str(path))


def parse_template(text: str, source: str) -> Template:
    """A template from its text; sections begin with a line `[system]` or `[user]`.

    Without any, all of it is the user's message. Raises TemplateError.
    """
    messages = tuple(parse_sections(text, source, _FORMAT))
    if not any("{prompt}" in body for role, body in messages if role == "user"):
        raise TemplateError(
            source,
            "has no place {prompt} in a message of the user",
            "write {prompt} where the prompt to judge shall stand, with its fence",
        )
    return Template(messages, source)
