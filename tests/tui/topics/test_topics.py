"""Switching to another topic: a known one, one by its path, or a new one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from guardtui.session.recent_topics import recent_topics, remember_opened
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import Greeting, MainScreen
from guardtui.tui.topics.new_topic import NewTopicDialog
from guardtui.tui.topics.open_topic import OpenTopicDialog
from tests.tui.settling import settle
from tests.tui.tax_app import (
    drive,
    frame,
    main_screen,
    make_app,
    settled,
    topic_path,
    until,
)

__all__ = ["topic_path"]


@pytest.fixture
def other(topic_path: Path) -> Path:
    """Another topic of the same folder, with prompts of its own."""
    path = topic_path.with_name("loans.yaml")
    path.write_text(topic_path.read_text("utf-8").replace("Tax advice", "Loans"), "utf-8")
    shutil.copyfile(topic_path.with_suffix(".csv"), path.with_suffix(".csv"))
    return path


def said(app: GuardtuiApp) -> str:
    """All messages so far."""
    return "\n".join(message.line for message in app.said.messages)


def problem_shown(app: GuardtuiApp) -> str:
    """What the dialog in front says is wrong; a frame breaks long paths."""
    return " ".join(str(app.screen.query_one("#problem", Static).render()).split())


def open_now(app: GuardtuiApp) -> Path:
    return main_screen(app).services.workspace.topic_file.path


async def opened(pilot: Pilot[int], app: GuardtuiApp, path: Path) -> MainScreen:
    """The main screen of a topic, once it shows an evaluation of it."""
    await until(pilot, lambda: bool(app.screen_stack) and open_now(app) == path)
    main = main_screen(app)
    await until(pilot, lambda: app.screen is main and settled(main))
    return main


async def ask(pilot: Pilot[int], app: GuardtuiApp, path: object) -> OpenTopicDialog:
    """The dialog with a path in it, after Enter."""
    if not isinstance(app.screen, OpenTopicDialog):
        main_screen(app).perform("open_topic")
        await until(pilot, lambda: isinstance(app.screen, OpenTopicDialog))
    dialog = app.screen
    assert isinstance(dialog, OpenTopicDialog)
    field = dialog.query_one("#path", Input)
    field.focus()
    field.value = str(path)
    await pilot.press("enter")
    return dialog


async def test_a_new_topic_for_prompts_is_in_the_working_folder_with_central_examples(
    topic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rows = [f"How long does {kind} bread bake?,true,allow" for kind in ("rye", "white", "sweet")]
    rows += ["Who sells bread?,true,allow", "Is the moon far?,false,allow"]
    (folder / "good-bread.csv").write_text("\n".join(["prompt,expected,intent", *rows]), "utf-8")
    before = (folder / "good-bread.csv").read_text("utf-8")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("new_topic")
        await until(pilot, lambda: isinstance(app.screen, NewTopicDialog))
        app.screen.query_one("#prompts", Input).value = str(folder / "gone.csv")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "no such file" in problem_shown(app))
        app.screen.query_one("#prompts", Input).value = str(folder / "good-bread.csv")
        await until(pilot, lambda: "Writes good-bread.yaml, with central prompts" in frame(app))
        await pilot.press("ctrl+s")
        new = await opened(pilot, app, folder / "good-bread.yaml")
        topic = new.services.session.topic
        assert (topic.name, topic.description, topic.intent.value) == ("Good bread", "", "allow")
        assert len(topic.examples) == 2
        assert not set(topic.examples) & set(new.services.state.prompts.prompts)
        await until(pilot, lambda: "are central prompts taken out of good-bread.csv" in said(app))
        await pilot.press(*"all")  # the cursor is in the empty description
        await until(pilot, lambda: new.services.session.topic.description == "all")
        await pilot.press("ctrl+z")
        new.panes.results.table.focus()
        await pilot.press("u")
        await until(pilot, lambda: len(new.services.state.prompts) == 5)

    await drive(topic_path, run)
    assert (folder / "good-bread.csv").read_text("utf-8") == before


async def test_prompts_that_have_the_name_of_a_new_topic_are_filled_in(topic_path: Path) -> None:
    prompts = topic_path.with_name("good-bread.csv")
    shutil.copyfile(topic_path.with_suffix(".csv"), prompts)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("new_topic")
        await until(pilot, lambda: isinstance(app.screen, NewTopicDialog))
        field = app.screen.query_one("#prompts", Input)
        app.screen.query_one("#folder", Input).value = str(prompts.parent)
        await pilot.press(*"Good bread")
        await until(pilot, lambda: field.value == str(prompts))
        await until(pilot, lambda: "Writes good-bread.yaml, with central prompts" in frame(app))
        await pilot.press("s")
        await until(pilot, lambda: field.value == "")
        await until(pilot, lambda: "Writes good-breads.yaml and good-breads.csv." in frame(app))
        field.value = "mine.csv"
        await pilot.press("backspace")
        await settle()
        assert field.value == "mine.csv"

    await drive(topic_path, run)


async def test_a_half_written_topic_is_discarded_only_after_a_question(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("new_topic")
        await until(pilot, lambda: isinstance(app.screen, NewTopicDialog))
        await pilot.press(*"Bread", "escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, NewTopicDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


async def test_recent_topics_are_opened_and_dropped(
    topic_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = topic_path.with_name("gone.yaml")
    shutil.copyfile(topic_path, gone)
    remember_opened(Workspace.open(gone, topic_path.with_suffix(".csv")))
    remember_opened(Workspace.open(other))
    gone.unlink()
    monkeypatch.chdir(topic_path.parent)
    for name in ("here.yaml", "here.csv"):
        shutil.copyfile(topic_path.with_suffix(Path(name).suffix), topic_path.with_name(name))

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("open_topic")
        await until(pilot, lambda: isinstance(app.screen, OpenTopicDialog))
        await settle()
        shown = frame(app)
        assert "gone.yaml  file not found" in shown
        assert "in this folder" in shown
        options = app.screen.query_one(OptionList)
        assert options.option_count == 3
        await pilot.press("down", "enter")
        await until(pilot, lambda: "Del drops it from the list" in frame(app))
        await pilot.press("delete")
        await until(pilot, lambda: options.option_count == 2)
        assert [entry.topic for entry in recent_topics()] == [other]
        await pilot.press("home")
        await pilot.click("#yes")
        await opened(pilot, app, other)

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_listed_topic_without_its_prompts_is_asked_for_them(
    topic_path: Path, other: Path
) -> None:
    prompts = other.with_suffix(".csv").rename(other.with_name("asked.csv"))
    remember_opened(Workspace.open(other, prompts))
    moved = prompts.rename(prompts.with_name("moved.csv"))

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("open_topic")
        await until(pilot, lambda: isinstance(app.screen, OpenTopicDialog))
        await pilot.press("enter")
        field = app.screen.query_one("#prompts", Input)
        await until(pilot, lambda: field.has_focus)
        assert app.screen.query_one("#path", Input).value == str(other)
        await pilot.press("enter")
        await until(pilot, lambda: "path of a file of prompts" in problem_shown(app))
        field.value = str(moved)
        await pilot.press("enter")
        new = await opened(pilot, app, other)
        assert new.services.workspace.prompts_path == moved

    await drive(topic_path, run)


async def test_without_known_topics_a_path_or_a_new_topic_is_offered(
    topic_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("open_topic")
        await until(pilot, lambda: isinstance(app.screen, OpenTopicDialog))
        await settle()
        assert "this folder has none" in frame(app)
        assert app.screen.query_one("#path", Input).has_focus
        app.screen.query_one("#path", Input).value = ""
        await pilot.click("#yes")
        await until(pilot, lambda: "write the path of a topic file" in problem_shown(app))
        await pilot.click("#new")
        await until(pilot, lambda: isinstance(app.screen, NewTopicDialog))
        await pilot.click("#no")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


async def test_several_topics_of_the_folder_are_pointed_out(topic_path: Path) -> None:
    app = make_app(topic_path)
    app._greeting = Greeting.TOPICS
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Several topics are in this folder" in said(app))


async def test_the_hint_for_newcomers_names_the_way_to_the_tour(topic_path: Path) -> None:
    app = make_app(topic_path)
    app._greeting = Greeting.HINT
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "New here? ^Space v i starts a tour" in said(app))
