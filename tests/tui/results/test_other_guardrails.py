"""Verdicts of other guardrails in the results, and labels that they put in doubt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from guardtui.domain.verdicts import Outcome
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.other_verdicts import GuardrailVerdicts, OtherVerdicts
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.results.columns import other_cells, other_columns, sort_values
from tests.guardrails import airs_settings, judge_settings
from tests.tui.panel_app import judged, opened, record
from tests.tui.results_app import notes
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import ROWS, TOPIC, frame, ready, until

WEATHER, HISTORY = 4, 6
"""Rows of the prompt set that are labelled false."""

Play = Callable[[Pilot[int], GuardtuiApp, MainScreen], Awaitable[None]]


def like_labels(**others: str) -> str:
    """Return the answers of a guardrail that agrees with the labels, but for some rows."""
    answers = ["y" if label else "n" for _, label in ROWS]
    for row, answer in others.items():
        answers[int(row.removeprefix("at"))] = answer
    return "".join(answers)


class Fixed(LocalScanner):
    """An embedded engine whose verdicts are known beforehand."""

    answers = like_labels()

    def evaluate_now(self, topic, prompts, *others):  # type: ignore[no-untyped-def]
        evaluation = super().evaluate_now(topic, prompts, *others)
        if evaluation is not None:
            for row, answer in enumerate(self.answers):
                evaluation.verdicts.triggered[row] = answer == "y"
        return evaluation


WRONG = like_labels(at3="n", at4="y", at6="y")
AIRS = like_labels(at0="?", at3="n", at4="y", at6="y")
JUDGE = like_labels(at3="n", at4="y")


async def play(
    folder: Path, play: Play, size: tuple[int, int] = (120, 40), *, engine: str = like_labels()
) -> None:
    """Drive the app over a session in which two profiles and a judge judged the definition."""
    workspace = Workspace.open(opened(folder, TOPIC, ROWS))
    record(workspace, judged(workspace, "airs", like_labels(), settings=airs_settings("dev")))
    record(workspace, judged(workspace, "airs", AIRS, settings=airs_settings("prod")))
    reasons = {WEATHER: "It asks for\n[/b]\x1b]0;x\x07 rain"}
    settings = judge_settings("some-model")
    record(workspace, judged(workspace, "judge", JUDGE, settings=settings, reasons=reasons))
    scanner = Fixed("static")
    scanner.answers = engine
    app = GuardtuiApp.of(workspace, scanner)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot, app)
        await pilot.press("escape")
        main.panes.show("results")
        await pilot.press("7")
        await until(pilot, lambda: len(rows_of(main)) == len(ROWS))
        await play(pilot, app, main)


def rows_of(main: MainScreen) -> list[int]:
    results = main.panes.results.results
    return [] if results is None else results.order.tolist()


async def filtered(pilot: Pilot[int], main: MainScreen, line: str, rows: list[int]) -> None:
    await pilot.press("slash", *line, "enter")
    await until(pilot, lambda: main.panes.results.view.search == line)
    await until(pilot, lambda: sorted(rows_of(main)) == rows)


def detail_of(main: MainScreen) -> str:
    return str(main.panes.detail.query_one(Static).render())


def weather_line(app: GuardtuiApp) -> list[str]:
    return next(line for line in frame(app).split("\n") if "What is the weather" in line).split()


async def test_a_wide_pane_has_a_column_for_each_guardrail_and_the_detail_its_reason(
    tmp_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        # The judge's verdicts, the newest, are shown already.
        assert " dev prod " in " ".join(frame(app).split())
        assert weather_line(app)[-3:-1] == ["TN", "FP"]
        main.panes.results.table.select_row(int(main.state.prompts.keys[WEATHER]))
        await until(pilot, lambda: "prod ✗ wrongly stopped  in #1" in detail_of(main))
        # Of an edited definition all of them are verdicts on another one.
        main.services.editing.type(
            main.state.topic.model_copy(update={"description": "tax"}), "", ends_group=True
        )
        await until(
            pilot, lambda: "prod ✗ wrongly stopped  in #1, another definition" in detail_of(main)
        )
        assert "some-model ✗ wrongly stopped  in #2, another definition  It asks for" in detail_of(
            main
        )
        assert weather_line(app)[-7:-1] == ["TN", "old", "FP", "old", "FP", "old"]
        shown = frame(app) + detail_of(main)
        assert not {ord(one) for one in shown} - {10} & {*range(0x20), *range(0x7F, 0xA0)}

    await play(tmp_path, run, (140, 40))


@pytest.mark.parametrize("size", first_is_fast((80, 24), (60, 20)))
async def test_a_narrow_pane_counts_the_guardrails_that_contradict(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        results = main.panes.results.results
        assert results is not None
        assert "others" in results.columns
        if size == (80, 24):
            assert "others" in frame(app)
            assert "✗1/2" in weather_line(app)

    await play(tmp_path, run, size)


async def test_suspect_labels_are_found_confirmed_and_opened_again(tmp_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        store = main.services.workspace.store
        # The engine and AIRS contradict three labels; the judge confirms one of them.
        await filtered(pilot, main, "suspect", [3, WEATHER, HISTORY])
        await pilot.press("m", "L")
        await until(pilot, lambda: "3 labels are confirmed." in notes(app))
        await until(pilot, lambda: rows_of(main) == [])
        assert "No label is in doubt" in frame(app)
        assert len(store.confirmed_labels()) == 3
        await pilot.press("escape", "escape")
        await filtered(pilot, main, "confirmed", [3, WEATHER, HISTORY])
        await pilot.press("L")
        await until(pilot, lambda: "The label is open again." in notes(app))
        await until(pilot, lambda: len(rows_of(main)) == 2)
        assert len(store.confirmed_labels()) == 2

    await play(tmp_path, run, engine=WRONG)


async def test_without_the_engine_the_other_guardrails_still_put_labels_in_doubt(
    tmp_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        def damaged(*_: object) -> None:
            raise ScannerError("the encoder is damaged")

        scanner = main.services.engine.scanner
        scanner.evaluate_now = damaged  # type: ignore[method-assign, assignment]
        await filtered(pilot, main, "suspect", [3, WEATHER])

    await play(tmp_path, run)


def verdicts(title: str, codes: list[Outcome]) -> GuardrailVerdicts:
    current = np.arange(len(codes)) % 2 == 0
    return GuardrailVerdicts(title, np.array(codes, np.int8), current, ())


def test_columns_have_outcomes_and_sort_by_them() -> None:
    two = OtherVerdicts(
        (
            verdicts("a-very-long-name", [Outcome.TP, Outcome.FP, Outcome.OPEN]),
            verdicts("b", [Outcome.FN, Outcome.FP, Outcome.OPEN]),
        )
    )
    rows = np.arange(3)
    assert [column.width for column in other_columns(two, 200)] == [8, 6]
    assert [column.key for column in other_columns(two, 80)] == ["others"]
    assert other_columns(OtherVerdicts(), 200) == ()
    (alone,) = other_columns(OtherVerdicts(two.guardrails[:1]), 80)
    assert [text for text, _ in other_cells(two, alone.key, rows)] == ["TP", "FP old", ""]
    assert [text for text, _ in other_cells(two, "others", rows)] == ["✗1/2", "✗2/2", ""]
    assert np.argsort(sort_values(two, "others", rows), kind="stable").tolist() == [1, 0, 2]
    assert sort_values(two, "guardrail:1", rows).tolist() == [3, 2, 5]
    assert sort_values(two, "guardrail:7", rows).tolist() == [0, 0, 0]
    many = OtherVerdicts(tuple(verdicts(str(number), [Outcome.TP]) for number in range(5)))
    assert len(other_columns(many, 200)) == 1
