"""The judge's instructions: a text file with places for the topic and for the fenced prompt."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError

PLACES = ("name", "description", "examples", "prompt")
"""What a template can stand for, each in braces. The prompt has to be there."""

_SECTION = re.compile(r"\[(system|user)\]\s*")
_PLACE = re.compile(r"\{([^{}\n]*)\}")
_HEADING = re.compile(r"\[\s*([A-Za-z]+)\s*\]\s*")
_LARGEST = 64 * 1024


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

        def value(found: re.Match[str]) -> str:
            return values.get(found[1], found[0])

        return [{"role": role, "content": _PLACE.sub(value, text)} for role, text in self.messages]


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


class TemplateError(ScannerError):
    """A template cannot be used; the message names file, line and remedy."""

    def __init__(self, source: str, problem: str, remedy: str, line: int | None = None) -> None:
        where = display_text(source or "the shipped template")
        where += f":{line}" if line is not None else ""
        super().__init__(f"{where}: {problem}\n  {remedy}")


def load_template(path: Path) -> Template:
    """A template from a file. Raises TemplateError naming the line."""
    source = str(path)
    try:
        if not path.is_file():
            raise TemplateError(source, "is no file", "name a text file with {prompt} in it")
        if path.stat().st_size > _LARGEST:
            raise TemplateError(source, "is too large for a template", "at most 64 KiB are taken")
        data = path.read_bytes()
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise TemplateError(source, why, "see that you may read it") from error
    try:
        return parse_template(data.decode("utf-8-sig"), source)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TemplateError(source, "is not UTF-8", "save it as UTF-8", line) from error


def parse_template(text: str, source: str) -> Template:
    """A template from its text; sections begin with a line `[system]` or `[user]`.

    Without any, all of it is the user's message. Raises TemplateError.
    """
    messages: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        begun = _SECTION.fullmatch(line)
        if not begun and (heading := _HEADING.fullmatch(line)):
            raise TemplateError(
                source,
                f"[{heading[1][:40]}] begins no section",
                "sections begin with a line [system] or [user]",
                number,
            )
        if begun:
            messages.append((begun[1], []))
        elif messages:
            messages[-1][1].append(line)
        elif line.strip():
            messages.append(("user", [line]))
        _check(source, line, number)
    said = tuple((role, "\n".join(lines).strip()) for role, lines in messages)
    said = tuple((role, body) for role, body in said if body)
    if not any("{prompt}" in body for role, body in said if role == "user"):
        raise TemplateError(
            source,
            "has no place {prompt} in a message of the user",
            "write {prompt} where the prompt to judge shall stand, with its fence",
        )
    return Template(said, source)


def _check(source: str, line: str, number: int) -> None:
    """Raise TemplateError for a word in braces that was surely meant as a place."""
    for found in _PLACE.finditer(line):
        word = found[1].strip()
        if found[1] not in PLACES and re.fullmatch(r"[a-z_]+", word):
            places = ", ".join(f"{{{one}}}" for one in PLACES)
            raise TemplateError(
                source,
                f"{{{display_text(found[1][:40])}}} stands for nothing",
                f"write {{{word}}}" if word in PLACES else f"places are {places}",
                number,
            )
