"""Resizes that reach a screen faster than it is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.command import CommandPalette
from textual.geometry import Size
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from tests.tui import settling
from tests.tui.tax_app import drive, topic_path, until

__all__ = ["topic_path"]

FIRST, LAST = Size(80, 24), Size(100, 30)


MANY = 30
"""Resizes that no screen handles unless they post each other for ever."""


async def handle_resizes(pilot: Pilot[int], screen: Screen[object]) -> list[Size]:
    """Let two different resizes wait, twice, and return all that the screen then handled."""
    handled: list[Size] = []

    def count(message: Message) -> None:
        if isinstance(message, events.Resize):
            handled.append(message.size)
            if len(handled) > MANY:
                screen.disable_messages(events.Resize)  # or the test could not end

    screen.message_signal.subscribe(screen.app, count, immediate=True)
    for size in (FIRST, LAST) * 2:
        screen.post_message(events.Resize(size, size))
        screen.call_later(lambda: None)  # of resizes side by side only the last is handled
    await until(pilot, lambda: len(handled) >= 4)
    await settling.settle()
    return handled


@pytest.mark.parametrize("in_front", [None, ConfirmDialog, CommandPalette])
async def test_two_waiting_resizes_end_at_the_size_of_the_app(
    topic_path: Path, in_front: type[Screen[object]] | None
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        if in_front is not None:
            dialog = (
                ConfirmDialog("Sure?", "Yes", "No") if in_front is ConfirmDialog else in_front()
            )
            app.push_screen(dialog)
            await until(pilot, lambda: dialog.is_mounted)
        await pilot.resize_terminal(*LAST)
        for screen in app.screen_stack:
            assert len(await handle_resizes(pilot, screen)) <= MANY
        await pilot.pause()
        assert {screen.size for screen in app.screen_stack} == {LAST}

    await drive(topic_path, run)
