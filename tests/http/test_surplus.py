"""Bytes beyond a response: they are never the response to another request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.retries import ONCE, Retries
from tests.http.server import Answer, Received, Server, Step, answer
from tests.http.times import JumpClock

WRONG = answer({"n": -1})
SURPLUS = {
    "response": WRONG.encode(),
    "two responses": WRONG.encode() * 2,
    "refusal": answer({"message": "no"}, 403).encode(),
    "object": b"{}",
    "line": b"\r\n",
    "half": WRONG.encode()[:-3],
    "junk": b"\x00\xff" * 500,
}


def echo(surplus: bytes, when: str) -> Any:
    def script(request: Received) -> Step:
        return replace(answer(request.json), surplus=surplus, when=when)

    return script


def remote_of(server: Server, **options: Any) -> RemoteClient:
    return RemoteClient(
        Endpoint.parse(server.url), limit=AdaptiveLimit(3), clock=JumpClock(), **options
    )


@pytest.mark.parametrize("when", ["together", "apart", "late"])
@pytest.mark.parametrize("surplus", SURPLUS.values(), ids=SURPLUS)
@pytest.mark.parametrize("named", [False, True])
async def test_every_request_gets_its_own_response(surplus: bytes, when: str, named: bool) -> None:
    async with Server(echo(surplus, when)) as server, remote_of(server) as remote:

        async def ask(n: int) -> int:
            def names(data: object) -> bool:
                return isinstance(data, Mapping) and data.get("n") == n

            reply = await remote.request("POST", "/", json={"n": n}, names=names if named else None)
            return int(reply.data["n"])

        assert await asyncio.gather(*map(ask, range(20))) == list(range(20))


async def test_response_on_a_new_connection_before_the_request_is_not_its_response() -> None:
    async def talks_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WRONG.encode())
        await reader.read()
        writer.close()

    async with await asyncio.start_server(talks_first, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RemoteClient(Endpoint.parse(f"http://127.0.0.1:{port}")) as remote:
            with pytest.raises(ServiceError, match="data came before the request"):
                await remote.request("POST", "/", json={}, retry=ONCE)


async def test_calls_without_names_ask_the_service_to_close_the_connection() -> None:
    async with Server(WRONG) as server, remote_of(server) as remote:
        for _ in range(3):
            await remote.request("POST", "/", json={})
        assert server.connections == 3
        assert {one.headers["connection"] for one in server.received} == {"close"}


async def test_connection_is_kept_while_responses_name_their_requests() -> None:
    named = [True, True, True, False, True]

    async with Server(Answer()) as server, remote_of(server) as remote:
        for times, name in enumerate(named, start=1):
            await remote.request("GET", "/", names=lambda _, name=name, times=times: (
                name or len(server.received) > times
            ))  # fmt: skip
    # The fourth was sent again on a new connection.
    assert (len(server.received), server.connections) == (6, 2)


async def test_first_response_of_a_connection_need_not_name_its_request() -> None:
    async with Server(Answer()) as server:
        async with remote_of(server, retries=Retries(attempts=1)) as remote:
            for _ in range(3):
                assert (await remote.request("GET", "/", names=lambda _: False)).data == {}
        assert server.connections == 3
