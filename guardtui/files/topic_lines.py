"""Line numbers of the fields of a topic file, for findings that name a location."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.files.yaml_documents import line_of, load_yaml

_FIELDS = ("name", "description", "examples", "intent")


def field_lines(path: Path) -> dict[str, int]:
    """Return the lines (from 1) of `name`, `description`, `examples`, `examples.1` …, `intent`.

    The file is YAML, or JSON, which is nearly all YAML too. Unknown lines are omitted. Nothing is
    raised, because reading the topic already reports its problems.
    """
    try:
        document = load_yaml(path, decode(path, read_bytes(path)))
    except FileError:
        return {}
    if not isinstance(document, CommentedMap):
        return {}
    lines = {name: line_of(document, name) for name in _FIELDS}
    examples = document.get("examples")
    if isinstance(examples, CommentedSeq):
        for index in range(len(examples)):
            lines[f"examples.{index + 1}"] = line_of(examples, index)
    return {name: line for name, line in lines.items() if line is not None}
