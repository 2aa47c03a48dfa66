"""Draft near misses: one action fills the inbox, and says how many and of what."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from guardtui.app.labels.inbox import Inbox
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import drive, frame, topic_path, until

__all__ = ["topic_path"]


async def test_drafts_are_counted_beside_the_figures(topic_path: Path) -> None:
    before = topic_path.with_suffix(".csv").read_text()

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.perform("draft_near_misses")
        await until(pilot, lambda: " unlabelled" in frame(app))
        drafts = Inbox.of_workspace(main.services.workspace).own
        assert drafts
        assert all(prompt.draft for prompt in drafts)
        assert f"{len(drafts)} unlabelled" in frame(app)
        assert topic_path.with_suffix(".csv").read_text() == before

    await drive(topic_path, run)
