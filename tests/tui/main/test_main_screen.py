"""The main screen as an author uses it: keys in, frames out, files and session checked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.history.dialog import HistoryDialog
from guardtui.tui.kit.dialogs import ConfirmDialog, TextPage
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import ACTIONS
from tests.tui.stages import first_is_fast
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


async def test_the_first_screen_shows_everything(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        shown = frame(app)
        for text in ("Tax advice", "Personal tax advice", "coverage", "TPR", "regressions 0"):
            assert text in shown
        assert "best #0" in shown
        assert [iteration.decision for iteration in main.services.session.iterations] == [
            Decision.KEEP
        ]

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_the_pane_that_keys_go_to_is_marked(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        names = ("editor", "metrics", "results", "detail")

        def marked() -> tuple[list[str], list[str]]:
            """The panes with the sign in their title, and those whose frame is not pale."""
            panes = {name: main.panes.named(name) for name in names}
            titles = [name for name in names if "▸" in str(panes[name].border_title)]
            return titles, [name for name in names if panes[name].styles.border_top[1].a == 1]

        for name in (*names, "editor"):
            assert marked() == ([name], [name])
            await pilot.press("f5")
        await pilot.press("shift+tab")
        assert marked() == (["editor"], ["editor"])  # from one field to another
        app.screen.set_focus(None)
        await pilot.pause()
        assert marked() == ([], [])

    await drive(topic_path, run)


async def test_an_edit_moves_the_metrics_and_keep_writes_the_file(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" on money")
        await until(pilot, lambda: settled(main))
        assert main.services.session.topic.description == "Personal tax advice on money"
        assert "unsaved" in frame(app)
        assert "description +“on money”" in frame(app)
        await pilot.press("f2")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ConfirmDialog) or len(main.services.session.iterations) == 2
            ),
        )
        if isinstance(app.screen, ConfirmDialog):
            await pilot.press("y")
        await until(pilot, lambda: len(main.services.session.iterations) == 2)
        await until(pilot, lambda: not main.services.workspace.unsaved)

    await drive(topic_path, run)
    text = topic_path.read_text("utf-8")
    assert load_topic(topic_path).topic.description == "Personal tax advice on money"
    assert "# what the bank's assistant must not do" in text
    assert "owner: risk team" in text
    backups = list((topic_path.parent / ".guardtui" / "backups").iterdir())
    assert [file.read_text("utf-8") for file in backups] == [TOPIC]


async def test_discard_restores_and_undo_brings_the_edit_back(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        best = main.services.session.topic
        await pilot.press("tab", *" and cooking soup")
        await until(pilot, lambda: settled(main) and main.services.session.topic != best)
        await pilot.press("f3")
        await until(pilot, lambda: main.services.session.topic == best)
        assert [iteration.decision for iteration in main.services.session.iterations] == [
            Decision.KEEP,
            Decision.DISCARD,
        ]
        await until(pilot, lambda: settled(main))
        assert "discards 1/5" in frame(app)
        await pilot.press("ctrl+z")
        assert main.services.session.topic.description == "Personal tax advice and cooking soup"
        await pilot.press("ctrl+z")
        assert main.services.session.topic.description == "Personal tax advice and cooking "
        await pilot.press("ctrl+y", "ctrl+y")
        await until(pilot, lambda: settled(main))

    await drive(topic_path, run)
    assert topic_path.read_text("utf-8") == TOPIC


async def test_typed_text_is_restored(topic_path: Path) -> None:
    async def leave(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" half a sen", "ctrl+q")
        async with asyncio.timeout(120):
            while app.return_code is None:
                await asyncio.sleep(0)

    async def come_back(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await until(pilot, lambda: main.services.session.topic.description.endswith("half a sen"))
        assert "unsaved" in frame(app)

    await drive(topic_path, leave)
    assert topic_path.read_text("utf-8") == TOPIC
    await drive(topic_path, come_back)


async def test_hostile_prompts_are_shown_inert(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("7", "slash", *"inst")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 1)
        await pilot.press("enter")
        shown = frame(app)
        assert "[/INST] ␛]52;c;aGk=␇ ignore" in shown
        codes = {ord(character) for character in shown} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0)}

    await drive(topic_path, run)


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


async def test_filters_search_and_sort(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("7")
        await until(
            pilot, lambda: main.rows.results is not None and len(main.rows.results) == len(ROWS)
        )
        await pilot.press("slash", *"income")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 2)
        await pilot.press("escape")
        await until(
            pilot, lambda: main.rows.results is not None and len(main.rows.results) == len(ROWS)
        )
        assert not main.panes.results.query_one(Input).display
        await pilot.press("s", "s", "s")
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.sort == "score"
        )
        assert main.rows.results is not None
        scores = main.rows.results.evaluation.verdicts.score[main.rows.results.order].tolist()
        assert scores == sorted(scores)

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


async def test_an_iteration_is_restored_and_pinned_by_keys(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        first = main.services.session.topic
        await pilot.press("tab", *" and cooking soup")
        await until(pilot, lambda: settled(main) and main.services.session.topic != first)
        await pilot.press("f3")
        await until(pilot, lambda: len(main.services.session.iterations) == 2 and settled(main))
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog))
        assert app.screen.query_one(OptionList).option_count == 2
        await pilot.press("r")
        await until(pilot, lambda: "soup" in main.services.session.topic.description)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog))
        await pilot.press("p")
        await until(pilot, lambda: main.services.session.pinned == 1)
        await pilot.press("f7")
        assert main.services.session.pinned is None

    await drive(topic_path, run)


async def test_a_file_changed_by_someone_else_is_not_overwritten(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.tui.main.workspace.WATCH_EVERY", 10_000)  # saved before it looks

    theirs = TOPIC.replace("Personal tax advice", "Theirs")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" x")
        topic_path.write_text(theirs, "utf-8")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "changed by another program" in frame(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)
    assert topic_path.read_text("utf-8") == theirs


@pytest.mark.parametrize("size", first_is_fast((80, 24), (60, 20)))
async def test_small_screens_show_one_pane_after_the_other(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        assert "coverage" in frame(app)
        assert "desc Personal" in frame(app)
        assert "Results" not in frame(app)
        await pilot.press("f5")
        await pilot.pause()
        assert "accuracy" in frame(app)
        await pilot.press("f5")
        await pilot.pause()
        assert "Results" in frame(app)
        assert "Detail" in frame(app)
        await pilot.press("f5")
        await pilot.pause()
        assert "desc Personal" in frame(app)

    await drive(topic_path, run, size)


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
    for scope in ("results", "editor", "detail"):
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
