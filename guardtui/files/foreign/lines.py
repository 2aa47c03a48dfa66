"""Plain lists: one prompt per line, or a JSON array of texts; the author gives the label."""

from __future__ import annotations

import json

from guardtui.files.foreign.base import Mapped, Problems, Reading, Row, Source
from guardtui.files.json_places import json_list
from guardtui.files.problems import FileError

TITLE = "a plain list, one prompt in each line"
OPTIONS = ("label",)


def recognises(source: Source) -> bool:
    """Return whether the file has the extension of a text file."""
    return not source.is_folder and source.ending in (".txt", ".text", ".list")


def read(source: Source, mapped: Mapped, problems: Problems) -> Reading:
    """Read a row for each non-blank line, stripped of blanks."""
    if mapped.label is None:
        problems.add(
            source.path,
            "a plain list tells no labels: say --expected true or false, "
            "or give two lists with --positive and --negative",
        )
        return Reading([])
    if source.text.lstrip().startswith("["):
        try:
            return Reading(_array(source, mapped.label, problems))
        except RecursionError as error:
            raise FileError(source.path, "this JSON is nested too deeply") from error
        except ValueError:
            if source.ending == ".json":
                raise FileError(
                    source.path, "not a JSON array of texts", "fix it, or rename it to .txt"
                ) from None
    rows = [
        Row(source.path, number, line.strip(), mapped.label)
        for number, line in enumerate(source.text.split("\n"), start=1)
        if line.strip()
    ]
    return Reading(rows)


def _array(source: Source, label: bool, problems: Problems) -> list[Row]:
    rows = []
    for line, value in json_list(source.text):
        if isinstance(value, str):
            rows.append(Row(source.path, line, value, label))
        else:
            shown = json.dumps(value)[:40]
            problems.add(source.path, f"{shown} is not text", line)
    return rows
