"""The start: the definition can be typed in before services and features are there."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from rich.text import Text

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.domain.topic import Intent
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.first_look import FirstLook
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.field import TopicField
from guardtui.tui.main import features, screen
from guardtui.tui.main.features import ON_DEMAND
from guardtui.tui.main.opening import Opened, Opening
from tests.tui.tax_app import frame, main_screen, make_app, settled, topic_path, until

__all__ = ["topic_path"]


class HeldOpening:
    """The opening of a topic that reads its prompts only when the test lets it."""

    def __init__(self, topic_path: Path) -> None:
        self._path, self._released = topic_path, threading.Event()
        self.opening = Opening(FirstLook(topic_path), self._open)

    def _open(self) -> Opened:
        assert self._released.wait(60)
        return Opened(Workspace.open(self._path), LocalScanner("static"), RemoteOptions())

    def app(self) -> GuardtuiApp:
        return GuardtuiApp(self.opening)

    def release(self) -> None:
        self._released.set()


class HeldImport:
    """Imports the features only when the test lets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._released = threading.Event()
        # As in a new process. The package keeps the module that other tests use.
        monkeypatch.delitem(sys.modules, features.__name__)
        monkeypatch.setattr(screen, "import_module", self._import)

    def _import(self, name: str) -> ModuleType:
        assert self._released.wait(60)
        sys.modules[name] = features
        return importlib.import_module(name)

    def release(self) -> None:
        self._released.set()


EDITS_KEPT = "tax.yaml is as it was: your edits come back when you open it again"


def said_at_the_end(app: GuardtuiApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which what the app prints at its end will be added."""
    said: list[str] = []
    leave = app.exit

    def exit_saying(
        result: int | None = None, *, return_code: int = 0, message: Text | None = None
    ) -> None:
        said.append(str(message))
        leave(result, return_code, message)

    monkeypatch.setattr(app, "exit", exit_saying)
    return said


async def test_what_is_typed_before_the_features_are_there_is_measured(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldImport(monkeypatch)
    app = make_app(topic_path)
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        assert main.features is None
        await pilot.press("end", "tab", "end", *" now")
        shown = frame(app)
        assert "Personal tax advice now" in shown
        held.release()
        await until(pilot, lambda: main.features is not None and settled(main))
        assert main.services.session.topic.description == "Personal tax advice now"
        await pilot.press("ctrl+z")
        assert main.services.session.topic.description == "Personal tax advice"


async def test_the_definition_is_typed_in_before_prompts_are_read(topic_path: Path) -> None:
    held = HeldOpening(topic_path)
    app = held.app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await pilot.press("end", "tab", "end", *" now")
        shown = frame(app)
        for text in ("tax.yaml", "Personal tax advice now", "Metrics", "Results", "Detail"):
            assert text in shown
        field = app.focused
        held.release()
        await until(pilot, lambda: main.features is not None and settled(main))
        await pilot.press("!")
        assert app.focused is field
        assert main.services.session.topic.description == "Personal tax advice now!"


async def test_a_key_for_what_is_not_there_waits_and_so_do_the_keys_behind_it(
    topic_path: Path,
) -> None:
    held = HeldOpening(topic_path)
    app = held.app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await pilot.press("tab", "end", *" now", "ctrl+z", *" or never")
        assert main.panes.editor.typed.description == "Personal tax advice now"
        held.release()
        expected = "Personal tax advice or never"
        await until(pilot, lambda: main.panes.editor.typed.description == expected)


async def test_the_focus_waits_for_the_panes_around_the_definition(topic_path: Path) -> None:
    held = HeldOpening(topic_path)
    app = held.app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        first = app.focused
        await pilot.press("shift+tab")
        assert app.focused is first
        held.release()
        await until(pilot, lambda: app.focused not in (None, first))
        assert not isinstance(app.focused, TopicField)
        assert main.features is not None


async def test_the_intent_is_that_of_the_prompts_if_the_file_has_none(topic_path: Path) -> None:
    topic_path.write_text(topic_path.read_text("utf-8").replace("intent: block\n", ""), "utf-8")
    prompts = topic_path.with_suffix(".csv")
    prompts.write_text(prompts.read_text("utf-8").replace(",block", ",allow"), "utf-8")
    held = HeldOpening(topic_path)
    app = held.app()
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await pilot.press("tab", "end", *" now")
        held.release()
        await until(pilot, lambda: main.features is not None and settled(main))
        assert main.panes.editor.typed.intent is Intent.ALLOW
        assert main.services.session.topic.description == "Personal tax advice now"


async def test_prompts_that_cannot_be_read_end_the_app_and_keep_what_was_typed(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_path.with_suffix(".csv").write_text("prompt\nhow\n", "utf-8")
    held = HeldOpening(topic_path)
    app = held.app()
    said = said_at_the_end(app, monkeypatch)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "end", *" now")
        held.release()
        await until(pilot, lambda: app.return_code is not None)
    assert app.return_code == 2
    assert "tax.csv" in str(held.opening.problem)
    assert said == [EDITS_KEPT]
    assert FirstLook(topic_path).topic.description == "Personal tax advice now"


async def test_quitting_before_the_prompts_are_read_says_that_edits_are_kept(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldOpening(topic_path)
    app = held.app()
    said = said_at_the_end(app, monkeypatch)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "end", *" now", "ctrl+q")
        held.release()
    assert (app.return_code, said) == (0, [EDITS_KEPT])


async def test_an_action_before_the_features_are_there_is_done_then(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldImport(monkeypatch)
    app = make_app(topic_path)
    async with app.run_test(size=(120, 40)) as pilot:
        main = main_screen(app)
        await pilot.press("f4")
        held.release()
        await until(pilot, lambda: app.screen is not main)
        assert "History" in frame(app)


async def test_quitting_before_the_features_are_there_keeps_what_was_typed(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldImport(monkeypatch)
    app = make_app(topic_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "end", *" now")
        await pilot.press("ctrl+q")
        held.release()
    assert app.return_code == 0
    again = make_app(topic_path)
    async with again.run_test():
        assert main_screen(again).panes.editor.typed.description == "Personal tax advice now"


async def test_every_feature_on_demand_has_the_actions_it_is_needed_for(topic_path: Path) -> None:
    app = make_app(topic_path)
    async with app.run_test():
        main = main_screen(app)
        assert main.features is not None
        for action, entry in ON_DEMAND.items():
            assert action in main.features.on_demand(action).actions, entry
        named = {name for feature in main.features.loaded.values() for name in feature.actions}
        assert named == set(ON_DEMAND)
