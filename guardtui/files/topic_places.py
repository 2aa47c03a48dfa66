"""On which lines of a topic file its fields stand, for findings that name a place."""

from __future__ import annotations

import warnings
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from guardtui.files.problems import FileError, decode, read_bytes

_FIELDS = ("name", "description", "examples", "intent")


def field_lines(path: Path) -> dict[str, int]:
    """Line (from 1) of `name`, `description`, `examples`, `examples.1` and so on, and `intent`.

    YAML or JSON, which is nearly all YAML too. What cannot be told is left out; no file and no
    content raises anything, since reading the topic tells what is wrong with it.
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
    except Exception:  # noqa: BLE001 - the reader of YAML raises many kinds, and this is a help only
        return lines
    return lines
