"""New prompt sets as the bytes of a file: CSV, TSV, JSON Lines or Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from guardtui.domain.prompts import REQUIRED, PromptSetError
from guardtui.domain.text import display_text, hidden_characters, spreadsheet_text
from guardtui.domain.topic import Intent
from guardtui.files.parquet import parquet_bytes
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_rows import read_rows
from guardtui.files.table_formats import TableFormat, format_of, separator_of

_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


def prompt_set_bytes(
    path: Path,
    prompts: Sequence[str],
    expected: Sequence[bool],
    intent: Intent,
    extra: Mapping[str, Sequence[str]],
    *,
    one_class: bool = False,
) -> bytes:
    """Return the content of a new prompt set; the extension of `path` gives the format.

    `path` is not written. Prompts are written unchanged, because a measured prompt must not be
    altered. In the other columns of CSV and TSV, active content is made inert as in reports. In
    JSON Lines, invisible characters are escaped. With `one_class`, prompts of a single label are
    allowed.

    The content is read back before it is returned. Raises FileError if the format cannot represent
    a text, and PromptSetError if the result is not a valid prompt set.
    """
    kind = format_of(path)
    columns = _named(extra, inert=kind is TableFormat.DELIMITED)
    if kind is TableFormat.PARQUET:
        content = _parquet(prompts, expected, intent, columns)
    elif kind is TableFormat.JSON_LINES:
        content = _json_lines(prompts, expected, intent, columns)
    else:
        content = _delimited(separator_of(path), prompts, expected, intent, columns)
    try:
        read = parse_prompts(path, content).prompts.to_list()
    except PromptSetError as error:
        if not one_class or [finding.code for finding in error.findings] != ["one-class"]:
            raise
        read = read_rows(path, content).raw["prompt"].to_list()
    if read != list(prompts):
        raise FileError(path, "a prompt would not be read back as it is", "use --to parquet")
    return content


def _named(extra: Mapping[str, Sequence[str]], *, inert: bool) -> dict[str, Sequence[str]]:
    """Return the other columns under names that collide with no required column."""
    named: dict[str, Sequence[str]] = {}
    taken = set(REQUIRED)
    for source_name, values in extra.items():
        name = (
            spreadsheet_text(display_text(source_name)) if inert else source_name
        ).strip() or "column"
        while name.lower() in taken:
            name += " (source)"
        taken.add(name.lower())
        named[name] = values
    return named


def _parquet(
    prompts: Sequence[str],
    expected: Sequence[bool],
    intent: Intent,
    columns: Mapping[str, Sequence[str]],
) -> bytes:
    frame = pl.DataFrame(
        [
            pl.Series("prompt", prompts, dtype=pl.String),
            pl.Series("expected", expected, dtype=pl.Boolean),
            pl.Series("intent", [intent.value] * len(prompts), dtype=pl.String),
            *(pl.Series(name, values, dtype=pl.String) for name, values in columns.items()),
        ]
    )
    return parquet_bytes(frame)


def _json_lines(
    prompts: Sequence[str],
    expected: Sequence[bool],
    intent: Intent,
    columns: Mapping[str, Sequence[str]],
) -> bytes:
    lines = []
    for index, (prompt, label) in enumerate(zip(prompts, expected, strict=True)):
        row: dict[str, object] = {"prompt": prompt, "expected": label, "intent": intent.value}
        row.update((name, values[index]) for name, values in columns.items() if values[index])
        text = json.dumps(row, ensure_ascii=False)
        lines.append(_NOT_ASCII.sub(_shown, text) + "\n")
    return "".join(lines).encode()


def _shown(match: re.Match[str]) -> str:
    sign = match[0]
    hidden = hidden_characters(sign) or sign in "\x7f"
    return json.dumps(sign)[1:-1] if hidden else sign


def _delimited(
    separator: str,
    prompts: Sequence[str],
    expected: Sequence[bool],
    intent: Intent,
    columns: Mapping[str, Sequence[str]],
) -> bytes:
    needs_quotes = re.compile(rf'[{separator}"\r\n]|^\s|\s$|^$')

    def field(text: str) -> str:
        if needs_quotes.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [separator.join(map(field, [*REQUIRED, *columns]))]
    for index, (prompt, label) in enumerate(zip(prompts, expected, strict=True)):
        cells = [prompt, "true" if label else "false", intent.value]
        cells += (spreadsheet_text(display_text(values[index])) for values in columns.values())
        lines.append(separator.join(field(cell) if cell else "" for cell in cells))
    return ("\n".join(lines) + "\n").encode()


def starts_formula(prompts: Sequence[str]) -> int:
    """Count the prompts that a spreadsheet would read as formulas."""
    return sum(spreadsheet_text(prompt).startswith("'") and prompt[:1] != "'" for prompt in prompts)
