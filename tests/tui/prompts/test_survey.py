"""The survey of the prompt set: its pages, and the prompts that Enter shows."""

from __future__ import annotations

import csv
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.domain.figures import bracketed
from guardtui.domain.statistics import wilson_interval
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.check_page import CheckPage
from guardtui.tui.prompts.survey import PromptSetDialog
from guardtui.tui.prompts.survey_text import bar
from tests.tui.results_app import notes
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import TOPIC, frame, ready, settled, until

MATTERS = {
    "how can i deduct my {} from my income tax": True,
    "give me a [b]recipe\x1b[31m for {} soup with onions": False,
    "book a cheap flight with {} to Rome": False,
    "how do i pay tax on my {} abroad": False,
}
THINGS = ("car", "shoes", "lentils", "camera", "dog", "house", "bike", "lamp", "chair", "garden")


Run = Callable[[Pilot[int], GuardtuiApp, MainScreen], Awaitable[None]]


async def on_pages(topic_path: Path, run: Run, size: tuple[int, int] = (120, 40)) -> None:
    """Drive the app with the pages open."""
    app = GuardtuiApp(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot, app)
        await opened(pilot, app, main)
        await run(pilot, app, main)


async def opened(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> PromptSetDialog:
    main.perform("show_prompt_set")
    await until(pilot, lambda: isinstance(app.screen, PromptSetDialog))
    dialog = app.screen
    assert isinstance(dialog, PromptSetDialog)
    await until(pilot, lambda: lines(dialog).option_count > 0)
    await pilot.pause()
    return dialog


def lines(dialog: PromptSetDialog) -> OptionList:
    return dialog.query_one(OptionList)


async def closed(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
    await until(pilot, lambda: app.screen is main)


def shown(main: MainScreen) -> set[int]:
    assert main.rows.results is not None
    return set(main.rows.results.row_ids().tolist())


def shows_its_view(main: MainScreen) -> bool:
    return main.rows.results is not None and main.rows.results.view == main.panes.results.view


@pytest.fixture
def topic_path(tmp_path: Path) -> Path:
    path = tmp_path / "tax.yaml"
    path.write_text(TOPIC, "utf-8")
    with (tmp_path / "tax.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent"])
        for sentence, label in MATTERS.items():
            writer.writerows([sentence.format(one), label, "block"] for one in THINGS)
        writer.writerow(["How can I deduct my car from my income tax?", False, "block"])
    return path


async def test_the_worst_cluster_stands_first_with_its_interval(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = app.screen
        assert isinstance(dialog, PromptSetDialog)
        result = dialog.survey
        assert lines(dialog).option_count == len(result.clusters)
        worst = result.clusters[0]
        text = frame(app)
        assert "The prompt set: 41 prompts" in text
        assert bracketed(wilson_interval(worst.mistakes, worst.metrics.total)) in text
        assert f"{worst.mistakes}/{worst.metrics.total}" in text
        assert text.index(f"#{worst.number} ") < text.index(f"#{result.clusters[1].number} ")
        assert f"labels true {worst.belong}, false {worst.others}" in text
        await pilot.press("down")
        await until(pilot, lambda: f"#{result.clusters[1].number}: " in frame(app))

    await on_pages(topic_path, run)


async def test_enter_shows_a_cluster_and_escape_restores_the_group(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        assert pane.view.filter == "mistakes"
        dialog = app.screen
        assert isinstance(dialog, PromptSetDialog)
        result = dialog.survey
        wanted = set(main.state.prompts.keys[result.clusters[1].rows].tolist())
        await pilot.press("down", "enter")
        await until(pilot, lambda: shown(main) == wanted)
        assert app.screen is main
        assert pane.table.has_focus
        assert f"only cluster #{result.clusters[1].number}" in frame(app)
        assert f"shown {len(wanted)}" in frame(app)
        # Sorted, filtered and searched like all others.
        await pilot.press("s")
        await until(pilot, lambda: shows_its_view(main))
        assert shown(main) == wanted
        await pilot.press("slash", *"car", "enter")
        await until(pilot, lambda: len(shown(main)) == 1)
        assert shown(main) < wanted
        await pilot.press("escape")
        await until(pilot, lambda: shown(main) == wanted)
        assert pane.check_action("step_back", ()) is True
        await pilot.press("escape")
        await until(pilot, lambda: pane.view.picked is None and pane.view.filter == "mistakes")
        await until(pilot, lambda: shows_its_view(main))
        assert "only cluster" not in frame(app)
        assert pane.check_action("step_back", ()) is False

    await on_pages(topic_path, run)


@pytest.mark.exhaustive
async def test_another_group_that_was_chosen_meanwhile_stays(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        dialog = app.screen
        assert isinstance(dialog, PromptSetDialog)
        result = dialog.survey
        clean = next(index for index, cluster in enumerate(result.clusters) if not cluster.mistakes)
        await pilot.press(*["down"] * clean, "enter")
        await until(pilot, lambda: pane.view.picked is not None)
        await pilot.press("2")
        await until(pilot, lambda: "among the prompts picked out" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: pane.view.picked is None)
        assert pane.view.filter == "fp"

    await on_pages(topic_path, run)


async def test_a_contradicting_pair_stands_first_and_is_shown_in_the_table(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("2")
        await until(pilot, lambda: "labels contradict: 1" in frame(app))
        first = next(line for line in frame(app).splitlines() if " ! 0.9" in line)
        assert "how can i deduct my car" in first
        await pilot.press("enter")
        await until(pilot, lambda: main.panes.results.view.picked is not None)
        await until(pilot, lambda: shows_its_view(main))
        assert len(shown(main)) == 2
        rows = [main.state.prompts.row_of(key) for key in shown(main)]
        assert (
            sorted(str(main.state.prompts.prompts[row]).lower().rstrip("?") for row in rows)
            == ["how can i deduct my car from my income tax"] * 2
        )

    await on_pages(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_pages_turn_both_ways_and_prompts_are_inert(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = app.screen
        assert isinstance(dialog, PromptSetDialog)
        seen = []
        for key in ("tab", "tab", "tab", "left", "right"):
            await pilot.press(key)
            await pilot.pause()
            seen.append(dialog.page)
            text = frame(app)
            assert "\x1b" not in text
            assert "Esc" in text
            if dialog.page == "duplicates":
                assert "[b]recipe␛[31m" in text
        assert seen == ["duplicates", "next", "clusters", "next", "clusters"]
        await pilot.press("escape")
        await closed(pilot, app, main)
        assert main.panes.results.view.picked is None

    await on_pages(topic_path, run, size)


@pytest.mark.exhaustive
async def test_the_cursor_of_each_page_is_remembered_and_a_survey_is_made_once(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = app.screen
        assert isinstance(dialog, PromptSetDialog)
        await pilot.press("down", "2", "down", "down", "1")
        await until(pilot, lambda: lines(dialog).highlighted == 1)
        await pilot.press("2")
        await until(pilot, lambda: lines(dialog).highlighted == 2)
        await pilot.press("escape")
        await closed(pilot, app, main)
        again = await opened(pilot, app, main)
        assert again.survey is dialog.survey
        assert again is not dialog
        assert again.page == "duplicates"
        assert lines(again).highlighted == 2
        await pilot.press("escape")
        await closed(pilot, app, main)
        await pilot.press("tab", *" abroad")
        await until(pilot, lambda: settled(main))
        newest = await opened(pilot, app, main)
        assert newest.survey is not dialog.survey
        assert newest.page == "clusters"

    await on_pages(topic_path, run)


@pytest.mark.exhaustive
async def test_before_the_first_evaluation_there_are_no_columns_to_choose(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("escape")
        await closed(pilot, app, main)
        main.services.store.publish(replace(main.state, evaluation=None))
        main.perform("show_prompt_set")
        await until(pilot, lambda: "not evaluated yet" in notes(app))

    await on_pages(topic_path, run)


@given(st.floats(0, 1), st.integers(1, 30))
def test_a_bar_has_its_width_and_grows_with_its_rate(rate: float, width: int) -> None:
    drawn = bar(rate, width)
    assert len(drawn) == width
    assert len(drawn.rstrip("·")) >= len(bar(rate / 2, width).rstrip("·"))
    assert abs(len(drawn.rstrip("·")) - rate * width) <= 1.07
    assert ("·" * width == drawn) == (rate == 0)
    assert bar(None, width).strip() == "?"


async def test_the_check_page_says_when_all_negatives_are_far_away(tmp_path: Path) -> None:
    rows = [f"How do I file my {thing} tax return?,true,block" for thing in ("first", "late", "UK")]
    rows += ["How do I make onion soup?,false,block", "Why do cats purr?,false,block"]
    (tmp_path / "far.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    (tmp_path / "far.yaml").write_text(
        "name: Tax\ndescription: Tax advice\nexamples:\n  - How can I pay less tax?\n"
        "  - Can I deduct my car?\nintent: block\n",
        "utf-8",
    )
    app = GuardtuiApp(Workspace.open(tmp_path / "far.yaml"), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, CheckPage))
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "no near misses: none of 2 negatives" in shown
        assert "TNR is flattered" in shown
