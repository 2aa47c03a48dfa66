"""Keys one at a time: each goes where the one before it has moved the focus."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from textual.app import App
from textual.events import Key, Paste
from textual.message_pump import MessagePump
from textual.widget import Widget

from guardtui.tui.textual_compat import is_stopped

PATIENCE = 2.0
"""Seconds for which a key waits for the one before it, which some widget may never handle."""

Typed: TypeAlias = Key | Paste


class KeysInTurn:
    """Forwards what is typed, each key only after the one before it has been handled.

    Textual forwards every key at once to the widget that has the focus then. A key handled there
    moves the focus, or opens a dialog, only after it has gone up to the app, so that the keys that
    were typed behind it would reach the widget before.
    """

    def __init__(
        self,
        app: App[Any],
        forward: Callable[[Typed], Awaitable[None]],
        must_wait: Callable[[Typed], bool],
    ) -> None:
        """A key for which `must_wait` is true waits, with all behind it, until `release`."""
        self._app, self._forward, self._must_wait = app, forward, must_wait
        self._waiting: deque[Typed] = deque()
        self._turn = 0
        self._deadline: asyncio.TimerHandle | None = None
        """Set while a key is being handled."""

    async def take(self, event: Typed) -> None:
        """Forward a key now, or after those before it."""
        self._waiting.append(event)
        if self._deadline is None:
            await self._next()

    async def release(self) -> None:
        """Forward keys that had to wait, as far as they need not any more."""
        if self._deadline is None:
            await self._next()

    async def _next(self) -> None:
        if not self._waiting:
            return
        self._turn += 1
        end = partial(self._app.call_later, self._end, self._turn)
        self._deadline = asyncio.get_running_loop().call_later(PATIENCE, end)
        screen = self._app.screen
        if not screen.is_mounted:  # it has no focus yet
            self._follow(iter([screen]), self._turn)
            return
        if self._must_wait(self._waiting[0]):
            self._deadline.cancel()
            self._deadline = None
            return
        event, target = self._waiting.popleft(), self._app.focused or screen
        await self._forward(event)
        if not target.call_later(self._handled, event, target, self._turn):
            self._handled(event, target, self._turn)

    def _handled(self, event: Typed, target: Widget, turn: int) -> None:
        """Go behind a key that its target has not stopped, then behind the messages it caused."""
        up = [] if is_stopped(event) else [*target.ancestors, *target.ancestors_with_self]
        self._follow(iter(up), turn)

    def _follow(self, way: Iterator[MessagePump], turn: int) -> None:
        """Go through the queues of the way, each time behind what is in it, and end the turn."""
        for pump in way:
            if pump.call_later(self._follow, way, turn):
                return
        self._app.call_later(self._end, turn)

    async def _end(self, turn: int) -> None:
        if turn == self._turn and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            await self._next()
