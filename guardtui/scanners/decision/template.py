"""The question of a topic: a text file with places for the definition, and both criteria."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.http.decisions import Question
from guardtui.scanners.template_file import (
    Format,
    TemplateError,
    fill,
    parse_sections,
    read_template,
)

PLACES = ("name", "description", "examples")
"""What a template can stand for, each in braces. The description has to be there."""

_SECTIONS = ("question", "true", "false")
_FORMAT = Format(_SECTIONS, "question", PLACES, "description")


@dataclass(frozen=True)
class Template:
    """A question with places in it. `source` is the file, "" for the shipped one.

    `yes` and `no` say when it is to be answered so; "" leaves that to the question.
    """

    question: str
    yes: str = ""
    no: str = ""
    source: str = ""

    @cached_property
    def id(self) -> str:
        """8 hex digits that name what the template says."""
        text = "\0".join((self.question, self.yes, self.no))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def text(self) -> str:
        """The template as a file holds it."""
        parts = zip(_SECTIONS, (self.question, self.yes, self.no), strict=True)
        return "\n".join(f"[{name}]\n{text}\n" for name, text in parts if text)

    def filled(self, topic: Topic) -> Question:
        """The question of a topic. Braces in the topic are text."""
        values = {
            "name": topic.name,
            "description": topic.description,
            "examples": " | ".join(topic.examples) or "(none)",
        }
        return Question(*(fill(text, values) for text in (self.question, self.yes, self.no)))


def default_template() -> Template:
    """The shipped template."""
    text = files("guardtui.scanners.decision").joinpath("default.txt").read_text("utf-8")
    return parse_template(text, "")


def load_template(path: Path) -> Template:
    """A template from a file. Raises TemplateError naming the line."""
    return parse_template(read_template(path, _FORMAT), str(path))


def parse_template(text: str, source: str) -> Template:
    """A template from its text; sections begin with a line `[question]`, `[true]` or `[false]`.

    Without any, all of it is the question. Raises TemplateError.
    """
    sections = parse_sections(text, source, _FORMAT)
    names = [name for name, _ in sections]
    for name in _SECTIONS:
        if names.count(name) > 1:
            raise TemplateError(
                source, f"has two sections [{name}]", "write one question, with one section of each"
            )
    parts = dict(sections)
    question = parts.get("question", "")
    if "{description}" not in question:
        raise TemplateError(
            source,
            "has no place {description} in its question",
            "write {description} where the definition shall stand",
        )
    return Template(question, parts.get("true", ""), parts.get("false", ""), source)
