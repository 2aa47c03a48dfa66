"""The history: chart, table, definitions, comparison, restore, pin."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.series import BestOfSeries
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.experiments import ExperimentRecord
from guardtui.session.history import Figures, MeasuredDefinition, add_measured, history
from guardtui.session.session import Decision, Recorder
from guardtui.session.store import SessionStore
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.history.dialog import HistoryContent, HistoryDialog
from guardtui.tui.history.text import chart_text, entry_details, entry_line, head_line, local_time
from guardtui.tui.kit.block_chart import columns
from guardtui.tui.kit.dialogs import AnswersDialog, TextPage
from guardtui.tui.main.screen import MainScreen
from tests.guardrails import airs_settings, engine_settings
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import Run, drive, frame, main_screen, settled, topic_path, until

__all__ = ["topic_path"]

STEPS = (
    (Decision.KEEP, "Personal tax advice", (1, 1, 0, 0, 0, 0, 1, 0)),
    (Decision.KEEP, "Personal tax advice and evasion", (1, 1, 1, 0, 0, 0, 1, 0)),
    (Decision.DISCARD, "Personal tax advice and evasion of [/INST] \x1b]0;x\x07", (0,) * 8),
    (Decision.UNDECIDED, "Personal tax advice on money", (1, 0, 1, 1, 1, 0, 0, 0)),
)
FORECAST = replace(airs_settings("prod\x1b[31m", "3"), is_forecast=True)


def measured(
    coverage: float = 0.5, text: str = "Advice on taxes", settings: ScannerSettings = FORECAST
) -> MeasuredDefinition:
    topic = Topic(name="Tax advice", description=text, examples=("one", "two"))
    figures = Figures(coverage, 1, 1, 8)
    return MeasuredDefinition("2026-01-02T03:04:05+00:00", topic, settings, "other", figures)


SIZES = [(120, 40), (80, 24), (60, 20)]


def evaluation(workspace: Workspace, description: str, triggered: tuple[int, ...]) -> Evaluation:
    topic = workspace.topic_file.topic.model_copy(update={"description": description})
    count = len(triggered)
    return Evaluation(
        topic,
        engine_settings("1", 0.5, "built-in"),
        workspace.prompts.fingerprint,
        workspace.prompts.keys,
        workspace.prompts.expected,
        Verdicts(
            np.array(triggered, np.int8), np.full(count, 0.5, np.float32), np.zeros(count, np.int16)
        ),
    )


async def history_of(topic_path: Path, run: Run, size: tuple[int, int] = (120, 40)) -> None:
    workspace = Workspace.open(topic_path)
    for decision, description, triggered in STEPS:
        workspace.session.record(
            workspace.write(evaluation(workspace, description, triggered), decision)
        )
    add_measured(workspace.store, measured())
    app = GuardtuiApp.of(workspace, LocalScanner("static"))
    async with app.run_test(size=size) as pilot:
        main = main_screen(app)
        await until(pilot, lambda: main.rows.results is not None)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog) and "▲" in frame(app))
        await run(pilot, app, main)


def told(app: GuardtuiApp) -> list[str]:
    return [message.message for message in app.said.messages]


@pytest.mark.parametrize("size", first_is_fast(*SIZES))
async def test_it_has_room_and_is_inert(topic_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        shown = frame(app)
        assert all(f"#{number}" in shown for number in range(4))
        assert re.search(r"0\.750 +0\.\d\d to 0\.\d\d", shown)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        await until(pilot, lambda: "[/INST]" in frame(app))
        codes = {ord(character) for character in frame(app)} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0)}

    await history_of(topic_path, run, size)


async def test_an_old_definition_is_restored_and_later_iterations_stay(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        before = main.services.session.topic
        await pilot.press("end", "up", "up", "up", "enter")  # #2
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        assert "Edited from #1" in frame(app)
        await pilot.press("r")
        await until(pilot, lambda: app.screen is main and settled(main))
        assert main.services.session.topic.description == STEPS[2][1]
        assert [iteration.number for iteration in main.services.session.iterations] == [0, 1, 2, 3]
        assert any("Restored #2" in text for text in told(app))
        main.perform("undo")
        assert main.services.session.topic == before

    await history_of(topic_path, run)


async def test_a_prompt_that_became_an_example_comes_back_with_an_old_definition(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await until(pilot, lambda: settled(main))
        before, prompts = main.services.session.topic, main.services.state.prompts
        after = before.model_copy(update={"examples": (prompts.prompts[0], *before.examples)})
        await main.services.sync.replace(after, frozenset({int(prompts.keys[0])}))
        await until(pilot, lambda: len(main.services.state.prompts) == len(prompts) - 1)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog))
        await pilot.press("home", "r")
        await until(pilot, lambda: "1 prompt put back into tax.csv" in told(app))
        await until(pilot, lambda: len(main.services.state.prompts) == len(prompts))
        assert main.services.session.topic == before

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_measured_definition_is_restored_and_not_pinned(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("end", "p")
        await until(pilot, lambda: any("cannot be the baseline" in text for text in told(app)))
        await pilot.press("enter", "r")
        await until(pilot, lambda: app.screen is main)
        topic = main.services.session.topic
        assert (topic.description, topic.examples) == ("Advice on taxes", ("one", "two"))
        assert topic.name == "Tax advice"

    await history_of(topic_path, run)


async def test_two_marked_ones_are_compared(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("c")
        await until(pilot, lambda: any("Mark two iterations" in text for text in told(app)))
        await pilot.press("m", "down", "down", "m")  # #3 and #1
        assert frame(app).count("● #") == 2
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        text = str(app.screen.query_one(Static).render())
        assert "No demonstrable change against #1: coverage " in text
        assert "), 2 fixes, 2 regressions" in text
        assert "✗ What is the weather in Paris?" in text
        assert "✓ When was income tax introduced?" in text
        assert "Personal tax advice [-and-]{+on+} [-evasion-]{+money+}" in text

    await history_of(topic_path, run)


@pytest.mark.exhaustive
async def test_of_a_measured_one_only_rates_are_compared(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("end", "m", "home", "c")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        text = str(app.screen.query_one(Static).render())
        assert "has no verdicts" in text
        assert "cannot be compared: they were measured on different prompts" in text
        assert "coverage  0.500  0.750  " in text
        assert "▲" not in text

    await history_of(topic_path, run)


async def test_an_iteration_is_pinned(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("down", "down", "down", "p")
        await until(pilot, lambda: main.services.session.pinned == 0)
        assert Workspace.open(topic_path).store.pinned() == 0

    await history_of(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast(*SIZES))
async def test_without_iterations_it_says_so(topic_path: Path, size: tuple[int, int]) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test(size=size) as pilot:
        main = main_screen(app)
        await until(pilot, lambda: settled(main))
        main.services.session.iterations.clear()
        dialog = HistoryDialog(HistoryContent(), main.services.session.topic, main.state.prompts)
        app.push_screen(dialog)
        await until(pilot, lambda: "No iterations yet" in frame(app))
        await pilot.press("enter", "r", "m", "c", "p", "f", "down")
        assert app.screen is dialog
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)


@pytest.mark.parametrize(
    ("zone", "created", "shown"),
    [
        ("UTC0", "2026-01-02T09:30:00+00:00", "2026-01-02 09:30 UTC"),
        ("XYZ-5:30", "2026-01-02T20:30:00+00:00", "2026-01-03 02:00 XYZ"),
        ("XYZ+8", "2026-01-02T01:30:00", "2026-01-01 17:30 XYZ"),
        ("UTC0", "", ""),
        ("UTC0", "at noon \x1b", "at noon ␛"),
    ],
)
def test_times_are_local(
    monkeypatch: pytest.MonkeyPatch, zone: str, created: str, shown: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        result = local_time(created)
    time.tzset()
    assert result == shown


def test_the_axis_of_the_chart_is_the_range_of_the_values() -> None:
    def chart(*values: float) -> list[str]:
        rows = [measured(value) for value in reversed(values)]
        return chart_text(history([], rows), 3, 40, 0).plain.split("\n")

    lines = chart(0.67, 0.74)
    assert [line[:4] for line in lines[:3]] == ["0.75", "    ", "0.60"]
    assert lines[0][5] == " "
    assert lines[0][7] == "▆"
    assert lines[2][5] == "█"
    assert [line[:4] for line in chart(0.0, 1.0)[:3]] == ["1.00", "    ", "0.00"]
    assert [line[:4] for line in chart(1.0)[:3]] == ["1.00", "    ", "0.95"]


def test_the_best_entry_says_what_to_expect_on_new_prompts() -> None:
    entry = history([], [measured(0.74)])[0]
    series = BestOfSeries(20, 0.041)
    best = entry_details(entry, ["best"], series).plain
    assert "★ best of 20: expect about 0.04 less on new prompts" in best
    assert "best of" not in entry_details(entry, ["baseline"], series).plain


@pytest.mark.parametrize("width", [40, 53, 72, 112])
def test_lines_and_titles_have_the_same_columns(width: int) -> None:
    entry = history([], [measured(settings=engine_settings("1", 0.5, "built-in"))])
    line = entry_line(entry[0], width, marked=True, marks=("best",)).plain
    head = head_line(width).plain
    assert line.index("0.500") == head.index("coverage")
    assert line.index("first") == head.index("edit")
    assert line.index("★") == head.index("★")


def test_experiments_on_a_definition_are_in_its_details(topic_path: Path) -> None:
    workspace = Workspace.open(topic_path)
    about = evaluation(workspace, "Personal tax advice", (1,) * 8)
    other = evaluation(workspace, "Taxes", (1,) * 8)
    iterations = [workspace.write(one, Decision.KEEP) for one in (about, other)]
    record = ExperimentRecord(
        number=1,
        created="2026-01-02T03:04:05+00:00",
        topic=about.topic,
        settings=about.settings,
        prompt_set=about.prompt_set,
        keys=about.keys,
        expected=about.expected,
        candidates=((other.topic, {}),),
        seed=0,
        calls=1200,
        ending="a candidate is shown to be better",
        kept=1,
    )
    first, second = (
        entry_details(entry, (), None, [record]).plain for entry in history(iterations, [])
    )
    assert first.endswith(
        "\nexperiment of 1 candidate: a candidate is shown to be better, 1 is kept; 1,200 calls"
    )
    assert "experiment" not in second


def test_columns_are_as_high_as_their_values() -> None:
    assert columns([0.0, 0.5, 1.0, None, 0.001], 2) == ["  █  ", " ██·▁"]


def test_the_highlighted_one_of_many_iterations_is_visible() -> None:
    entries = history([], [measured(n / 200, f"d{n}") for n in range(200)])
    for cursor in (0, 3, 120, 199):
        lines = chart_text(entries, 4, 60, cursor).plain.split("\n")
        assert max(map(len, lines)) <= 60
        assert 4 <= lines[-1].index("▲") < 60


@pytest.mark.exhaustive
async def test_a_plateau_comes_with_advice(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        workspace = main.services.workspace
        for number in range(4):
            wrong = evaluation(workspace, f"taxes {number}", (0,) * 8)
            main.services.session.record(workspace.write(wrong, Decision.DISCARD))
        main.services.session.edit(
            main.services.session.topic.model_copy(update={"description": "Lentil soup"})
        )
        main.services.editing.published()
        await until(pilot, lambda: settled(main))
        main.perform("discard")
        await until(pilot, lambda: any("a plateau." in text for text in told(app)))
        message = next(text for text in told(app) if "a plateau." in text)
        for advised in ("another angle", "companion topic", "labels", "under 80 characters"):
            assert advised in message
        await pilot.press("f4")
        await until(
            pilot, lambda: isinstance(app.screen, HistoryDialog) and "plateau" in frame(app)
        )

    await history_of(topic_path, run)


async def test_the_filter_shows_the_entries_of_one_decision(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        def names() -> list[str]:
            assert isinstance(app.screen, HistoryDialog)
            return [entry.name for entry in app.screen._entries]

        everything = names()
        assert set(everything) == {"+1", "#0", "#1", "#2", "#3"}
        await pilot.press("f")
        await until(pilot, lambda: "History: keep only" in frame(app))
        assert names() == ["#0", "#1"]
        await pilot.press("f", "f")
        await until(pilot, lambda: "History: undecided only" in frame(app))
        assert names() == ["+1", "#3"]
        assert "measured while editing: no verdicts" not in frame(app)
        await pilot.press("down")
        await until(pilot, lambda: "measured while editing: no verdicts" in frame(app))
        await pilot.press("f")
        assert names() == everything

    await history_of(topic_path, run)


async def test_open_history_shows_what_another_program_does_and_keeps_the_selected_row(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = app.screen
        assert isinstance(dialog, HistoryDialog)
        await pilot.press("down", "m")
        store = SessionStore(topic_path)
        theirs = store.iterations()[-1]
        other = evaluation(main.services.workspace, "by a command", (1,) * 8)
        store.add_iteration(replace(theirs, evaluation=other, by=Recorder.COMMAND))
        store.decide(3, Decision.DISCARD)
        store.pin(1)
        await until(pilot, lambda: "#4" in frame(app))
        await until(pilot, lambda: dialog._content.marks.get("#1", []) == ["best", "baseline"])
        assert dialog._entries[dialog._index()].name == "#2"
        assert [entry.name for entry in dialog._marked] == ["#2"]
        assert "✗ discard" in next(line for line in frame(app).splitlines() if "#3 " in line)
        await pilot.press("f", "f", "f")
        await until(pilot, lambda: "History: undecided only" in frame(app))
        store.decide(4, Decision.KEEP)
        await until(pilot, lambda: "#4" not in frame(app))

    await history_of(topic_path, run)


async def test_empty_history_that_is_open_shows_the_first_iteration(topic_path: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test() as pilot:
        main = main_screen(app)
        await until(pilot, lambda: settled(main))
        dialog = HistoryDialog(HistoryContent(), main.services.session.topic, main.state.prompts)
        app.push_screen(dialog)
        await until(pilot, lambda: "No iterations yet" in frame(app))
        entries = history(main.services.session.iterations, [])
        await dialog.update(HistoryContent(entries, {"#0": ["best"]}))
        await until(pilot, lambda: "#0" in frame(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))


async def test_a_definition_measured_at_a_pause_is_in_the_history(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        first = main.state.topic
        await pilot.press("end", *" and soup")
        await until(pilot, lambda: settled(main) and main.state.topic != first)
        main.services.measured.listed()  # as after a pause
        main.services.editing.replace(first)
        await until(pilot, lambda: settled(main) and main.state.topic == first)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog) and "▲" in frame(app))
        assert "? measured" in frame(app)
        assert "Edit 1 after #0  measured" in frame(app)
        assert "name changed" in frame(app)

    await drive(topic_path, run)
