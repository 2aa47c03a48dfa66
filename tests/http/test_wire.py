"""What goes over the wire, seen from the other end: in one piece, past a proxy or through it."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import httpx
import pytest

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.wire import proxy_for
from tests.http.server import Server, answer
from tests.http.times import JumpClock

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class _Pieces(asyncio.Protocol):
    """Answers as soon as a request is complete, and keeps what came at a time."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces, self._data = pieces, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if end and len(body) >= length:
            self._data = b""
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


async def test_headers_and_body_come_in_one_piece() -> None:
    pieces: list[bytes] = []
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: _Pieces(pieces), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RemoteClient(Endpoint.parse(f"http://127.0.0.1:{port}")) as remote:
            for number in range(3):
                await remote.request("POST", "/scan", json={"number": number})
            assert len(pieces) == 3
            assert [piece[-12:] for piece in pieces] == [b'{"number":%d}' % n for n in range(3)]
            assert all(piece.startswith(b"POST /scan HTTP/1.1\r\n") for piece in pieces)
            pieces.clear()
            await remote.request("POST", "/scan", json="x" * 1_000_000)
            assert sum(map(len, pieces)) > 1_000_000
            pieces.clear()
            await remote.request("POST", "/scan")
            await remote.request("GET", "/scan")
            assert b"content-length: 0\r\n" in pieces[0].lower()
            assert b"content-length" not in pieces[1].lower()


async def test_an_answer_before_the_request_was_read_is_heard() -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(refuses, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RemoteClient(Endpoint.parse(f"http://127.0.0.1:{port}")) as remote:
            with pytest.raises(ServiceError, match="HTTP 413") as caught:
                await remote.request("POST", "/", json="x" * 1_000_000)
    assert (caught.value.status, caught.value.kind) == (413, Kind.REQUEST)


async def test_headers_of_one_name_are_one_and_any_bytes_are_read() -> None:
    head = "HTTP/1.1 429 x\r\nretry-after: 3\r\nx: a\r\nX: \xe9\r\ncontent-length: 0\r\n\r\n"

    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode("latin-1"))
        writer.close()

    async with await asyncio.start_server(odd, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RemoteClient(Endpoint.parse(f"http://127.0.0.1:{port}")) as remote:
            with pytest.raises(ServiceError) as caught:
                await remote.request("GET", "/", retry=False)
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)


@pytest.mark.parametrize(
    ("variables", "host", "proxy"),
    [
        ({}, "service.example", None),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, "service.example", b"proxy.example"),
        ({"https_proxy": "proxy.example:3128"}, "service.example", b"proxy.example"),
        ({"ALL_PROXY": "http://all.example"}, "service.example", b"all.example"),
        ({"HTTP_PROXY": "http://proxy.example"}, "service.example", None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "*"}, "service.example", None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": ".example"}, "service.example", None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "other"}, "service.example", b"p.example"),
    ],
)
def test_the_proxy_of_the_environment(
    variables: dict[str, str], host: str, proxy: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    found = proxy_for(Endpoint.parse(f"https://{host}/v1"))
    assert (None if found is None else found.url.host) == proxy


@pytest.mark.parametrize("text", ["ftp://p.example", "http://p.example:port", "socks5://p.example"])
def test_a_proxy_that_cannot_be_used(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", text)
    with pytest.raises((ValueError, ImportError, httpx.InvalidURL)):
        proxy_for(Endpoint.parse("https://service.example"))


async def test_a_proxy_is_told_who_asks_and_not_what(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server(answer(status=407)) as proxy:
        host = proxy.url.removeprefix("http://")
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@{host}")
        async with RemoteClient(Endpoint.parse("https://service.example"), clock=JumpClock()) as it:
            with pytest.raises(ServiceError, match="cannot connect") as caught:
                await it.request("POST", "/", json="prompt", retry=False)
        (request,) = proxy.received
    expected = b64encode(b"me:hunter2").decode()
    assert request.headers["proxy-authorization"] == f"Basic {expected}"
    assert b"prompt" not in request.raw
    assert "hunter2" not in repr(caught.value)
    assert expected not in repr(caught.value)
