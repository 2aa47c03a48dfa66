"""Saved views: named, applied, removed, restored, and read from damaged settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.session.applied import AppliedLog
from guardtui.session.store import SessionStore
from guardtui.session.views import (
    VIEWS,
    SavedView,
    read_remembered,
    with_view,
    without_view,
    write_columns,
    write_history,
)
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import LineDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.messages import RemoveView, SaveSettings, SaveView
from guardtui.tui.results.column_layout import ColumnLayout, layout_of
from guardtui.tui.results.views_dialog import SavedViewsDialog
from tests.tui.results_app import Sent, notes, on_all, sent, topic_path
from tests.tui.tax_app import frame, until

__all__ = ["sent", "topic_path"]


async def saved_as(pilot: Pilot[int], app: GuardtuiApp, name: str) -> None:
    await pilot.press("V")
    await until(pilot, lambda: isinstance(app.screen, LineDialog))
    await pilot.press(*name, "enter")
    await until(pilot, lambda: not isinstance(app.screen, LineDialog))


async def listed(pilot: Pilot[int], app: GuardtuiApp) -> None:
    await pilot.press("v")
    await until(pilot, lambda: isinstance(app.screen, SavedViewsDialog))
    await pilot.pause()


async def test_a_view_is_saved_applied_and_removed(topic_path: Path, sent: Sent) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        await pilot.press("v")
        await until(pilot, lambda: "No saved views yet" in notes(app))
        pane._request_view(sort="score", descending=True)
        await pilot.press("c", "slash", *"tax", "enter")
        await until(pilot, lambda: pane.view.search == "tax")
        pane._use_layout(ColumnLayout().toggled("was", main.services.workspace.prompts))
        wanted, layout = pane.view, pane.layout_chosen
        await saved_as(pilot, app, "[b]mine")
        await pilot.press("escape", "escape", "2", "s")
        pane._use_layout(ColumnLayout())
        await until(pilot, lambda: pane.view.filter == "fp")
        await saved_as(pilot, app, "second")
        await listed(pilot, app)
        shown = frame(app)
        assert "[b]mine" in shown
        assert "by score ▼" in shown
        await pilot.press("enter")
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view == wanted
        )
        assert pane.layout_chosen == layout
        assert pane._input.display
        assert pane._input.value == "tax"
        assert app.screen is main
        await listed(pilot, app)
        await pilot.press("down", "delete")
        assert app.screen.query_one(OptionList).option_count == 1
        await pilot.press("delete")
        await until(pilot, lambda: app.screen is main)
        saved = [one.view for one in sent if isinstance(one, SaveView)]
        removed = [one.view_name for one in sent if isinstance(one, RemoveView)]
        assert sorted(removed) == sorted(one.name for one in saved)
        settings = [one.settings for one in sent if isinstance(one, SaveSettings)]
        assert {"filter_history": ["tax"]} in settings
        assert not any("saved_views" in one for one in settings)

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_a_name_replaces_its_view(topic_path: Path, sent: Sent) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await saved_as(pilot, app, "one")
        await pilot.press("2", "V")
        await until(pilot, lambda: isinstance(app.screen, LineDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "a view needs a name" in frame(app))
        await pilot.press(*"one")
        await until(pilot, lambda: "it will be replaced" in frame(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main)
        assert [(view.name, view.filter) for view in main.panes.results._views] == [("one", "fp")]

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_a_view_of_another_prompt_set_is_pointed_at(topic_path: Path) -> None:
    view = {"name": "other", "filter": "no such", "search": "colour:red", "sort": "column:colour"}

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        pane.restore({"saved_views": [view], "filter_history": ["fn", 3]})
        await listed(pilot, app)
        await pilot.press("enter")
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view == pane.view
        )
        assert "no field colour" in frame(app)
        assert (pane.view.filter, pane.view.search) == ("mistakes", "")
        await pilot.press("escape", "slash", "up", "up")
        assert pane._input.value == "fn"

    await on_all(topic_path, run)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
VIEW = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | good
        for name, good in {
            "name": st.text(max_size=3),
            "filter": st.sampled_from(["fn", "all"]),
            "columns": st.lists(st.fixed_dictionaries({"key": JSON, "width": JSON})),
            "search": st.text(),
        }.items()
    },
)


@given(
    settings=st.fixed_dictionaries(
        {},
        optional={
            "results_columns": JSON | st.lists(st.fixed_dictionaries({"key": JSON | st.text()})),
            "filter_history": JSON | st.lists(JSON | st.text()),
            "saved_views": JSON | st.lists(VIEW),
        },
    )
)
def test_damaged_settings_do_not_matter(settings: dict[str, object]) -> None:
    known = read_remembered(settings)
    assert len({one.name for one in known.views}) == len(known.views)
    layout_of(known.columns)
    for view in known.views:
        layout_of(view.columns)
    views: list[object] = []
    for view in known.views:
        views = with_view(views, view)
    written = {**write_columns(known.columns), **write_history(known.history), VIEWS: views}
    assert read_remembered(json.loads(json.dumps(written))) == known


def test_a_damaged_view_does_not_affect_others() -> None:
    good = {"name": "good", "filter": "fn"}
    known = read_remembered({"saved_views": [{"name": 3}, good, {"name": "", "filter": "fn"}]})
    assert [view.name for view in known.views] == ["good"]


@pytest.mark.exhaustive
async def test_external_changes_are_not_lost(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        store = SessionStore(topic_path)  # as another window and a command have it
        log = AppliedLog(store, "profile")
        log.push({"way": "back"})
        theirs = SavedView(name="theirs", filter="fn")
        store.change_setting(VIEWS, lambda saved: with_view(saved, theirs))
        await saved_as(pilot, app, "mine")
        await pilot.press("greater_than_sign")  # another width
        await until(pilot, lambda: store.setting("results_columns") is not None)
        await until(pilot, lambda: len(read_remembered(store.settings()).views) == 2)
        assert [view.name for view in read_remembered(store.settings()).views] == ["theirs", "mine"]
        assert log.ways() == [{"way": "back"}]

    await on_all(topic_path, run)


def test_a_view_is_added_to_those_of_another_window_and_removed_alone() -> None:
    mine, theirs = (SavedView(name=name, filter="fn") for name in ("mine", "theirs"))
    saved = with_view(with_view([3, {"name": 4}], theirs), mine)
    replaced = with_view(saved, SavedView(name="theirs", filter="fp"))
    known = read_remembered({VIEWS: replaced})
    assert [(view.name, view.filter) for view in known.views] == [("mine", "fn"), ("theirs", "fp")]
    left = without_view(replaced, "mine")
    assert [view.name for view in read_remembered({VIEWS: left}).views] == ["theirs"]
    assert left[:2] == [3, {"name": 4}]  # what a newer version wrote stays
    assert with_view(None, mine) == with_view("damaged", mine) == [mine.model_dump(mode="json")]
