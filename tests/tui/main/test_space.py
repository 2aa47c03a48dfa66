"""Room on the screen: rows of results, zoom, and the side panes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.dialog import PromptDialog
from tests.tui.results_app import ROWS, on_all
from tests.tui.settling import settle
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, settled, topic_path, until

__all__ = ["topic_path"]

ROWS_SHOWN = {
    (60, 20): 4,
    (80, 24): 6,
    (100, 30): 8,
    (100, 36): 11,
    (110, 40): 12,
    (120, 40): 12,
    (160, 30): 10,
    (200, 60): 25,
}
"""Sizes, and the rows of results that each shows at least."""


async def test_the_results_have_enough_rows_and_the_detail_is_visible_at_every_size(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.show("results")
        await pilot.press("down")
        for size, rows in ROWS_SHOWN.items():
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: main.panes.detail.size.height > 0)
            await pilot.pause()
            assert main.panes.results.table.size.height - 1 >= rows  # one is the header
            assert main.panes.detail.region.bottom < size[1]
            assert "label: " in frame(app)

    await drive(topic_path, run, next(iter(ROWS_SHOWN)))


@pytest.mark.parametrize("size", first_is_fast((200, 60), (120, 40), (100, 30), (80, 24)))
async def test_any_pane_zooms_and_escape_goes_back(topic_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        panes = main.panes
        for name, key in [
            ("editor", "ctrl+@ z"),
            ("metrics", "z"),
            ("results", "z"),
            ("detail", "z"),
            *([("history", "z"), ("categories", "z")] if panes.broad else []),
        ]:
            panes.show(name)
            await pilot.pause()
            await pilot.press(*key.split())
            await until(pilot, lambda name=name: panes.zoomed == name)  # type: ignore[misc]
            assert panes.named(name).region.width == size[0]
            assert panes.named(name).region.height >= size[1] - 4
            await pilot.press("escape")
            await pilot.pause()
            assert panes.zoomed == ""
            assert main.focused in panes.named(name).walk_children(with_self=True)

    await drive(topic_path, run, size)


@pytest.mark.exhaustive
async def test_the_zoom_goes_along_with_the_focus(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("ctrl+@", "z", "f5")
        await until(pilot, lambda: main.panes.zoomed == "metrics")
        await pilot.press("f5", "enter")
        await until(pilot, lambda: main.panes.zoomed == "detail")
        await pilot.press("ctrl+@", "z")
        assert main.panes.zoomed == ""

    await drive(topic_path, run)


async def test_in_a_field_z_is_a_letter(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.query_one("#field-description").focus()
        await pilot.press("z")
        assert main.panes.zoomed == ""
        assert main.services.session.topic.description.endswith("z")

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_broad_screen_has_history_and_categories_that_follow(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        history, categories = main.panes.history, main.panes.categories
        assert "★◆" in frame(app)
        assert "first" in frame(app)
        assert categories.display
        await pilot.press("tab", *" Weather")
        await until(pilot, lambda: settled(main) and main.services.workspace.unsaved)
        await pilot.press("f3")
        await until(pilot, lambda: len(main.services.session.iterations) == 2)
        await until(pilot, lambda: "description +“Weather”" in frame(app))
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert not history.region.area
        for name in ("metrics", "results", "detail", "editor"):
            await pilot.press("f5")
            assert main.focused in main.panes.named(name).walk_children(with_self=True)
        await pilot.resize_terminal(200, 60)
        await pilot.pause()
        for name in ("metrics", "results", "detail", "history", "categories", "editor"):
            await pilot.press("f5")
            assert main.focused in main.panes.named(name).walk_children(with_self=True)

    await drive(topic_path, run, (200, 60))


@pytest.mark.exhaustive
async def test_a_prompt_that_cannot_be_saved_is_open_again_as_it_was_written(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        # Where the backup belongs lies a file, so that none can be made.
        folder = topic_path.parent / ".guardtui" / "backups"
        shutil.rmtree(folder, ignore_errors=True)
        folder.write_text("in the way", "utf-8")
        await pilot.press("2", "i")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.pause()
        dialog = app.screen
        await pilot.press(*"May I deduct a new desk?", "ctrl+s")
        await until(
            pilot, lambda: isinstance(app.screen, PromptDialog) and app.screen is not dialog
        )
        await until(pilot, lambda: "May I deduct a new desk?" in frame(app))
        assert len(main.state.prompts) == len(ROWS)
        folder.unlink()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(main.state.prompts) == len(ROWS) + 1)

    await on_all(topic_path, run)


async def test_a_smaller_terminal_shows_the_focused_pane(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        table = main.panes.results.table
        table.focus()
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: main.has_class("-small"))
        await pilot.pause()
        assert main.focused is table
        assert table.region.height > 0

    await drive(topic_path, run, (120, 40))


@pytest.mark.parametrize("size", [(120, 40), (100, 30), (80, 24)])
async def test_the_topic_pane_is_as_high_as_the_definition_after_each_change(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        editor, description = main.panes.editor, main.query_one("#field-description", TextArea)
        words = " word" * (description.size.width // 5)

        async def fits(field: str, rows: int) -> None:
            await until(pilot, lambda: main.query_one(field).size.height == rows)
            await settle()
            shown = sum(child.outer_size.height for child in editor.children if child.display)
            assert (editor.size.height, editor.max_scroll_y) == (shown, 0)
            assert main.query_one("#top").size.height == editor.outer_size.height

        await fits("#field-description", 1)
        description.focus()
        nearly = description.size.width - len(description.text) - 4
        for typed in (" a" * (nearly // 2), *" a b c d"):
            description.insert(typed, description.document.end)
            await fits("#field-description", description.wrapped_document.height)
        description.text = "Tax advice"
        await fits("#field-description", 1)
        editor.add_example(f"May I?{words}")
        await fits("#field-example-3", 2)
        main.query_one("#field-example-3").focus()
        await pilot.press("alt+x")
        await fits("#field-example-3", 1)

    await drive(topic_path, run, size)
