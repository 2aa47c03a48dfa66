"""The main screen as an author uses it: keys in, frames out, files and session checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import ACTIONS
from tests.tui.tax_app import (
    ROWS,
    TOPIC,
    drive,
    frame,
    main_screen,
    make_app,
    settled,
    topic_path,
    until,
)

__all__ = ["topic_path"]


async def test_a_hostile_definition_is_edited_inert(topic_path: Path) -> None:
    topic_path.write_text(
        TOPIC.replace("Personal", '"\\e]0;owned\\a[/INST]"', 1).replace(
            '" tax advice', ' tax advice"'
        )
    )

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        shown = frame(app)
        assert "owned" in shown
        codes = {ord(character) for character in shown} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0)}
        assert "invisible or control characters" in shown

    await drive(topic_path, run)


async def test_the_selected_prompt_stays_while_typing(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        table = main.panes.results.table
        table.focus()
        await pilot.press("7")
        await until(
            pilot, lambda: main.rows.results is not None and len(main.rows.results) == len(ROWS)
        )
        await pilot.press("end")
        await until(pilot, lambda: "Recipe" in frame(app).split("Detail")[1])
        chosen = table.cursor_row_id
        main.query_one("#field-description").focus()
        await pilot.press(*" about soup")
        await until(pilot, lambda: settled(main))
        assert table.cursor_row_id == chosen
        assert main.focused is main.query_one("#field-description")

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_tiny_screen_does_not_crash(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f5", "f5", "f1", "escape")

    await drive(topic_path, run, (20, 5))


async def test_help_names_every_action(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        await pilot.press("a")
        await pilot.pause()
        body = app.screen.query_one("Static").render()
        for action in ACTIONS:
            assert action.title in str(body)
        offered = [command.title for command in app.get_system_commands(main)]
        assert {action.title for action in ACTIONS} <= set(offered)

    await drive(topic_path, run)


async def test_every_action_exists_where_it_says(topic_path: Path) -> None:
    async with make_app(topic_path).run_test() as pilot:
        app = pilot.app
        assert isinstance(app, GuardtuiApp)
        main = main_screen(app)
        assert main.features is not None
        panes = main.panes
        owners = {
            "results": panes.results,
            "editor": panes.editor,
            "detail": panes.detail,
            "metrics": panes.metrics,
            "next": panes.next_line,
            "table": panes.results.table,
            "lists": app,
        }
        missing = []
        for action in ACTIONS:
            name = action.name.split("(")[0]
            if action.scope in ("screen", "advice"):
                if name not in {*main.features.actions, "quit"}:
                    missing.append(action.name)
            elif not callable(getattr(owners[action.scope], f"action_{name}", None)):
                missing.append(action.name)
        assert missing == []


def test_no_key_is_taken_twice() -> None:
    for scope in ("results", "editor", "detail", "metrics"):
        # What the screen binds holds everywhere, and so may not be bound below it.
        both = ("screen", scope)
        keys = [
            key
            for action in ACTIONS
            if action.scope in both
            for key in action.keys.split(",")
            if key
        ]
        assert len(keys) == len(set(keys))


async def test_a_filter_is_typed_pointed_at_and_remembered(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("7", "slash", *"line<6 nobody")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 0)
        await pilot.press(*" colour:red")
        await pilot.pause()
        assert "no field colour: there are score, line" in frame(app)
        assert main.panes.results.view.search == "line<6 nobody colour"
        await pilot.press("ctrl+u", *'line<6 -"tax"', "enter")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 2)
        assert "no field" not in frame(app)
        await pilot.press("escape")
        await until(
            pilot, lambda: main.rows.results is not None and len(main.rows.results) == len(ROWS)
        )
        await pilot.press("slash", "up")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 2)

    await drive(topic_path, run)
