"""One app for many cases, reset before each of them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from guardtui.advice.search import Search, SearchResult
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.state import with_session
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.results.model import ResultsView
from tests.tui import settling
from tests.tui.frames_app import at_rest, at_work, freeze, make_app, write_topic
from tests.tui.tax_app import main_screen, until

BROKEN = "The weather in Paris, recipes of soup, dogs in the office"
"""A description that breaks one prompt and repairs one."""


NO_FILE = Path("/nonexistent/config.json")

DIALOGS = ("dialog", "experiment page", "decide", "prompt-set", "sweep", "history")
"""Groups of workers that wait for an answer to a dialog, which is taken away here."""

ALL = ResultsView(filter="all")


class Unfinished(Search):
    """A search that goes on until the next case begins, so that its dialog stays."""

    ends = threading.Event()

    def run(self) -> SearchResult | None:
        result = super().run()
        self.ends.wait(settling.HANGS_AFTER)
        return result


class Stage:
    """The app, what it told, and how to put it into a known state."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp) -> None:
        self.pilot, self.app = pilot, app
        self.main = main_screen(app)
        self.pane = self.main.panes.results
        self.start = self.main.services.session.topic
        # Never those of whoever runs the tests.
        self.main.services.connections.options = RemoteOptions(environment={}, config=NO_FILE)
        self.size = app.size
        self.told: list[str] = []
        self.left = self.saved = 0
        usual = app.notify

        def notify(message: str, **others: Any) -> None:
            self.told.append(message)
            usual(message, **others)

        def leave(*_: object, **__: object) -> None:
            self.left += 1

        app.notify = notify  # type: ignore[method-assign]
        app.exit = leave  # type: ignore[method-assign]

    async def rest(self) -> None:
        """Wait until what is shown is the definition, the prompts and the view as they are."""
        main = self.main

        def rests() -> bool:
            shown, results = main.state.evaluation, main.rows.results
            return (
                shown is not None
                and shown.topic == main.services.session.topic
                and shown.prompt_set == main.services.workspace.prompts.fingerprint
                and results is not None
                and results.evaluation is shown
                and results.view == self.pane.view
                and not any(at_work(worker) for worker in self.app.workers)
            )

        await self.pilot.pause()
        working = [one for one in self.app.workers if at_work(one)]
        assert await self.comes(rests), f"no rest: {self.pane.view}, {working}"
        await settling.settle()  # what was cancelled may still run in its thread
        await self.pilot.pause()

    async def reset(self) -> None:
        """As at the start: no dialog, no tour, the first definition, all prompts by their line."""
        app, main, pane = self.app, self.main, self.pane
        Unfinished.ends.set()
        while app.screen is not main:
            assert await self.comes(lambda: app.screen.is_mounted)
            app.pop_screen()
            await self.pilot.pause()
        for worker in list(app.workers):
            if worker.group in DIALOGS and not worker.is_finished:
                worker.cancel()
        main.services.connections.use(None)
        main.tour.close()
        if main.panes.editor.shows_difference:
            main.panes.editor.show_baseline(None)
        while main.services.workspace.undo_prompts():
            store = main.services.store
            store.publish(with_session(store.state, main.services.workspace))
        if main.services.session.pinned != 0:
            main.services.decisions.pin(0)
        main.services.editing.replace(self.start)
        main.panes.unzoom()
        if app.size != self.size:
            await self.pilot.resize_terminal(*self.size)
            await self.pilot.pause()
        pane.table.clear_marks()
        pane._input.value = ""
        pane._filter.hide()
        if pane.widths:
            pane.restore({})
        if pane.view != ALL:
            pane.view = ALL
            pane._request_view()
        await self.rest()
        Unfinished.ends.clear()
        self.told.clear()
        self.left = 0

    async def focus(self, selector: str) -> None:
        if selector == "#search":
            self.pane.action_search()
        self.main.query_one(selector).focus()
        await self.pilot.pause()
        if selector == "#table":
            await self.pilot.press("home")
        await self.pilot.pause()

    async def describe(self, text: str) -> None:
        field = self.main.query_one("#field-description", TextArea)
        field.load_text(text)
        await until(self.pilot, lambda: self.main.services.session.topic.description == text)
        await self.rest()

    async def comes(
        self, condition: Callable[[], bool], patience: float = settling.HANGS_AFTER
    ) -> bool:
        """Whether something holds at last."""
        try:
            await settling.until(condition, patience)
        except TimeoutError:
            return False
        return True


@contextmanager
def folders(folder: Path) -> Iterator[Path]:
    """The topic, with a cache, data and settings of its own; for fixtures of a whole module."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cache", "data"):
            patch.setenv(f"GUARDTUI_{name.upper()}", str(folder / name))
        patch.setenv("GUARDTUI_CONFIG", str(folder / "config.yaml"))
        freeze(patch)
        patch.setattr("guardtui.app.advice.refinement.Search", Unfinished)
        yield write_topic(folder)


async def on_stage(
    topic_path: Path, play: Callable[[Stage], Awaitable[None]], size: tuple[int, int] = (100, 30)
) -> None:
    app = make_app(topic_path)
    async with app.run_test(size=size) as pilot:
        await at_rest(pilot, main_screen(app))
        try:
            await play(Stage(pilot, app))
        finally:
            Unfinished.ends.set()
