"""The next step on the screen: its line, the menu, and the list of alternatives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from guardtui.app.next_steps import NextStep, NextSteps, StepKind
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace, sample_folder
from guardtui.tui.advice.next_steps import NextStepList
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.next_step_line import NextStepLine
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from tests.guardrails import airs_settings
from tests.tui.tax_app import frame, ready, settled, until


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    return tmp_path / "tax-advice.yaml"


async def measured(pilot: Pilot[int], main: MainScreen) -> NextSteps:
    """Return the steps of the current definition."""

    def steps() -> NextSteps | None:
        result = main.state.next
        return result if result is not None and result.topic == main.state.topic else None

    await until(pilot, lambda: steps() is not None)
    result = steps()
    assert result is not None
    return result


async def opened(pilot: Pilot[int], app: GuardtuiApp) -> tuple[MainScreen, NextSteps]:
    """Return the main screen, with edits measured right after each preview."""
    main: MainScreen = await ready(pilot, app)
    main.services.next_steps.pause = 0.0
    await pilot.press("end", "x")  # another definition, which is measured anew
    return main, await measured(pilot, main)


async def test_the_line_shows_the_step_and_the_menu_takes_it(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        best = steps.best
        assert best is not None
        assert best.proposal is not None
        line = main.query_one(NextStepLine)
        await until(pilot, lambda: line.text == best.line)
        await until(pilot, lambda: best.text[:30] in frame(app))
        assert "^Space y take" in frame(app)
        prompts = len(main.services.workspace.prompts)
        await pilot.press("ctrl+@", "y")
        await until(pilot, lambda: main.services.session.topic == best.proposal.topic)
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")  # the prompts stay in their file
        await until(pilot, lambda: app.screen is main)
        assert len(main.services.workspace.prompts) == prompts
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.services.session.topic != best.proposal.topic)


async def test_alternatives_are_listed_and_can_be_taken(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        second = steps.steps[1].proposal
        assert second is not None
        await pilot.press("ctrl+@", "w")
        await until(pilot, lambda: isinstance(app.screen, NextStepList))
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "gains are those expected on other prompts" in shown
        assert "Measured by the embedded engine" in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: main.services.session.topic == second.topic)


async def test_an_edit_removes_the_old_steps(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.services.next_steps.pause = 86_400.0
        await pilot.press("y")
        await until(pilot, lambda: "measuring edits" in frame(app))
        await pilot.press("ctrl+@", "y")
        await until(
            pilot,
            lambda: any("still being measured" in message.message for message in app.said.messages),
        )
        assert not isinstance(app.screen, ConfirmDialog)


async def test_a_narrow_screen_shortens_the_keys_before_the_step(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        _, steps = await opened(pilot, app)
        assert steps.best is not None
        start = steps.best.text[:30]
        await until(pilot, lambda: start in frame(app))
        line = next(line for line in frame(app).splitlines() if start in line)
        assert line.rstrip().endswith("^Space y")


async def test_a_small_screen_shows_the_line_too(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(60, 20)) as pilot:
        _, steps = await opened(pilot, app)
        assert steps.best is not None
        await until(pilot, lambda: "Next  " in frame(app))
        gain = steps.best.gain
        assert gain is not None
        assert f"{gain.low:+.3f}" in frame(app)


async def test_the_step_of_labels_leads_to_its_prompts(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.services.next_steps.pause = 86_400.0  # no other steps come
        await pilot.press("y")
        await until(pilot, lambda: settled(main))
        keys = tuple(main.state.prompts.keys[:6].tolist())
        text = "Not sure yet: about 90 more labels like these 6 make coverage certain to ±0.05"
        step = NextStep(StepKind.LABEL, text, detail="With 40 labels …", keys=keys)
        main.services.store.publish(replace(main.state, next=NextSteps(main.state.topic, (step,))))
        await until(pilot, lambda: text[:40] in frame(app))
        await pilot.press("ctrl+@", "w")
        await until(pilot, lambda: isinstance(app.screen, NextStepList))
        await until(pilot, lambda: "With 40 labels" in frame(app))
        await pilot.press("enter")
        pane = main.panes.results
        await until(pilot, lambda: pane.results is not None and len(pane.results) == 6)
        assert pane.results is not None
        assert {pane.results.row_id(index) for index in range(6)} == set(keys)
        assert any("I adds one like" in message.message for message in app.said.messages)
        await pilot.press("escape")
        await until(pilot, lambda: pane.results is not None and len(pane.results) > 6)


@pytest.mark.exhaustive
async def test_a_gain_measured_by_another_guardrail_than_the_shown_one_names_it(
    sample: Path,
) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        assert steps.best is not None
        await until(pilot, lambda: "Next  " in frame(app))
        assert "] ENGINE" not in frame(app)
        state = main.state
        assert state.evaluation is not None
        airs = airs_settings("prod", "3")
        shown = replace(state.evaluation, settings=airs)
        main.services.store.publish(replace(state, evaluation=shown))
        await until(pilot, lambda: "] ENGINE" in frame(app))
        verdicts = shown.verdicts
        open_rows = np.where(np.arange(len(verdicts.triggered)) < 9, -2, verdicts.triggered)
        partial = replace(
            shown, verdicts=replace(verdicts, triggered=open_rows.astype(np.int8), errors={})
        )
        assert partial.metrics.open == 9
        main.services.store.publish(replace(main.state, evaluation=partial, next=None))
        await until(pilot, lambda: "edits are measured once" in frame(app))
