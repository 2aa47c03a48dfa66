"""Tables of labelled prompts with other names of columns or labels: CSV, TSV, JSONL, Parquet."""

from __future__ import annotations

from guardtui.domain.topic import Intent
from guardtui.files.foreign.base import Mapped, Problems, Reading, Row, Source
from guardtui.files.prompt_files import read_rows

TITLE = "a table with a column of prompts and one of labels (CSV, TSV, JSONL, Parquet)"
OPTIONS = ("prompt_column", "expected_column", "true")

_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def recognises(source: Source) -> bool:
    """A file of this kind by its ending."""
    return not source.is_folder and source.ending in _ENDINGS


def read(source: Source, mapped: Mapped, problems: Problems) -> Reading:
    """A row for each row; the columns are `prompt` and `expected` unless others are named."""
    found = read_rows(source.path, source.content)
    for finding in found.unread:
        problems.add(source.path, finding.message, finding.lines[0] if finding.lines else None)
    names = {name.strip().lower(): name for name in reversed(found.raw.columns)}
    columns = []
    for option, wanted, usual in (
        ("--prompt-column", mapped.prompt_column, "prompt"),
        ("--expected-column", mapped.expected_column, "expected"),
    ):
        column = wanted if wanted in found.raw.columns else names.get((wanted or usual).lower())
        if column is None:
            known = ", ".join(found.raw.columns) or "none"
            problems.add(
                source.path,
                f"there is no column {wanted or usual!r:.60} (there are: {known:.300}): "
                f"name it with {option}",
            )
        else:
            columns.append(column)
    if len(columns) < 2:
        return Reading([])
    if columns[0] == columns[1]:
        problems.add(source.path, "prompt and label are one column: name two")
        return Reading([])
    others = [name for name in found.raw.columns if name not in columns]
    intent = None
    own = names.get("intent")
    if own in others:
        given = {str(value or "").strip().lower() for value in found.raw[own]}
        if len(given) == 1 and (word := given.pop()) in ("block", "allow"):
            intent = Intent(word)
            others.remove(own)
    rows = []
    cells = found.raw.select([*columns, *others]).iter_rows()
    for line, (prompt, value, *rest) in zip(found.lines.tolist(), cells, strict=True):
        label = mapped.label_of(value)
        if label is None:
            problems.add(source.path, f"{columns[1]}: {mapped.not_a_label(value)}", line)
            continue
        extra = {name: one or "" for name, one in zip(others, rest, strict=True)}
        rows.append(Row(source.path, line, prompt or "", label, extra))
    return Reading(rows, intent)
