"""Drive the app against a sandbox on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.scan.dialogs import ScanDialog
from tests.tui.tax_app import frame, ready, until


@pytest.fixture(scope="module")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks often, and nothing that happens by itself."""
    monkeypatch.setattr("guardtui.tui.main.screen.POLL_EVERY", 0.05)
    monkeypatch.setattr("guardtui.tui.results.feature.EXPLAIN_AFTER", 0)
    monkeypatch.setattr("guardtui.app.scan.run.SHOW_EVERY", 0.0)
    monkeypatch.setattr("guardtui.tui.main.workspace.DRAFT_EVERY", 10_000)
    monkeypatch.setattr("guardtui.tui.main.workspace.WATCH_EVERY", 10_000)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


class Play:
    """One run of the app: keys in, and what it shows and tells."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main
        self.told: list[str] = []
        self.frames: list[str] = []
        self.recording = False
        usual = app.notify

        def notify(message: str, **others: Any) -> None:
            self.told.append(message)
            usual(message, **others)

        app.notify = notify  # type: ignore[method-assign]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], bool]) -> None:
        def looked() -> bool:
            shown = frame(self.app) if self.recording else ""
            if shown and (not self.frames or shown != self.frames[-1]):
                self.frames.append(shown)
            return condition()

        await until(self.pilot, looked)

    async def dialog(self, kind: type[Screen[Any]] = ScanDialog) -> None:
        """Wait for a dialog."""
        await self.until(lambda: isinstance(self.app.screen, kind) and self.app.screen.is_mounted)
        await self.pilot.pause()

    async def ended(self) -> None:
        """Wait until no scan is under way, and what is shown is the definition as it is."""
        main = self.main
        await self.until(
            lambda: (
                not main.services.scans.under_way
                and main.state.evaluation is not None
                and main.state.evaluation.topic == main.services.session.topic
                and not any(
                    worker.group in ("scan", "preview", "so-far", "restore", "decide")
                    and not worker.is_finished
                    for worker in self.app.workers
                )
            )
        )
        await self.pilot.pause()

    async def scan(self, *keys: str) -> None:
        """Scan, with this answer to the dialog, to the end."""
        await self.press("ctrl+r")
        if keys:
            await self.dialog()
            await self.press(*keys)
        await self.ended()

    async def describe(self, text: str) -> None:
        self.main.services.editing.replace(
            self.main.services.session.topic.model_copy(update={"description": text})
        )
        await self.ended()

    @property
    def frame(self) -> str:
        return frame(self.app)

    @property
    def line(self) -> str:
        """What the line of the scan tells."""
        pane = self.main.panes.scan
        return str(pane.render()) if pane.has_class("active") else ""

    @property
    def shown(self) -> str:
        """Which scanner's verdicts are on the screen."""
        return (
            "" if self.main.state.evaluation is None else self.main.state.evaluation.settings.kind
        )

    @property
    def scans(self) -> list[Iteration]:
        """The recorded iterations of AIRS."""
        recorded = self.main.services.session.iterations
        return [one for one in recorded if one.evaluation.settings.kind == "airs"]


@asynccontextmanager
async def playing(
    topic_path: Path, options: RemoteOptions, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Play]:
    """The app, opened anew on a topic."""
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), remote=options)
    async with app.run_test(size=size) as pilot:
        yield Play(pilot, app, await ready(pilot, app))
