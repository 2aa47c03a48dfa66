"""The question of a topic: a text file with placeholders for the definition, and criteria."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.http.decisions import DecisionQuestion
from guardtui.scanners.models.template_file import (
    TemplateError,
    TemplateFormat,
    fill,
    parse_sections,
    read_template,
)

PLACEHOLDERS = ("name", "description", "examples")
"""Placeholders of a template, written in braces. `{description}` is required."""

_SECTIONS = ("question", "true", "false")
_FORMAT = TemplateFormat(_SECTIONS, "question", PLACEHOLDERS, "description")


@dataclass(frozen=True)
class DecisionTemplate:
    """A question with placeholders. `source` is the file, "" for the shipped template.

    `yes` and `no` are the criteria of the answers; "" leaves them to the question.
    """

    question: str
    yes: str = ""
    no: str = ""
    source: str = ""

    @cached_property
    def id(self) -> str:
        """8 hex digits that identify the content."""
        text = "\0".join((self.question, self.yes, self.no))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def text(self) -> str:
        """The content of a template file."""
        parts = zip(_SECTIONS, (self.question, self.yes, self.no), strict=True)
        return "\n".join(f"[{name}]\n{text}\n" for name, text in parts if text)

    def filled(self, topic: Topic) -> DecisionQuestion:
        """Return the question about a topic. Braces in the topic are text."""
        values = {
            "name": topic.name,
            "description": topic.description,
            "examples": " | ".join(topic.examples) or "(none)",
        }
        return DecisionQuestion(
            *(fill(text, values) for text in (self.question, self.yes, self.no))
        )


def default_template() -> DecisionTemplate:
    """Return the shipped template."""
    text = files("guardtui.scanners.models").joinpath("decision.txt").read_text("utf-8")
    return parse_template(text, "")


def load_template(path: Path) -> DecisionTemplate:
    """Read a template from a file. Raises TemplateError naming the line."""
    return parse_template(read_template(path, _FORMAT), str(path))


def parse_template(text: str, source: str) -> DecisionTemplate:
    """Parse the text of a template; sections start with `[question]`, `[true]` or `[false]`.

    Without sections, the text is the question. Raises TemplateError.
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
            "has no {description} in its question",
            "write {description} where the definition should be inserted",
        )
    return DecisionTemplate(question, parts.get("true", ""), parts.get("false", ""), source)
