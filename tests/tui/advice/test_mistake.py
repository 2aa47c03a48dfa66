"""Why a prompt is judged wrong, on the screen: the page, its edits, and taking one."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.advice.corrections import Corrections
from guardtui.app.advice.mistake_advice import MistakeAdvice
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.verdicts import is_wrong
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.edit_preview import EditPreviewPage
from guardtui.tui.advice.mistake import MistakePage
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import frame, ready, sample, until

__all__ = ["sample"]


async def asked(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> str:
    """Press w on the selected prompt; return the page as it is shown."""
    main.panes.results.table.focus()
    await pilot.press("w")
    await until(pilot, lambda: isinstance(app.screen, MistakePage) and app.screen.is_mounted)
    await until(pilot, lambda: "by the engine" in frame(app))
    return " ".join(frame(app).replace("│", " ").split())


async def test_a_mistake_has_a_reason_and_an_edit_that_is_previewed_and_taken(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("f5", "f5", "3")
        shown = await asked(pilot, app, main)
        assert "It belongs to the topic, and is not recognised: nearest is" in shown
        assert "edits correct it, by the engine" in shown
        page = app.screen
        assert isinstance(page, MistakePage)
        before = main.services.session.topic
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, EditPreviewPage))
        await pilot.press("escape")  # back to the list
        await until(pilot, lambda: isinstance(app.screen, MistakePage))
        assert main.services.session.topic == before
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, EditPreviewPage))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main)
        await until(pilot, lambda: main.services.session.topic != before)


async def test_each_edit_takes_one_line_and_nothing_scrolls_on_80_by_24(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("f5", "f5", "3")
        await asked(pilot, app, main)
        await pilot.resize_terminal(80, 24)
        edits = app.screen.query_one(OptionList)
        await until(pilot, lambda: edits.virtual_size.height == edits.option_count > 1)
        page = app.screen.query_one(".page")
        assert not edits.show_vertical_scrollbar
        assert not page.show_vertical_scrollbar


async def test_a_page_without_edits_names_no_key_for_them(sample: Path) -> None:
    advice = MistakeAdvice(
        "a prompt", "It is missed.", Corrections((), 43), ScannerSettings(Guardrail(ENGINE))
    )
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        app.push_screen(MistakePage(advice))
        await until(pilot, lambda: "None of 43 edits" in frame(app))
        assert "Enter previews" not in frame(app)
        assert "Esc closes" in frame(app)


async def test_the_first_look_at_a_mistake_is_at_one_that_an_edit_corrects(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("f5", "f5", "7", "slash", *"-mistake", "enter")
        await until(pilot, lambda: "shown" in frame(app))
        main.perform("explain_mistake", True)
        await until(pilot, lambda: isinstance(app.screen, MistakePage) and app.screen.is_mounted)
        await until(pilot, lambda: "Enter previews" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        key = main.panes.results.table.cursor_row_id
        assert key is not None
        assert await main.services.mistakes.first(key) == key  # the table is at that mistake
        evaluation, row = main.state.evaluation, main.state.prompts.row_of(key)
        assert evaluation is not None
        assert row is not None
        assert is_wrong(evaluation.codes[row : row + 1])[0]


@pytest.mark.exhaustive
async def test_a_prompt_that_is_judged_rightly_has_no_page(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        await pilot.press("f5", "f5", "7", "slash", *"-mistake", "enter")
        await until(pilot, lambda: "✓ rightly" in frame(app))
        main.panes.results.table.focus()
        await pilot.press("w")
        await until(pilot, lambda: any("not a mistake" in one.message for one in app.said.messages))
