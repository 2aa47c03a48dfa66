"""Texts of templates are kept by id, the first one for good."""

from __future__ import annotations

from pathlib import Path

from guardtui.session.judge_templates import keep_template, read_templates
from guardtui.session.store import SessionStore


def test_templates_of_two_windows_are_all_stored(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    keep_template(one, "a", "Is {prompt} it?")
    keep_template(other, "b", "b \ud800")
    keep_template(other, "a", "another text")
    assert read_templates(one) == {"a": "Is {prompt} it?", "b": "b ?"}
