"""Files that word a question: sections with places for the topic, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.text import display_text
from guardtui.scanners.base import ScannerError

_PLACE = re.compile(r"\{([^{}\n]*)\}")
_HEADING = re.compile(r"\[\s*([A-Za-z]+)\s*\]\s*")
_LARGEST = 64 * 1024


class TemplateError(ScannerError):
    """A template cannot be used; the message names file, line and remedy."""

    def __init__(self, source: str, problem: str, remedy: str, line: int | None = None) -> None:
        where = display_text(source or "the shipped template")
        where += f":{line}" if line is not None else ""
        super().__init__(f"{where}: {problem}\n  {remedy}")


@dataclass(frozen=True, slots=True)
class Format:
    """What a template's file may hold: sections by their names, and places by theirs.

    Text before the first heading is of the section `first`. `needed` is the place that it cannot
    do without.
    """

    sections: Sequence[str]
    first: str
    places: Sequence[str]
    needed: str


def read_template(path: Path, format: Format) -> str:  # noqa: A002
    """The text of a template's file. Raises TemplateError naming the line."""
    source = str(path)
    try:
        if not path.is_file():
            remedy = f"name a text file with {{{format.needed}}} in it"
            raise TemplateError(source, "is no file", remedy)
        if path.stat().st_size > _LARGEST:
            raise TemplateError(source, "is too large for a template", "at most 64 KiB are taken")
        data = path.read_bytes()
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise TemplateError(source, why, "see that you may read it") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TemplateError(source, "is not UTF-8", "save it as UTF-8", line) from error


def parse_sections(text: str, source: str, format: Format) -> list[tuple[str, str]]:  # noqa: A002
    """The sections of a template in their order, (name, text); those without text are left out.

    They begin with a line `[name]`. Raises TemplateError for a heading or a place that is unknown.
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
                f"[{heading[1][:40]}] begins no section",
                f"sections begin with a line {names}",
                number,
            )
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            sections.append((format.first, [line]))
        _check_places(source, line, number, format.places)
    joined = ((name, "\n".join(lines).strip()) for name, lines in sections)
    return [(name, body) for name, body in joined if body]


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its places filled in, each once: braces in a value are text."""

    def value(found: re.Match[str]) -> str:
        return values.get(found[1], found[0])

    return _PLACE.sub(value, text)


def _check_places(source: str, line: str, number: int, places: Sequence[str]) -> None:
    """Raise TemplateError for a word in braces that was surely meant as a place."""
    for found in _PLACE.finditer(line):
        word = found[1].strip()
        if found[1] not in places and re.fullmatch(r"[a-z_]+", word):
            listed = ", ".join(f"{{{place}}}" for place in places)
            raise TemplateError(
                source,
                f"{{{display_text(found[1][:40])}}} stands for nothing",
                f"write {{{word}}}" if word in places else f"places are {listed}",
                number,
            )
