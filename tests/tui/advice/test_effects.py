"""The effect of each part of the definition on the screen, and a part left out."""

from __future__ import annotations

from pathlib import Path

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.effects import EffectList
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import frame, ready, sample, until

__all__ = ["sample"]


async def test_the_effect_of_each_part_is_shown(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+@", "a", "e")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        assert "without example 1" in frame(app)
        assert "without the description" in frame(app)


async def test_a_part_can_be_left_out_from_the_list_of_effects(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main: MainScreen = await ready(pilot, app)
        before = main.services.session.topic
        await pilot.press("ctrl+@", "a", "e")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        await pilot.press("end", "enter")
        await until(pilot, lambda: main.services.session.topic != before)
        assert main.services.session.topic.examples == before.examples[:-1]
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.services.session.topic == before)


async def test_effects_need_no_split_and_count_every_prompt(sample: Path) -> None:
    path = sample.with_suffix(".csv")
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    # A split that nothing could be chosen by: what each part does is told all the same.
    kept = [line for line in lines if line.count('"') in (0, 2)][:60]
    path.write_text(
        "\n".join([f"{head},split", *(f"{line},other" for line in kept)]) + "\n", encoding="utf-8"
    )
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("show_effects")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        await pilot.pause()
        shown = " ".join(frame(app).replace("│", " ").split())
        assert f"on all {len(main.state.prompts)} prompts" in shown
        assert "no demonstrable change" in shown.lower()
