"""Connections to `guardtui serve` that have not shown the token: few, and not for long."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from guardtui.cli.diagnostics import warn

if TYPE_CHECKING:
    from aiohttp.web import Server

MOST = 64
"""Connections without the token at a time; a browser opens six for the files of a page."""

PATIENCE = 15.0
"""Seconds until one is closed, whatever it does: enough for the files of a page by a tunnel."""

_PAUSE = 0.1
"""Seconds until the next attempt, if a connection cannot be accepted."""


class Visitors:
    """Every account of the machine can connect; none may keep the author out by many connections.

    A new connection closes the oldest one, and is accepted only after those before it were read,
    so that the author's is answered however many others come.
    """

    def __init__(self) -> None:
        self._open: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._warned = False

    async def accept(self, listener: socket.socket, server: Server) -> None:
        """Accept connections for ever."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
                transport, _ = await loop.connect_accepted_socket(server, connection)
            except OSError:  # too many open files; or it has gone again
                self._leave_open(len(self._open) // 2)
                await asyncio.sleep(_PAUSE)
                continue
            self._leave_open(MOST - 1)
            self._open[transport] = loop.call_later(PATIENCE, self._close, transport)

    def admit(self, transport: asyncio.Transport | None) -> None:
        """Let a connection that has shown the token stay."""
        timer = self._open.pop(transport, None) if transport is not None else None
        if timer is not None:
            timer.cancel()

    def _leave_open(self, count: int) -> None:
        """Close the oldest connections until at most so many are open."""
        for transport in [transport for transport in self._open if transport.is_closing()]:
            self.admit(transport)
        excess = list(self._open)[: max(0, len(self._open) - count)]
        if excess and not self._warned:
            self._warned = True
            warn(
                "a program on this machine opens many connections without the token; "
                "the oldest are closed"
            )
        for transport in excess:
            self._close(transport)

    def _close(self, transport: asyncio.Transport) -> None:
        self.admit(transport)
        transport.abort()  # one that reads nothing would not end by closing
