"""Template files of questions: sections with placeholders for the topic, and their validation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.text import display_text
from guardtui.scanners.base import ScannerError

_PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
_HEADING = re.compile(r"\[\s*([A-Za-z]+)\s*\]\s*")
_LARGEST = 64 * 1024


class TemplateError(ScannerError):
    """An invalid template; the message names file, line and remedy."""

    def __init__(self, source: str, problem: str, remedy: str, line: int | None = None) -> None:
        location = display_text(source or "the shipped template")
        location += f":{line}" if line is not None else ""
        super().__init__(f"{location}: {problem}\n  {remedy}")


@dataclass(frozen=True, slots=True)
class TemplateFormat:
    """Allowed content of a template file: names of sections and of placeholders.

    Text before the first heading belongs to the section `first`. `required` is the placeholder that
    must occur.
    """

    sections: Sequence[str]
    first: str
    placeholders: Sequence[str]
    required: str


def read_template(path: Path, format: TemplateFormat) -> str:  # noqa: A002
    """Return the text of a template file. Raises TemplateError naming the line."""
    source = str(path)
    try:
        if not path.is_file():
            remedy = f"name a text file with {{{format.required}}} in it"
            raise TemplateError(source, "is not a regular file", remedy)
        if path.stat().st_size > _LARGEST:
            raise TemplateError(source, "is too large for a template", "the maximum is 64 KiB")
        data = path.read_bytes()
    except OSError as error:
        problem = (error.strerror or type(error).__name__).lower()
        raise TemplateError(source, problem, "check the permissions of the file") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TemplateError(source, "is not UTF-8", "save it as UTF-8", line) from error


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
