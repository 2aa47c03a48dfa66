"""A scripted HTTP/1.1 server on a loopback socket: good, bad and hostile answers on demand."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Received:
    """A request as it came; names of headers in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Raw: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Does what it likes with the connection, which is closed afterwards."""


@dataclass(frozen=True)
class Answer:
    """An answer in order; `delay` in seconds before it.

    `surplus` follows it on the connection, whatever the client asked for: in the same piece
    ("together"), in another one ("apart"), or when the next request has come ("late").
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    surplus: bytes = b""
    when: str = "together"

    def encode(self) -> bytes:
        headers = {
            "content-type": "application/json",
            "content-length": str(len(self.body)),
        } | dict(self.headers)
        lines = [f"HTTP/1.1 {self.status} Reason", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + self.body


Step: TypeAlias = Answer | Raw
Script: TypeAlias = Step | Iterable[Step] | Callable[[Received], Step]


def answer(data: Any = None, status: int = 200, delay: float = 0.0, **headers: str) -> Answer:
    """An answer of JSON; `retry_after="3"` becomes the header retry-after."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps({} if data is None else data).encode(), named, delay)


def sends(*parts: bytes, then_wait: bool = False) -> Raw:
    """These bytes as they are, then the end of the connection, or silence."""

    async def step(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if then_wait:
            await reader.read()

    return step


def repeats(part: bytes, start: bytes = b"", times: int | None = None, gap: float = 0.0) -> Raw:
    """The same bytes again and again, as fast as they are read, or with a gap of seconds."""

    async def step(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        sent = 0
        while times is None or sent < times:
            writer.write(part)
            await writer.drain()
            sent += 1
            if gap:
                await asyncio.sleep(gap)

    return step


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The connection is torn down with RST."""
    writer.transport.abort()


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Nothing, until the other side has enough."""
    await reader.read()


class Server:
    """Answers each request with the next step of its script, and with the last one from then on.

    The script may also be a function of the request. `received` has all requests, `most` the
    largest number that were under way at a time, `written` the bytes that left raw steps.
    """

    def __init__(self, script: Script = Answer(), tls: ssl.SSLContext | None = None) -> None:
        self._choose = self._chooser(script)
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._late: dict[asyncio.StreamWriter, bytes] = {}
        self.received: list[Received] = []
        self.connections = 0
        self.most = 0
        self.port = 0

    @staticmethod
    def _chooser(script: Script) -> Callable[[Received], Step]:
        if isinstance(script, Answer):
            return lambda request: script
        if callable(script):
            return script if _takes_a_request(script) else lambda request: script  # type: ignore
        steps: Iterator[Step] = iter(script)
        last = next(steps)
        first = True

        def choose(request: Received) -> Step:
            nonlocal last, first
            if not first:
                last = next(steps, last)
            first = False
            return last

        return choose

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            pass  # the server ends; a cancelled handler would be reported as an error
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read(reader)
        writer.write(self._late.pop(writer, b""))
        self.received.append(request)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            step = self._choose(request)
            if not isinstance(step, Answer):
                await step(reader, writer)
                return False
            if step.delay:
                await asyncio.sleep(step.delay)
        finally:
            self._under_way -= 1
        writer.write(step.encode() + (step.surplus if step.when == "together" else b""))
        await writer.drain()
        if step.when == "apart":
            writer.write(step.surplus)
        elif step.when == "late":
            self._late[writer] = step.surplus
        return True


def _takes_a_request(script: Callable[..., Any]) -> bool:
    return len(inspect.signature(script).parameters) == 1


async def _read(reader: asyncio.StreamReader) -> Received:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, target, _ = first.split(" ")
    return Received(method, target, headers, body, head + body)
