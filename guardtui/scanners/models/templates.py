"""Template files of judges and decision models: sections with placeholders, and validation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.http.decisions import DecisionQuestion
from guardtui.scanners.base import ScannerError

_PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
_HEADING = re.compile(r"\[\s*([A-Za-z]+)\s*\]\s*")
_LARGEST = 64 * 1024


class TemplateError(ScannerError):
    """An invalid template; the message names file, line and remedy."""

    def __init__(self, source: str, problem: str, remedy: str, line: int | None = None) -> None:
        location = display_text(source or "the built-in template")
        location += f":{line}" if line is not None else ""
        super().__init__(f"{location}: {problem}\n  {remedy}")


@dataclass(frozen=True, slots=True)
class TemplateFormat:
    """Allowed content of a template file: names of sections and of placeholders.

    Text before the first heading belongs to the section `first`.
    """

    sections: Sequence[str]
    first: str
    placeholders: Sequence[str]


def read_template(path: Path) -> str:
    """Return the text of a template file. Raises TemplateError naming the line."""
    try:
        content = read_bytes(path)
        if len(content) > _LARGEST:
            raise FileError(path, "too large for a template", "the maximum is 64 KiB")
        return decode(path, content)
    except FileError as error:
        raise TemplateError(str(path), error.problem, error.remedy, error.line) from error


def parse_sections(text: str, source: str, format: TemplateFormat) -> list[tuple[str, str]]:  # noqa: A002
    """Return the non-empty sections of a template in order, as (name, text).

    A section starts with a line `[name]`. Raises TemplateError for an unknown heading or
    placeholder.
    """
    sections: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _HEADING.fullmatch(line)
        if heading and heading[0].strip() in {f"[{name}]" for name in format.sections}:
            sections.append((heading[1], []))
        elif heading:
            names = " or ".join(f"[{name}]" for name in format.sections)
            raise TemplateError(
                source,
                f"unknown section [{heading[1][:40]}]",
                f"sections start with a line {names}",
                number,
            )
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            sections.append((format.first, [line]))
        _check_placeholders(source, line, number, format.placeholders)
    joined = ((name, "\n".join(lines).strip()) for name, lines in sections)
    return [(name, body) for name, body in joined if body]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of a text, each once: braces in a value are text."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return _PLACEHOLDER.sub(value, text)


def _check_placeholders(source: str, line: str, number: int, placeholders: Sequence[str]) -> None:
    """Raise TemplateError for a word in braces that was probably meant as a placeholder."""
    for match in _PLACEHOLDER.finditer(line):
        word = match[1].strip()
        if match[1] not in placeholders and re.fullmatch(r"[a-z_]+", word):
            listed = ", ".join(f"{{{name}}}" for name in placeholders)
            raise TemplateError(
                source,
                f"unknown placeholder {{{display_text(match[1][:40])}}}",
                f"write {{{word}}}" if word in placeholders else f"placeholders are {listed}",
                number,
            )


# --- of judges ----------------------------------------------------------------------------

JUDGE_FORMAT = TemplateFormat(
    ("system", "user"), "user", ("name", "description", "examples", "prompt")
)


@dataclass(frozen=True)
class JudgeTemplate:
    """Messages with placeholders. `source` is the file, "" for the built-in template.

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

    @classmethod
    def built_in(cls) -> JudgeTemplate:
        """Return the built-in template."""
        return cls.parse(files(__package__).joinpath("judge.txt").read_text("utf-8"))

    @classmethod
    def load(cls, path: Path) -> JudgeTemplate:
        """Read a template from a file. Raises TemplateError naming the line."""
        return cls.parse(read_template(path), str(path))

    def current(self) -> JudgeTemplate:
        """Return it as its file is now. Raises TemplateError."""
        return self.load(Path(self.source)) if self.source else self

    @classmethod
    def parse(cls, text: str, source: str = "") -> JudgeTemplate:
        """Parse the text of a template; sections start with a line `[system]` or `[user]`.

        Without sections, the text is the user's message. Raises TemplateError.
        """
        messages = tuple(parse_sections(text, source, JUDGE_FORMAT))
        if not any("{prompt}" in body for role, body in messages if role == "user"):
            raise TemplateError(
                source,
                "{prompt} is missing in the section [user]",
                "write {prompt} there, where the prompt is to be inserted",
            )
        return cls(messages, source)


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


# --- of decision models -------------------------------------------------------------------

DECISION_FORMAT = TemplateFormat(
    ("question", "true", "false"), "question", ("name", "description", "examples")
)


@dataclass(frozen=True)
class DecisionTemplate:
    """A question with placeholders. `source` is the file, "" for the built-in template.

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
        parts = zip(DECISION_FORMAT.sections, (self.question, self.yes, self.no), strict=True)
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

    @classmethod
    def built_in(cls) -> DecisionTemplate:
        """Return the built-in template."""
        return cls.parse(files(__package__).joinpath("decision.txt").read_text("utf-8"))

    @classmethod
    def load(cls, path: Path) -> DecisionTemplate:
        """Read a template from a file. Raises TemplateError naming the line."""
        return cls.parse(read_template(path), str(path))

    def current(self) -> DecisionTemplate:
        """Return it as its file is now. Raises TemplateError."""
        return self.load(Path(self.source)) if self.source else self

    @classmethod
    def parse(cls, text: str, source: str = "") -> DecisionTemplate:
        """Parse the text of a template; sections start with `[question]`, `[true]` or `[false]`.

        Without sections, the text is the question. Raises TemplateError.
        """
        sections = parse_sections(text, source, DECISION_FORMAT)
        names = [name for name, _ in sections]
        for name in DECISION_FORMAT.sections:
            if names.count(name) > 1:
                raise TemplateError(
                    source,
                    f"has two sections [{name}]",
                    "write one question, with one section of each",
                )
        parts = dict(sections)
        question = parts.get("question", "")
        if "{description}" not in question:
            raise TemplateError(
                source,
                "has no {description} in its question",
                "write {description} where the definition should be inserted",
            )
        return cls(question, parts.get("true", ""), parts.get("false", ""), source)
