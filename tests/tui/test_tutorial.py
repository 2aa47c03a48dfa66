"""The tutorial works as written: what its steps say is typed into the app."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

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
"""Keys that Textual names otherwise; function keys are written in small letters."""


KEYS = """
1 | | ▸ Topic
2 | F1 | every key and word (a)
2 | Esc, Ctrl+Space | s Scan
2 | Esc | ▸ Topic
4 | Tab, type , including freelance and rental income | ● unsaved
5 | F2 | Kept as #1
6 | F5, F5 | ▸ Results
6 | 3 | [3 FN
6 | /, type inheritance before, Enter | shown 1
6 | w | edits correct it
6 | Enter | → 0.840
6 | Enter | coverage 0.840
6 | F2 | Kept as #2
6 | Esc, F6 | adjacent-software
7 | Esc, 7, /, type loopholes, Enter | shown 1
7 | e | Take it out of the prompt file?
7 | y | 198 prompts
7 | Esc, 4 | [4 regressions 7]
7 | F12 | {+
7 | F12 | coverage 0.810
8 | F3 | 199 prompts
9 | F4 | History
9 | End, p | Baseline: #0
9 | Esc, F7 | Baseline: #2
10 | F8 | Export
10 | Esc | ▸ Results
"""
"""Step of the page, what is pressed and typed there, and what the screen then shows."""

OWN = {"Esc", "End", "Ctrl+Space"}
"""Keys that the page need not write like this, or not in that step."""


@dataclass(frozen=True)
class Row:
    step: int
    words: tuple[str, ...]
    seen: str

    @property
    def keys(self) -> Iterator[str]:
        """Keys as Textual names them; a text is typed letter by letter."""
        for word in self.words:
            if word.startswith("type "):
                yield from word.removeprefix("type ")
            elif word:
                yield NAMES.get(word, word.lower() if len(word) > 1 else word)


def rows() -> Iterator[Row]:
    for line in KEYS.strip().splitlines():
        step, words, seen = line.split(" | " if " | | " not in line else " |", 2)
        # A comma within a text has no comma and blank before the next key.
        parts = re.split(r"(?<!type ), ", words.strip())
        yield Row(int(step), tuple(parts), seen.strip())


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


def test_what_is_pressed_is_what_the_steps_say() -> None:
    steps = dict(
        re.findall(r"^## (\d+)\. (.*?)(?=^## )", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
    for row in rows():
        for word in {*row.words} - OWN:
            assert word.removeprefix("type ") in steps[str(row.step)], (row.step, word)
    assert {row.step for row in rows()} >= {4, 5, 6, 7, 8, 9, 10}


@pytest.mark.exhaustive
async def test_the_keys_of_the_tutorial_do_what_it_says(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner())

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
