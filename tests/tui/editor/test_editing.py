"""Examples as rows, the difference to the baseline, the external editor, and copies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Label

from guardtui.files.problems import FileError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.pane import TopicField
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.system.external_editor import edit_in_editor
from tests.tui.tax_app import ROWS, drive, frame, settled, topic_path, until

__all__ = ["topic_path"]


def said(app: GuardtuiApp) -> str:
    """What the author was told, now and before."""
    return " ".join(message.message for message in app.said.messages)


FIRST, SECOND = "How can I pay less tax?", "Can I deduct my home office?"


async def test_examples_are_moved_and_removed(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", "tab", "alt+down")
        await until(pilot, lambda: main.services.session.topic.examples == (SECOND, FIRST))
        await pilot.press("alt+down")  # the last one stays where it is
        await pilot.press("alt+up")
        await until(pilot, lambda: main.services.session.topic.examples == (FIRST, SECOND))
        await pilot.press("alt+x")
        await until(pilot, lambda: main.services.session.topic.examples == (SECOND,))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.services.session.topic.examples == (FIRST, SECOND))
        assert main.panes.editor.typed.examples == (FIRST, SECOND)

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_outside_of_the_examples_nothing_moves(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        before = main.services.session.topic
        await pilot.press("alt+x", "alt+up", "alt+down")
        await until(pilot, lambda: "Go to an example first" in said(app))
        assert main.services.session.topic == before

    await drive(topic_path, run)


async def test_a_prompt_becomes_an_example_by_a_key(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("7")
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.filter == "all"
        )
        await pilot.press("home", "e")
        await until(
            pilot, lambda: main.services.session.topic.examples == (FIRST, SECOND, ROWS[0][0])
        )
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "1 prompt of the set is now an example" in frame(app)
        await pilot.press("y")  # as for advice: it would always match
        await until(pilot, lambda: ROWS[0][0] not in main.services.state.prompts.prompts)
        await until(pilot, lambda: app.screen is main and settled(main))
        await pilot.press("u")
        await until(pilot, lambda: main.panes.results.table.row_count == len(ROWS))
        await pilot.press("home", "e")
        await until(pilot, lambda: "an example already" in said(app))
        for count in (4, 5):
            await pilot.press("down", "e")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main)
            assert len(main.services.session.topic.examples) == count
            assert len(main.services.state.prompts) == len(ROWS)
        await pilot.press("down", "e")
        await until(pilot, lambda: "5 examples already" in said(app))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: len(main.services.session.topic.examples) == 4)

    await drive(topic_path, run)


async def test_regressions_are_found_from_any_pane(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f10")
        await until(pilot, lambda: "No regressions" in said(app))
        for field in main.query(TopicField):
            field.text = "weather"
        await until(
            pilot,
            lambda: main.rows.results is not None and main.rows.results.counts["regressions"] > 0,
        )
        await pilot.press("ctrl+@", "N")
        table = main.panes.results.table
        await until(pilot, lambda: table.has_focus)
        row = table.cursor_row_id
        assert row is not None
        assert main.state.comparison is not None
        place = main.services.workspace.prompts.row_of(row)
        assert place is not None
        assert main.state.comparison.changes[place] == 1

    await drive(topic_path, run)


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
