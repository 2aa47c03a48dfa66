"""The dialog for companion topics: paths added and removed, every problem reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from guardtui.session.companions import Companions, load_companions
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.topics.companions import CompanionsDialog
from tests.tui.stages import first_row_is_fast
from tests.tui.tax_app import Run, drive, frame, topic_path, until

__all__ = ["topic_path"]


def write(path: Path, name: str, intent: str = "block") -> str:
    text = f"name: '{name}'\ndescription: d\nexamples: [a, b]\nintent: {intent}\n"
    path.write_text(text, "utf-8")
    return path.name


class Opened:
    """The dialog over the app, and the results that it gave."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main
        self.results: list[list[str] | None] = []

    async def open(self, *paths: str) -> None:
        companions = self.read(*paths)
        dialog = CompanionsDialog(companions, self.main.services.session.topic)
        self.app.push_screen(dialog, self.results.append)
        await until(self.pilot, lambda: self.app.screen is dialog and dialog.is_attached)
        await self.pilot.pause()

    def read(self, *paths: str) -> Companions:
        return load_companions(
            self.main.services.workspace.topic_file.path, paths, self.main.services.session.topic
        )

    @property
    def shown(self) -> str:
        return frame(self.app)

    @property
    def count(self) -> int:
        return self.app.screen.query_one(OptionList).option_count

    async def add(self, path: str) -> None:
        field = self.app.screen.query_one(Input)
        field.value = path
        field.focus()
        await self.pilot.press("enter")

    async def closed(self) -> list[str] | None:
        await self.pilot.press("escape")
        await until(self.pilot, lambda: bool(self.results))
        assert self.app.screen is self.main
        return self.results[0]


async def opened(topic_path: Path, run: Run, size: tuple[int, int] = (120, 40)) -> None:
    await drive(topic_path, run, size)


async def test_files_are_added_and_removed(topic_path: Path) -> None:
    folder = topic_path.parent
    write(folder / "weapons.yaml", "Weapons [b]")
    write(folder / "recipes.yaml", "Recipes", "allow")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open()
        assert "measured alone" in dialog.shown
        await dialog.add(str(folder / "weapons.yaml"))
        await until(pilot, lambda: dialog.count == 1)
        await dialog.add("recipes.yaml")  # not where the app runs, but beside the topic file
        await until(pilot, lambda: dialog.count == 2)
        assert "Weapons [b]  block  weapons.yaml" in dialog.shown
        assert "Recipes  allow  recipes.yaml" in dialog.shown
        assert "measured alone" not in dialog.shown
        app.screen.query_one(OptionList).focus()
        await pilot.press("home", "d")
        await until(pilot, lambda: dialog.count == 1)
        assert await dialog.closed() == ["recipes.yaml"]

    await opened(topic_path, run)


async def test_closing_without_a_change_returns_none(topic_path: Path) -> None:
    write(topic_path.parent / "other.yaml", "Other")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open("other.yaml")
        assert await dialog.closed() is None

    await opened(topic_path, run)


@pytest.mark.exhaustive
async def test_letters_that_remove_are_typed_in_the_line(topic_path: Path) -> None:
    write(topic_path.parent / "other.yaml", "Other")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open("other.yaml")
        await pilot.press("d", "x", "home", "delete")
        assert app.screen.query_one(Input).value == "x"
        assert dialog.count == 1

    await opened(topic_path, run)


@pytest.mark.parametrize(
    ("typed", "told"),
    first_row_is_fast(
        ("gone.yaml", "no such file"),
        ("", "write the path of a topic or profile file"),
        ("broken.yaml", "fix the YAML"),
        ("tax.yaml", "this topic file is in the profile already"),
        ("same.yaml", "is called 'Other' already"),
        ("./other.yaml", "this topic is measured already"),
        ("~nobody-of-this-name/x", "not a valid file name"),
        ("a\x1b[31m.yaml", "a␛[31m.yaml"),
    ),
)
async def test_a_companion_that_cannot_be_added_is_reported(
    topic_path: Path, typed: str, told: str
) -> None:
    folder = topic_path.parent
    write(folder / "other.yaml", "Other")
    write(folder / "same.yaml", "Other")
    (folder / "broken.yaml").write_text("name: [", "utf-8")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open("other.yaml")
        await dialog.add(typed)
        await until(pilot, lambda: told in dialog.shown)
        assert "\x1b" not in dialog.shown
        assert dialog.count == 1
        assert app.screen.query_one(Input).value == typed
        await pilot.press("a")
        await until(pilot, lambda: told not in dialog.shown.replace(f"{typed}a", ""))
        assert await dialog.closed() is None

    await opened(topic_path, run)


@pytest.mark.exhaustive
async def test_a_kept_file_with_a_problem_is_marked_and_can_be_removed(topic_path: Path) -> None:
    folder = topic_path.parent
    write(folder / "first.yaml", "Same")
    write(folder / "second.yaml", "Same")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open("gone.yaml", "first.yaml", "second.yaml")
        assert "! gone.yaml" in dialog.shown
        assert "no such file" in dialog.shown
        assert "! second.yaml" in dialog.shown
        assert "is called 'Same' already" in dialog.shown
        app.screen.query_one(OptionList).focus()
        await pilot.press("home", "down", "delete")
        await until(pilot, lambda: dialog.count == 2)
        assert "Same  block  second.yaml" in dialog.shown  # nothing is in its way any more
        assert await dialog.closed() == ["gone.yaml", "second.yaml"]

    await opened(topic_path, run)


async def test_the_line_completes_paths(topic_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(topic_path.parent / "other.yaml", "Other")
    monkeypatch.chdir(topic_path.parent)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Opened(pilot, app, main)
        await dialog.open()
        await pilot.press(*"oth")
        await until(pilot, lambda: "other.yaml" in dialog.shown)
        await pilot.press("right", "enter")
        await until(pilot, lambda: dialog.count == 1)
        assert await dialog.closed() == ["other.yaml"]

    await opened(topic_path, run)
