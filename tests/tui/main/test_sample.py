"""A large set in the app: a read-only sample, marked as such."""

from __future__ import annotations

import csv
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session import prompt_file
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.export.dialog import ExportDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.dialog import PromptDialog
from tests.tui.stages import first_is_fast, first_row_is_fast
from tests.tui.tax_app import TOPIC, all_figures, frame, ready, until

COUNT, SAMPLED = 300, 60

ABOUT = (
    "How do I pay less income tax",
    "What is the weather in Paris",
    "Can I deduct my car from my taxes",
    "Recipe for lentil soup",
    "When was income tax introduced",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A topic, and a large set of which the app draws a small sample."""
    (tmp_path / "tax.yaml").write_text(TOPIC, "utf-8")
    with (tmp_path / "all.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category"])
        for number in range(COUNT):
            belongs = number % 5 in (0, 2)
            text = f"{ABOUT[number % 5]} in the year {number}?"
            writer.writerow([text, str(belongs).lower(), "block", "odd" if number % 2 else "even"])
    draw = prompt_file.draw
    monkeypatch.setattr(prompt_file, "LARGE", COUNT - 1)
    monkeypatch.setattr(prompt_file, "draw", lambda prompts: draw(prompts, SAMPLED))
    return tmp_path


class Stage:
    """The app over the sample."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main

    @property
    def told(self) -> list[str]:
        return [message.message for message in self.app.said.messages]


Play = Callable[[Stage], Awaitable[None]]


async def play(folder: Path, run: Play, size: tuple[int, int] = (120, 40)) -> None:
    workspace = Workspace.open(folder / "tax.yaml", folder / "all.csv")
    app = GuardtuiApp.of(workspace, LocalScanner("static"), threshold="built-in")
    async with app.run_test(size=size) as pilot:
        await run(Stage(pilot, app, await ready(pilot, app)))


@pytest.mark.parametrize(
    ("size", "told"),
    first_row_is_fast(
        ((120, 40), "tax.yaml × all.csv (sample of 60 of 300 prompts)"),
        ((80, 24), "tax.yaml × all.csv (sample of 60 of 300 prompts)"),
        ((60, 20), "tax.yaml × all.csv (sample 60/300)"),
    ),
)
async def test_the_screen_says_that_it_is_a_sample(
    folder: Path, size: tuple[int, int], told: str
) -> None:
    async def run(stage: Stage) -> None:
        assert told in frame(stage.app).splitlines()[0]
        command = "all: guardtui eval "
        await until(stage.pilot, lambda: any(command in message for message in stage.told))
        while "Metrics" not in frame(stage.app):
            await stage.pilot.press("f5")
        page = all_figures(stage.main)
        assert "sample of 60 of 300 prompts" in page
        for name in ("accuracy", "precision", "F1"):
            assert re.search(rf"{name} .*of the sample", page), page
        line = next(one for one in page.splitlines() if one.startswith("TNR"))
        assert " to " in line
        assert "of the sample" not in line

    await play(folder, run, size)


@pytest.mark.exhaustive
async def test_another_size_of_the_window_is_handled_too(folder: Path) -> None:
    async def run(stage: Stage) -> None:
        await stage.pilot.resize_terminal(60, 20)
        await until(stage.pilot, lambda: "(sample 60/300)" in frame(stage.app))
        await stage.pilot.resize_terminal(100, 30)
        await until(stage.pilot, lambda: "(sample of 60 of 300 prompts)" in frame(stage.app))

    await play(folder, run)


@pytest.mark.parametrize("key", first_is_fast("t", "x", "d", "i", "I", "u"))
async def test_prompts_of_a_sample_are_not_edited(folder: Path, key: str) -> None:
    async def run(stage: Stage) -> None:
        before, prompts = (folder / "all.csv").read_bytes(), stage.main.services.workspace.prompts
        stage.main.panes.results.table.focus()
        await stage.pilot.press(key)
        refusal = "sample of 60 of 300 prompts, which cannot be edited here"
        await until(stage.pilot, lambda: any(refusal in message for message in stage.told))
        assert not isinstance(stage.app.screen, PromptDialog)
        assert stage.main.services.workspace.prompts is prompts
        assert (folder / "all.csv").read_bytes() == before

    await play(folder, run)


@pytest.mark.exhaustive
async def test_an_export_of_the_sample_names_the_sample(folder: Path) -> None:
    async def run(stage: Stage) -> None:
        await stage.pilot.press("f8")
        await until(stage.pilot, lambda: isinstance(stage.app.screen, ExportDialog))
        await until(stage.pilot, lambda: "a sample of 60 of 300 prompts" in frame(stage.app))

    await play(folder, run)
