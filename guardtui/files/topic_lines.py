"""Line numbers of the fields of a topic file, for findings that name a location."""

from __future__ import annotations

import warnings
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from guardtui.files.problems import FileError, decode, read_bytes

_FIELDS = ("name", "description", "examples", "intent")


def field_lines(path: Path) -> dict[str, int]:
    """Return the lines (from 1) of `name`, `description`, `examples`, `examples.1` …, `intent`.

    The file is YAML, or JSON, which is nearly all YAML too. Unknown lines are omitted. Nothing is
    raised, because reading the topic already reports its problems.
    """
    lines: dict[str, int] = {}
    try:
        text = decode(path, read_bytes(path))
        with warnings.catch_warnings(action="ignore"):
            document = YAML(typ="rt").load(text)
        if not isinstance(document, CommentedMap):
            return {}
        for field in _FIELDS:
            if field in document:
                lines[field] = document.lc.key(field)[0] + 1
        examples = document.get("examples")
        if isinstance(examples, CommentedSeq):
            for number in range(len(examples)):
                lines[f"examples.{number + 1}"] = examples.lc.item(number)[0] + 1
    except FileError:
        return {}
    except Exception:  # noqa: BLE001 - ruamel raises many kinds, and lines are optional
        return lines
    return lines
