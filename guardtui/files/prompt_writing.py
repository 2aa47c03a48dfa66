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
from guardtui.files.prompt_files import parse_prompts, read_rows
from guardtui.files.table_formats import Format, format_of, separator_of

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
    """The content of a new prompt set; the ending of `path`, which is not written, tells its form.

    Prompts stand in it exactly as they are: a prompt that is measured must not be changed. In the
    other columns of CSV and TSV what could act is made inert, as in reports. In JSON Lines
    characters that do not show are escaped. With `one_class` it may be half a set, of one label.

    Raises FileError when the format cannot carry a text, and PromptSetError for all that makes
    it no valid set: it is read back before it is given out.
    """
    kind = format_of(path)
    columns = _named(extra, inert=kind is Format.DELIMITED)
    if kind is Format.PARQUET:
        content = _parquet(prompts, expected, intent, columns)
    elif kind is Format.JSON_LINES:
        content = _json_lines(prompts, expected, intent, columns)
    else:
        content = _delimited(separator_of(path), prompts, expected, intent, columns)
    try:
        read = parse_prompts(path, content).prompts.to_list()
    except PromptSetError as error:
        if not one_class or [one.code for one in error.findings] != ["one-class"]:
            raise
        read = read_rows(path, content).raw["prompt"].to_list()
    if read != list(prompts):
        raise FileError(path, "a prompt would not be read back as it is", "use --to parquet")
    return content


def _named(extra: Mapping[str, Sequence[str]], *, inert: bool) -> dict[str, Sequence[str]]:
    """The other columns by names that no reader takes for another one."""
    named: dict[str, Sequence[str]] = {}
    taken = set(REQUIRED)
    for given, values in extra.items():
        name = (spreadsheet_text(display_text(given)) if inert else given).strip() or "column"
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
    for place, (prompt, label) in enumerate(zip(prompts, expected, strict=True)):
        row: dict[str, object] = {"prompt": prompt, "expected": label, "intent": intent.value}
        row.update((name, values[place]) for name, values in columns.items() if values[place])
        text = json.dumps(row, ensure_ascii=False)
        lines.append(_NOT_ASCII.sub(_shown, text) + "\n")
    return "".join(lines).encode()


def _shown(found: re.Match[str]) -> str:
    sign = found[0]
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
    for place, (prompt, label) in enumerate(zip(prompts, expected, strict=True)):
        cells = [prompt, "true" if label else "false", intent.value]
        cells += (spreadsheet_text(display_text(values[place])) for values in columns.values())
        lines.append(separator.join(field(cell) if cell else "" for cell in cells))
    return ("\n".join(lines) + "\n").encode()


def starts_formula(prompts: Sequence[str]) -> int:
    """How many prompts a spreadsheet would take for formulas."""
    return sum(spreadsheet_text(prompt).startswith("'") and prompt[:1] != "'" for prompt in prompts)
