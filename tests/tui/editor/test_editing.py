"""Examples as rows, the difference to the baseline, the external editor, and copies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Label

from guardtui.files.problems import FileError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.system.external_editor import edit_in_editor
from tests.tui.tax_app import drive, frame, topic_path, until

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


async def test_external_changes_are_merged_with_typed_text(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.tui.main.workspace.WATCH_EVERY", 0.05)
    monkeypatch.setattr("guardtui.app.editing.workspace_sync.CALM", 0.0)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" mine")
        text = topic_path.read_text("utf-8")
        topic_path.write_text(text.replace("Tax advice", "Taxes").replace("block", "allow"))
        await until(pilot, lambda: main.services.session.topic.name == "Taxes")
        assert main.services.session.topic.description == "Personal tax advice mine"
        assert main.panes.editor.typed == main.services.session.topic
        await until(pilot, lambda: "changed by another program: name changed" in said(app))
        topic_path.write_text(text.replace("Personal tax advice", "Theirs"))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "changed description in the topic file, and so did you" in frame(app)
        assert "description, theirs:" in frame(app)
        assert "Personal tax advice mine" in frame(app)
        await pilot.press("y")
        await until(pilot, lambda: main.services.session.topic.description == "Theirs")
        await pilot.press("ctrl+z")
        await until(
            pilot, lambda: main.services.session.topic.description == "Personal tax advice mine"
        )

    await drive(topic_path, run)


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
