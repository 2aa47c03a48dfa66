"""The list of trials: its lines, and restoring a trial with Enter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from guardtui.app.trials import TrialEntry
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.session.trials import Figures, Trial
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.history.trials import TrialList, trial_line, trial_text
from guardtui.tui.main.screen import MainScreen
from tests.guardrails import airs_settings, engine_settings
from tests.tui.tax_app import drive, frame, settled, topic_path, until

__all__ = ["topic_path"]

HERE = Topic(name="T", description="Tax advice", examples=("a", "b"))
ENGINE = engine_settings("1, x", 0.5, "shipped")
AIRS = replace(airs_settings("prod\x1b[31m", "3"), is_forecast=True)


def entry(
    settings: ScannerSettings = ENGINE,
    *,
    is_current: bool = False,
    change: float | None = None,
    apart: str = "",
    changes: tuple[str, ...] = (),
) -> TrialEntry:
    topic = HERE if is_current else HERE.model_copy(update={"description": "Advice \x1b]0;x\x07"})
    trial = Trial("2026-01-02T03:04:05+00:00", topic, settings, "f", Figures(0.8, 0.8, 0.9, 20))
    return TrialEntry(trial, is_current, change, apart, changes)


def test_a_line_names_its_guardrail_and_compares_only_like_with_like() -> None:
    better = trial_line(entry(change=0.05, changes=("description +“x”",))).plain
    assert "ENGINE    0.800   ▲ +0.050" in better
    assert better.endswith("description +“x”")
    other = trial_line(entry(AIRS, apart="prompts changed")).plain
    assert "FORECAST  ≈0.800  ≠ prompts changed   the oldest trial" in other
    current = trial_line(entry(is_current=True, change=0.0)).plain
    assert current.startswith("● ")
    assert "in the editor" in current


def test_the_text_below_names_the_guardrail_and_is_inert() -> None:
    text = trial_text(entry(AIRS, apart="other guardrail"), HERE).plain
    assert text.startswith("coverage ≈0.800  TPR ≈0.800  TNR ≈0.900  on 20 prompts\n")
    assert "Measured by a forecast of AIRS, profile prod␛[31m, revision 3." in text
    assert "Not compared with the definition in the editor: other guardrail." in text
    assert "[-Tax" in text
    assert text.replace("\n", "").isprintable()
    assert "is in the editor." in trial_text(entry(is_current=True, apart="x"), HERE).plain


async def test_a_trial_is_brought_back_by_a_letter_and_enter(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        assert len(main.services.trials.listed()) == 1  # that of the file, as it was opened
        first = main.state.topic
        await pilot.press("end", *" and soup")
        await until(pilot, lambda: settled(main) and main.state.topic != first)
        main.panes.results.table.focus()
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, TrialList))
        await until(pilot, lambda: "in the editor" in frame(app))
        chosen = app.screen.query_one(OptionList)
        assert chosen.option_count >= 2
        assert "Measured by the embedded engine" in str(
            app.screen.query_one("#difference", Static).render()
        )
        await pilot.press("end")
        await until(pilot, lambda: chosen.highlighted == chosen.option_count - 1)
        await pilot.press("enter")
        await until(pilot, lambda: main.state.topic == first)
        main.services.editing.undo()
        assert main.state.topic != first
        assert " and soup" in str(main.state.topic)

    await drive(topic_path, run)


async def test_without_trials_the_key_shows_why(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.services.trials._trials.clear()
        main.services.trials._pending = None
        main.panes.results.table.focus()
        await pilot.press("T")
        await until(
            pilot, lambda: any("No trials yet" in message.message for message in app.said.messages)
        )

    await drive(topic_path, run)
