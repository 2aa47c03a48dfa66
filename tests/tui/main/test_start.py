"""The start: the definition can be typed in before services and features are there."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from guardtui.tui.main import features, screen
from guardtui.tui.main.features import ON_DEMAND
from tests.tui.tax_app import frame, main_screen, make_app, settled, topic_path, until

__all__ = ["topic_path"]


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
