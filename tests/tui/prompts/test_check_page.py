"""The check of the data, and the categories that it shows in the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.check_page import CheckPage
from tests.tui.results_app import on_all, topic_path
from tests.tui.tax_app import drive, frame, until

__all__ = ["topic_path"]

pytestmark = pytest.mark.usefixtures("painted")


def shown(main: MainScreen) -> list[str]:
    results = main.panes.results.results
    assert results is not None
    names = results.prompts.frame["Category"]
    return sorted(names[int(row)] or "(none)" for row in results.order)


async def check_page(pilot: Pilot[int], app: GuardtuiApp) -> OptionList:
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(app.screen, CheckPage))
    return app.screen.query_one(OptionList)


async def test_enter_on_a_category_filters_the_table_and_escape_brings_the_group_back(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("3")
        await until(pilot, lambda: main.panes.results.view.filter == "fn")
        await check_page(pilot, app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.screen is main)
        await until(pilot, lambda: shown(main) == ["plain"] * 3)
        assert "category: plain" in frame(app)
        assert main.focused is main.panes.results.table
        await pilot.press("escape")
        await until(pilot, lambda: main.panes.results.view.category is None)
        assert main.panes.results.view.filter == "fn"

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_prompts_without_a_category_are_one_too_and_another_group_stays_chosen(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("3")
        await check_page(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: shown(main) == ["(none)"])
        await pilot.press("1", "escape")
        await until(pilot, lambda: main.panes.results.view.category is None)
        assert main.panes.results.view.filter == "mistakes"

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_a_category_beside_the_results_filters_them_too(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.show("categories")
        await until(pilot, lambda: isinstance(main.focused, OptionList))
        await pilot.press("G", "enter")
        await until(pilot, lambda: main.panes.results.view.category == "weather")
        await until(pilot, lambda: shown(main) == ["weather"])
        assert main.focused is main.panes.results.table

    await drive(topic_path, run, (200, 60))


@pytest.mark.exhaustive
async def test_help_describes_the_page(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await check_page(pilot, app)
        await pilot.press("f1")
        await until(pilot, lambda: "Check of the data" in frame(app))

    await on_all(topic_path, run)
