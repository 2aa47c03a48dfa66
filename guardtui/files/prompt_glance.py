"""Prompt sets that are opened before they are read: what can be said of a file at a glance."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from guardtui.domain.prompts import FALSE, REQUIRED, TRUE, Finding, PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileProblem, decode, read_bytes
from guardtui.files.table_formats import SEPARATORS, Format, detect_format, detect_separator

if TYPE_CHECKING:
    import polars as pl

LARGEST = 1024 * 1024
"""Bytes of a file from which on a glance would cost as much as reading it."""

_QUOTED = {
    separator: re.compile(rf'(?:\A|(?<=[{separator}\n]))"[^"]*(?:""[^"]*)*"(?=[{separator}\n]|\Z)')
    for separator in SEPARATORS
}
"""A whole field in quotes, by what stands between two fields."""


class Glance(NamedTuple):
    """What is sure of a file without reading it: it is valid, with so many rows of one intent."""

    rows: int
    intent: Intent
    intent_given: bool = True


class PromptsToCome(PromptSet):
    """A prompt set whose file is known to be valid; its rows are read when they are asked for.

    In every other way it is the prompt set that reading the file gives.
    """

    def __init__(self, source: str, glance: Glance, read: Callable[[], PromptSet]) -> None:
        values = {"source": source, "intent": glance.intent, "intent_given": glance.intent_given}
        self.__dict__.update(values, _count=glance.rows, _read=read, _lock=Lock(), _found=None)

    @property
    def _prompts(self) -> PromptSet:
        with self.__dict__["_lock"]:  # several threads may ask at once, the screen's among them
            found: PromptSet | None = self.__dict__["_found"]
            if found is None:
                found = self.__dict__["_read"]()
                self.__dict__.update(_found=found, _read=None)
            return found

    @property
    def frame(self) -> pl.DataFrame:
        return self._prompts.frame

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._prompts.findings

    def __len__(self) -> int:
        count: int = self.__dict__["_count"]
        return count


def open_prompts(path: Path, intent: Intent | None = None) -> PromptSet:
    """Validate a prompt set now and read its rows when they are first asked for.

    An ordinary small file needs only a glance, which spares the first screen what reading takes to
    import; any other is read at once. `intent` is as in `load_prompts`, which raises the same.
    """
    content = read_bytes(path, pipes=True, if_empty="guardtui sample prints an example")
    found = glance(path, content, intent)

    def read() -> PromptSet:
        from guardtui.files.prompt_files import parse_prompts

        return parse_prompts(path, content, intent)

    return read() if found is None else PromptsToCome(str(path), found, read)


def glance(path: Path, content: bytes, intent: Intent | None = None) -> Glance | None:
    """What is sure of a file; None when there is any doubt, and only reading can tell.

    Stricter than reading everywhere: a file let through here is read without an error.
    """
    if len(content) > LARGEST or detect_format(path, content) is not Format.DELIMITED:
        return None
    try:
        text = decode(path, content)
    except FileProblem:
        return None
    separator = detect_separator(path, content, REQUIRED[:2])
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or '"' in _QUOTED[separator].sub("", plain):
        return None
    try:
        rows = [row for row in csv.reader(io.StringIO(plain), delimiter=separator) if row]
    except csv.Error:
        return None
    return _of_rows(rows, intent)


def _of_rows(rows: list[list[str]], topic_intent: Intent | None) -> Glance | None:
    names = [name.strip() for name in rows[0]] if rows else []
    lower = [name.lower() for name in names]
    given = topic_intent is None or "intent" in lower
    known = [lower.count(name) == 1 for name in (REQUIRED if given else REQUIRED[:2])]
    if not all(known) or not all(names) or len(set(names)) < len(names) or len(rows) < 2:
        return None
    del rows[0]
    prompt, expected = map(lower.index, REQUIRED[:2])
    if any(len(row) != len(names) or not row[prompt].strip() for row in rows):
        return None
    labels = {row[expected].strip(" ").lower() for row in rows}
    both = not labels.isdisjoint(TRUE) and not labels.isdisjoint(FALSE)
    if not both or not labels <= {*TRUE, *FALSE}:
        return None
    if not given and topic_intent is not None:
        return Glance(len(rows), topic_intent, intent_given=False)
    intent = lower.index("intent")
    only, *others = {row[intent].strip(" ").lower() for row in rows}
    if others:
        return None
    return Glance(len(rows), Intent(only)) if only in list(Intent) else None
