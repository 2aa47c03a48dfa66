"""Labels that were given elsewhere: tables with the columns of an exported inbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import FALSE, LISTED, TRUE, PromptSetError
from guardtui.files.problems import FileError
from guardtui.files.prompt_rows import read_prompt_bytes, read_rows

_EXPECTED = "expected"


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row of such a table; `id` and `reason` are "" and `expected` None where it has none."""

    line: int
    id: str
    prompt: str
    expected: bool | None
    reason: str


def read_labelled(path: Path) -> list[LabelledRow]:
    """Return the rows of a table: `expected`, with `id` or `prompt`, and `reason` if it has one.

    Raises FileError, and PromptSetError with all labels that are neither true nor false.
    """
    path, content = read_prompt_bytes(path)
    table = read_rows(path, content, (_EXPECTED,))
    for finding in table.unread[:1]:
        raise FileError(path, finding.message, "correct it first", *finding.lines[:1])
    names = {name.strip().lower(): name for name in reversed(table.raw.columns)}
    if _EXPECTED not in names or not {"id", "prompt"} & names.keys():
        problem = "the columns expected, and id or prompt, are needed"
        have = ", ".join(table.raw.columns)
        raise FileError(path, problem, f"it has {have:.200}", 1)

    def cells(name: str) -> list[str]:
        if name not in names:
            return [""] * table.raw.height
        found: list[str] = table.raw[names[name]].fill_null("").to_list()
        return found

    columns = (cells(name) for name in ("id", "prompt", _EXPECTED, "reason"))
    rows, errors = [], []
    for line, name, prompt, word, reason in zip(table.lines.tolist(), *columns, strict=True):
        label = word.strip().lower()
        if label and label not in (*TRUE, *FALSE):
            message = f"expected is {word[:40]!r}: write true or false (yes/no, 1/0, t/f, y/n)"
            errors.append(Finding(Severity.ERROR, "expected", message, (line,)))
        expected = label in TRUE if label else None
        rows.append(LabelledRow(line, name.strip().lower(), prompt, expected, reason))
    if errors:
        raise PromptSetError(str(path), errors[:LISTED], len(errors))
    return rows
