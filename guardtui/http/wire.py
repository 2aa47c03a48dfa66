"""Requests on the wire: one connection at a time over httpcore, each request in one piece."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterable, Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from guardtui.http.address import Endpoint
from guardtui.http.answers import TooLarge

KEEP_ALIVE = 30.0
"""Seconds after which a connection that was not used is not used again."""
_HELD = 64 * 1024
"""Bytes from which on they are sent without waiting for more."""
_WITH_BODY = ("POST", "PUT", "PATCH")


class Connection:
    """At most one connection to one service at a time; opened when it is needed.

    Raises what httpcore raises. Nothing is followed, kept or added but what HTTP/1.1 needs.
    """

    def __init__(self, tls: ssl.SSLContext, proxy: httpcore.Proxy | None = None) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            proxy=proxy,
            max_connections=1,
            keepalive_expiry=KEEP_ALIVE,
            network_backend=_Backend(),
        )

    async def exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        connect: float,
        largest: int,
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (names in lower case) and body of the answer to one request.

        `connect` is seconds for a connection, `largest` bytes of an answer: raises TooLarge beyond.
        """
        host, target = _target(url)
        lines = [(b"host", host)]
        lines += [(name.encode("ascii"), text.encode("ascii")) for name, text in headers.items()]
        if content is not None or method in _WITH_BODY:
            lines.append((b"content-length", b"%d" % len(content or b"")))
        request = httpcore.Request(
            method,
            target,
            headers=lines,
            content=content,
            extensions={"timeout": {"connect": connect, "pool": connect}},
        )
        response = await self._pool.handle_async_request(request)
        try:
            told = _joined(response.headers)
            announced = told.get("content-length", "")
            if announced.isdecimal() and int(announced[:20]) > largest:
                raise TooLarge
            body = bytearray()
            stream = response.stream
            if not isinstance(stream, AsyncIterable):  # never: the pool is one of coroutines
                raise TypeError("no asynchronous answer")
            async for part in stream:
                body += part
                if len(body) > largest:
                    raise TooLarge
        finally:
            await response.aclose()
        return response.status, told, bytes(body)

    async def aclose(self) -> None:
        """Close it; what is under way fails."""
        await self._pool.aclose()


def proxy_for(endpoint: Endpoint) -> httpcore.Proxy | None:
    """The proxy that the environment has for a service (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`).

    Raises ValueError, ImportError or httpx.InvalidURL when there is one that cannot be used.
    """
    named = getproxies()
    address = named.get(endpoint.scheme) or named.get("all")
    if not address or proxy_bypass(endpoint.authority):
        return None
    proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise ImportError("socksio is not installed")
    return httpcore.Proxy(
        _target(str(proxy.url))[1], auth=proxy.raw_auth, headers=proxy.headers.raw
    )


@lru_cache(maxsize=64)
def _target(url: str) -> tuple[bytes, httpcore.URL]:
    """The header Host, and the URL in the parts that go on the wire."""
    parsed = httpx.URL(url)
    parts = httpcore.URL(
        scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path
    )
    return parsed.netloc, parts


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers of one name as one, as HTTP has it (RFC 9110, 5.3)."""
    told: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), _decoded(value)
        told[key] = f"{told[key]}, {text}" if key in told else text
    return told


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class _Backend(httpcore.AnyIOBackend):
    """Connections that send what belongs together in one piece."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Gathered(
            await super().connect_tcp(host, port, timeout, local_address, socket_options)
        )


class _Gathered(httpcore.AsyncNetworkStream):
    """What is written waits until an answer is read: headers and body are then one packet.

    httpcore writes them one by one, which costs a system call and wakes the service twice.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._held = bytearray()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._held += buffer
        if len(self._held) >= _HELD:
            await self._flush(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            # The service may have answered before it ended: reading tells, as in httpcore.
            with contextlib.suppress(httpcore.WriteError):
                await self._flush(timeout)
        return await self._stream.read(max_bytes, timeout)

    async def _flush(self, timeout: float | None) -> None:
        held = bytes(self._held)
        self._held.clear()
        await self._stream.write(held, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Gathered(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
