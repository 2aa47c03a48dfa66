"""Lines of fields in topic files."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.files.topic_lines import field_lines

YAML_FILE = """\
# first
name: n
description: >
  long
  text
examples:
  - one

  # a comment
  - "two
    lines"
intent: allow
"""
JSON_FILE = (
    '{\n  "name": "n",\n  "examples": [\n    "one",\n    "two"\n  ],\n  "intent": "block"\n}\n'
)


def test_yaml_fields_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(YAML_FILE, "utf-8")
    assert field_lines(path) == {
        "name": 2,
        "description": 3,
        "examples": 6,
        "examples.1": 7,
        "examples.2": 10,
        "intent": 12,
    }


def test_json_fields_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(JSON_FILE, "utf-8")
    lines = field_lines(path)
    assert (lines["name"], lines["examples.2"], lines["intent"]) == (2, 5, 7)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"- a", b"{", b"name: [", b"examples: 3"]
)
def test_unknown_lines_are_omitted(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(content)
    assert set(field_lines(path)) <= {"examples"}


def test_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert field_lines(tmp_path / "none.yaml") == {}
