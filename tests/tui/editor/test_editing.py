"""Examples as rows, the difference to the baseline, the external editor, and copies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Label

from guardtui.files.problems import FileError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.system.external_editor import edit_in_editor
from tests.tui.tax_app import drive, topic_path, until

__all__ = ["topic_path"]


def said(app: GuardtuiApp) -> str:
    """What the author was told, now and before."""
    return " ".join(message.message for message in app.said.messages)


FIRST, SECOND = "How can I pay less tax?", "Can I deduct my home office?"


def script(tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my editor.py"
    path.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n{body}\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} '{path}'")


def test_another_editor_changes_the_definition(
    topic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from guardtui.files.topic_files import load_topic

    topic = load_topic(topic_path).topic
    script(tmp_path, "path.write_text(path.read_text().replace('Personal', 'All'))", monkeypatch)
    assert edit_in_editor(topic).description == "All tax advice"
    script(tmp_path, "path.write_text('name: [half')", monkeypatch)
    with pytest.raises(FileError, match=r"topic\.yaml:"):
        edit_in_editor(topic)
    script(tmp_path, "sys.exit(3)", monkeypatch)
    with pytest.raises(FileError, match="ended with 3"):
        edit_in_editor(topic)
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    with pytest.raises(FileError, match="cannot be started"):
        edit_in_editor(topic)


async def test_examples_have_the_numbers_of_all_messages_whatever_fields_are_empty(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        editor = main.panes.editor

        def numbers() -> list[str]:
            rows = editor.query(".field-label").results(Label)
            return [str(row.content) for row in rows][2:7]

        assert numbers() == ["1", "2", "3", "4", "5"]
        editor.query_one("#field-example-5").focus()
        await pilot.press(*"fifth")
        await until(pilot, lambda: main.services.session.topic.examples == (FIRST, SECOND, "fifth"))
        assert numbers() == ["1", "2", "", "", "3"]
        editor.query_one("#field-example-3").focus()
        await pilot.press(*"third")
        await until(pilot, lambda: len(main.services.session.topic.examples) == 4)
        assert numbers() == ["1", "2", "3", "", "4"]

    await drive(topic_path, run)
