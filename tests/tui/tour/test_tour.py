"""The tour: over the live app, never over its subject, noticing tasks that are done."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Button

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import TOUR_BINDINGS, MainScreen
from guardtui.tui.registry.actions import ACTIONS
from guardtui.tui.tour.feature import TourBox, steps
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, settled, topic_path, until

__all__ = ["topic_path"]

PANES = {"editor": "#editor", "metrics": "#metrics", "results": "#results"}


async def toured(pilot: Pilot[int], main: MainScreen) -> TourBox:
    main.perform("tour")
    await until(pilot, lambda: main.tour.box is not None)
    await pilot.pause()
    assert main.tour.box is not None
    return main.tour.box


@pytest.mark.parametrize("size", first_is_fast((120, 40), (100, 30), (120, 24), (80, 24), (60, 20)))
async def test_the_box_never_covers_its_subject(topic_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        box = await toured(pilot, main)
        for index, step in enumerate(steps()):
            await until(pilot, lambda wanted=index: box.step == wanted)  # type: ignore[misc]
            await pilot.pause()
            await pilot.pause()
            pane = main.query_one(PANES[step.pane])
            assert pane.region.area, "the pane is in sight"
            assert box.region.area
            assert not box.region.overlaps(pane.region)
            assert box.region in main.region
            assert f"Tour {index + 1} of 5: {step.title}" in frame(app)
            assert "Close (Esc)" in frame(app)
            await pilot.press("alt+right")
        await until(pilot, lambda: main.tour.box is None)

    await drive(topic_path, run, size)


async def test_a_low_screen_shows_the_line_that_the_third_step_describes(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        box, line = await toured(pilot, main), main.panes.next_line
        await pilot.press("alt+right", "alt+right")
        await until(pilot, lambda: box.step == 2 and box.region.area > 0)
        await until(pilot, lambda: "Next  " in frame(app))
        assert line.region in main.region
        assert not line.region.overlaps(box.region)

    await drive(topic_path, run, (80, 24))


async def test_the_focus_stays_and_keys_go_where_they_went(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab")
        field = main.focused
        await toured(pilot, main)
        await pilot.press("alt+right", "alt+right", *" on")
        await until(
            pilot, lambda: main.services.session.topic.description == "Personal tax advice on"
        )
        assert main.focused is field
        await pilot.press("tab")
        assert main.focused is main.query_one("#field-example-1")
        assert not [widget for widget in main.focus_chain if isinstance(widget, Button)]

    await drive(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((80, 24), (120, 40), (60, 20)))
@pytest.mark.parametrize("keys", [("escape",), ("alt+right",) * 5])
async def test_its_end_gives_the_focus_back(
    topic_path: Path, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        field = main.query_one("#field-description")
        await pilot.press("tab")
        await until(pilot, lambda: main.focused is field)
        box = await toured(pilot, main)
        await pilot.press(*["alt+right"] * 3)
        await until(pilot, lambda: box.step == 3 and main.panes.results.table.has_focus)
        await pilot.press(*keys)
        await until(pilot, lambda: main.tour.box is None and main.focused is field)
        await pilot.press("x")
        await until(pilot, lambda: main.services.session.topic.description.endswith("x"))
        await until(pilot, lambda: field.region.area > 0)

    await drive(topic_path, run, size)


async def test_an_edit_is_noticed_and_measured(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await until(pilot, lambda: main.state.evaluation is not None)
        assert main.state.evaluation is not None
        before = main.state.evaluation.metrics.coverage
        await toured(pilot, main)
        await pilot.press("alt+n", "alt+n")
        await pilot.pause()
        assert "that was your edit" not in frame(app)
        await pilot.press("tab", *" for money", "tab")
        await until(pilot, lambda: settled(main) and "that was your edit" in frame(app))
        await until(pilot, lambda: main.services.session.topic.description.endswith("money"))
        await until(pilot, lambda: settled(main))
        after = main.state.evaluation.metrics.coverage
        await until(pilot, lambda: f"coverage {before:.3f} → {after:.3f}" in frame(app))

    await drive(topic_path, run)


@pytest.mark.parametrize("way", first_is_fast("escape", "#tour-close", "the end"))
async def test_it_can_be_closed_and_started_again(topic_path: Path, way: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        box = await toured(pilot, main)
        if way == "the end":
            await pilot.press(*["alt+right"] * 5)
        elif way.startswith("#"):
            assert await pilot.click(way)
        else:
            await pilot.press("alt+right", way)
        await until(pilot, lambda: main.tour.box is None)
        assert box.step == {"the end": 4, "#tour-close": 0}.get(way, 1)
        await toured(pilot, main)  # and started again

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_escape_leaves_the_filter_first(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await toured(pilot, main)
        main.panes.results.table.focus()
        await pilot.press("slash", "x", "escape")
        await pilot.pause()
        assert main.tour.box is not None
        await pilot.press("escape")
        await until(pilot, lambda: main.tour.box is None)

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_the_buttons_are_clicked_and_the_focus_stays(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        focused = main.focused
        box = await toured(pilot, main)
        await pilot.click("#tour-next")
        await until(pilot, lambda: box.step == 1)
        await pilot.click("#tour-back")
        await until(pilot, lambda: box.step == 0)
        assert main.focused is focused

    await drive(topic_path, run)


def test_no_key_is_one_that_terminals_deliver_as_another() -> None:
    # Alt and a digit are read as letters of a Mac's keyboard, Alt and b or f as moves by words.
    bindings = [*TOUR_BINDINGS, *(action.binding for action in ACTIONS)]
    for binding in bindings:
        assert isinstance(binding, Binding)
        for key in binding.key.split(","):
            modifier, _, name = key.rpartition("+")
            if modifier == "alt" and len(name) == 1:
                assert f"\x1b{name}" not in ANSI_SEQUENCES_KEYS, key


def test_no_key_of_the_tour_is_an_action_s() -> None:
    taken = {key for action in ACTIONS for key in action.keys.split(",")}
    for binding in TOUR_BINDINGS:
        keys = binding.key if not isinstance(binding, tuple) else binding[0]
        assert not (set(keys.split(",")) - {"escape"}) & taken


def test_the_shown_keys_are_those_of_the_registry() -> None:
    texts = " ".join(step.text for step in steps())
    for key in ("F1", "F2", "F3", "F5", "^r", "^Space y", "w says why", "e makes it an example"):
        assert key in texts
    assert len(steps()) == 5
    keep = next(action for action in ACTIONS if action.name == "keep").binding.id or ""
    assert "^k keeps an edit" in " ".join(step.text for step in steps({keep: "ctrl+k"}))
