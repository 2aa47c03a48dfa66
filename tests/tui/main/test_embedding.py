"""A large prompt set while it is embedded: partial results are marked as partial."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.availability import NEEDS_ALL
from guardtui.tui.prompts.check_page import CheckPage
from guardtui.tui.settings.scanner import ScannerDialog
from tests.app.held import COUNT, FIRST, Held, write_many
from tests.tui.tax_app import all_figures, frame, main_screen, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_many(tmp_path)


@pytest.fixture
def held(path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(path, monkeypatch)


@asynccontextmanager
async def first_shown(
    path: Path, held: Held, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[GuardtuiApp, Pilot[int]]]:
    """Open the app, wait until the first figures are on the screen."""
    app = GuardtuiApp.of(Workspace.open(path), LocalScanner("static"))
    async with app.run_test(size=size) as pilot:
        try:
            await until(pilot, lambda: main_screen(app).rows.results is not None)
            yield app, pilot
        finally:
            # As when the app ends, but begun before the embedding goes on.
            closing = asyncio.ensure_future(main_screen(app).services.engine.close())
            await asyncio.sleep(0)
            held.let.set()
            await closing


async def all_shown(app: GuardtuiApp, pilot: Pilot[int], held: Held) -> str:
    """Embed the rest, and return the screen when all of it is shown."""
    held.let.set()
    main = main_screen(app)

    def whole() -> bool:
        results = main.rows.results
        return results is not None and not results.evaluation.is_of_a_part

    await until(pilot, whole)
    return frame(app)


async def test_figures_of_a_part_are_marked_wherever_they_stand_and_those_of_all_are_not(
    path: Path, held: Held
) -> None:
    async with first_shown(path, held) as (app, pilot):
        shown = frame(app)
        assert f"{FIRST} prompts so far; the other {COUNT - FIRST} decide" in shown
        assert "coverage ≈" in shown
        assert f"so far · {COUNT - FIRST} open" in shown
        page = all_figures(main_screen(app))
        assert f"⚠ {FIRST} of {COUNT} prompts embedded so far" in page
        assert "separation ≈" in page
        assert "threshold 0.50, built-in" in page
        assert "⚠ partial" in shown.partition("mistakes")[2]
        shown = await all_shown(app, pilot, held)
        assert "partial" not in shown
        assert "≈" not in shown
        assert "open" not in shown
        assert f"fitted to {COUNT} labels" in all_figures(main_screen(app))


@pytest.mark.exhaustive
async def test_on_a_small_screen_the_line_of_figures_is_marked(path: Path, held: Held) -> None:
    async with first_shown(path, held, (80, 24)) as (app, pilot):
        shown = frame(app)
        assert "coverage ≈" in shown
        assert f"{FIRST} prompts so far" in shown
        await pilot.press("f5", "f5")
        assert "⚠ partial" in frame(app)


async def test_an_edit_meanwhile_is_shown_on_the_part_and_then_on_all(
    path: Path, held: Held
) -> None:
    async with first_shown(path, held) as (app, pilot):
        main = main_screen(app)
        await pilot.press("x")
        await until(pilot, lambda: "edit: name changed" in all_figures(main))
        assert "so far" in frame(app)
        assert main.state.iterations == ()
        shown = await all_shown(app, pilot, held)
        assert "edit: name changed" in all_figures(main)
        assert "so far" not in shown
        assert main.state.evaluation is not None
        assert main.state.evaluation.topic == main.services.session.topic
        (iteration,) = main.state.iterations
        assert iteration.evaluation.topic.name == "Tax advice"


async def test_actions_on_all_prompts_report_how_many_are_missing(
    path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with first_shown(path, held) as (app, pilot):
        main = main_screen(app)
        messages: list[str] = []
        monkeypatch.setattr(main, "notify", lambda message, **others: messages.append(message))
        for action in ("keep", "export", *sorted(NEEDS_ALL)):
            main.perform(action)
            await until(pilot, lambda: bool(messages))
            assert messages == [
                "Not yet: 40 of 60 prompts are still being embedded, and this needs all of them."
            ], action
            assert app.screen is main
            assert main.state.iterations == ()
            messages.clear()


@pytest.mark.exhaustive
async def test_the_check_without_the_engine_says_so(path: Path, held: Held) -> None:
    async with first_shown(path, held) as (app, pilot):
        main_screen(app).perform("show_check")
        await until(pilot, lambda: isinstance(app.screen, CheckPage))
        await pilot.pause()
        assert "Without the engine's findings: 40 of 60 prompts" in frame(app)


@pytest.mark.exhaustive
async def test_the_scanner_dialog_opens_at_once_and_has_no_fit(path: Path, held: Held) -> None:
    async with first_shown(path, held) as (app, pilot):
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(app.screen, ScannerDialog))
        await pilot.pause()
        assert "Its value is not known yet: 40 of 60 prompts are still being embed" in frame(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main_screen(app))


@pytest.mark.exhaustive
async def test_leaving_in_the_middle_records_nothing_and_the_next_start_shows_the_part_at_once(
    path: Path, held: Held
) -> None:
    async with first_shown(path, held):
        pass
    held.let.clear()
    held.embedded.clear()
    async with first_shown(path, held) as (app, pilot):
        assert held.embedded == []
        assert main_screen(app).state.iterations == ()
        assert "so far" in frame(app)
        shown = await all_shown(app, pilot, held)
        assert "so far" not in shown
    assert held.first.isdisjoint(held.embedded)
