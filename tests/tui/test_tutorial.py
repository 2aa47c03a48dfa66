"""The tutorial works as written: its table of keys is typed into the app, row by row."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.domain.operating_point import SHIPPED
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from tests.tui import settling
from tests.tui.frames_app import at_work, freeze
from tests.tui.tax_app import frame, main_screen, until

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pages" / "tutorial.md"
SAMPLE = ROOT / "sample_data"

NAMES = {
    "Esc": "escape",
    "Enter": "enter",
    "Tab": "tab",
    "End": "end",
    "/": "slash",
    "Ctrl+Space": "ctrl+@",  # what terminals send for it
}
"""Keys that Textual names otherwise than the page; function keys are written in small letters."""


@dataclass(frozen=True)
class Row:
    step: int
    keys: tuple[str, ...]
    seen: str


def rows() -> Iterator[Row]:
    """The rows of the table, with keys as Textual names them and what is typed letter by letter."""
    for line in PAGE.read_text("utf-8").splitlines():
        result = re.fullmatch(r"\| (\d+) \| (.*?) ?\| `(.+)` \|", line)
        if result is None:
            continue
        keys: list[str] = []
        for typed, key in re.findall(r"(type )?`([^`]+)`", result[2]):
            keys += key if typed else [NAMES.get(key, key.lower() if len(key) > 1 else key)]
        yield Row(int(result[1]), tuple(keys), result[3])


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    freeze(monkeypatch)
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        shutil.copy(SAMPLE / name, tmp_path)
    return tmp_path / "tax-advice.yaml"


def settled(main: MainScreen) -> bool:
    """Whether the metrics are of the definition as it is, and the table is of the metrics."""
    shown, results = main.state.evaluation, main.rows.results
    return (
        shown is not None
        and shown.topic == main.services.session.topic
        and results is not None
        and results.evaluation is shown
        and results.view == main.panes.results.view
        and not any(at_work(worker) for worker in main.app.workers)
    )


def seen(app: GuardtuiApp) -> str:
    """What is on the screen, and what was said."""
    return "\n".join([frame(app), *(message.message for message in app.said.messages)]).casefold()


def test_the_table_covers_the_steps() -> None:
    assert {row.step for row in rows()} >= {4, 5, 6, 7, 8, 9, 10}


@pytest.mark.exhaustive
async def test_the_keys_of_the_tutorial_do_what_it_says(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("minilm"), threshold=SHIPPED)

    async def type_row(pilot: Pilot[int], main: MainScreen, row: Row) -> None:
        for key in row.keys:
            await pilot.press(key)
            await settling.settle()
            await until(pilot, lambda: app.screen is not main or settled(main))
            await pilot.pause()
        await until(pilot, lambda: row.seen.casefold() in seen(app))

    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await until(pilot, lambda: settled(main))
        for row in rows():
            try:
                await type_row(pilot, main, row)
            except TimeoutError:
                pytest.fail(f"step {row.step}, {row.keys}: no {row.seen!r} in\n{frame(app)}")
