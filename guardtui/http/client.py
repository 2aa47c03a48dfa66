"""The client of all remote services: JSON in and out, bounded in time, size and retries."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlencode

import httpx

import guardtui
from guardtui.http.address import Endpoint
from guardtui.http.answers import (
    AnswerTooLargeError,
    json_body,
    plain_body,
    read_failure,
    read_success,
)
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit, PauseTooLongError, Permit
from guardtui.http.retries import Retries
from guardtui.http.secret import Credential, Secret, bearer
from guardtui.http.trace import trace

LARGEST = 16 * 1024**2
"""Responses of more bytes than this are rejected."""
_CONNECT = 15.0
"""Connection timeout in seconds."""
_SILENCE = 0.001
"""Seconds in which a new connection must be silent."""
_ONE_CONNECTION = httpx.Limits(max_connections=1, keepalive_expiry=30.0)
_FIRST_CONTACT = 3
"""Attempts to reach a service never reached before: probably a wrong URL, not a fault."""
Names = Callable[[Any], bool]
"""True if the JSON of a response names its request."""
_OWN_HEADERS = {
    "accept": "application/json",
    # Uncompressed content cannot expand unexpectedly, and responses are small.
    "accept-encoding": "identity",
    "user-agent": f"guardtui/{guardtui.__version__}",
}

logging.getLogger("httpx").setLevel(logging.WARNING)  # its messages contain the queries of URLs


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx response: its JSON (None if empty), seconds of the last attempt, and attempts."""

    data: Any
    status: int
    seconds: float
    attempts: int


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    url: str
    content: bytes | None
    headers: dict[str, str]
    secrets: tuple[Secret, ...]
    names: Names | None


class RemoteClient:
    """Client of one service. Close it (`async with`) when done; belongs to one event loop.

    Nothing is sent elsewhere: redirects are not followed, cookies not stored, netrc not read.
    Certificates are always verified. Proxies and certificate files of the environment
    (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`, `SSL_CERT_DIR`) are used for https only, where a
    proxy sees no more than the host name. Over http a proxy would receive the key. This machine is
    never reached through a proxy.

    A connection serves one call, because HTTP/1.1 does not say which request a response is for: on
    a connection that is used again, bytes beyond a response would be read as the next one. Only
    calls whose responses name their request (`names`) share connections.

    `timeout` is for one attempt, in seconds, from its permit until the last byte. `draw` provides
    the random numbers of the waits.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        credential: Credential | None = None,
        limit: AdaptiveLimit | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
        largest: int = LARGEST,
        clock: Clock = CLOCK,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self.limit = AdaptiveLimit(clock=clock) if limit is None else limit
        self._credential, self._retries = credential, retries or Retries()
        self._timeout, self._largest = timeout, largest
        self._clock, self._draw = clock, draw
        self._proxies = endpoint.scheme == "https" and not endpoint.loopback
        self._tls: ssl.SSLContext | None = None
        self._preparing = asyncio.Lock()
        self._idle: list[httpx.AsyncClient] = []
        self._busy: set[httpx.AsyncClient] = set()
        self._reached = False
        self._closed = False
        self.date = ""
        """The header Date of the latest response of any status."""

    async def request(
        self,
        method: str,
        path: str = "",
        *,
        json: Any = None,
        content: bytes | None = None,
        form: Mapping[str, str | Secret] | None = None,
        params: Mapping[str, str] | None = None,
        credential: Credential | None = None,
        headers: Mapping[str, str] | None = None,
        retry: Retries | None = None,
        names: Names | None = None,
    ) -> Reply:
        """Send a JSON value (or a form) to a path below the base URL and return the response.

        `content` is JSON that is already encoded (`json_body`) and is sent unchanged, for callers
        that sign it; names of `headers` are in lower case. `credential` and `retry` replace the
        client's own (`retries.UNSENT` repeats only a request that certainly had no effect). A
        service that was never reached gets at most three attempts.

        `names` tells from the JSON of a response whether it names this request. While responses
        do, their connection is used again; any other response on it counts as a broken connection,
        and the retry gets a new one.

        Raises ServiceError for every failure of the service or the connection, and ValueError for
        content that cannot be sent.
        """
        url = self.endpoint.join(path)
        if params:
            url += ("&" if "?" in url else "?") + urlencode(params)
        sent = {**_OWN_HEADERS, "content-type": "application/json", **(headers or {})}
        if names is None:
            sent["connection"] = "close"
        secrets: list[Secret] = []
        if form is not None:
            secrets += [value for value in form.values() if isinstance(value, Secret)]
            content = urlencode({name: _plain(value) for name, value in form.items()}).encode()
            sent["content-type"] = "application/x-www-form-urlencoded"
        elif json is not None:
            content = json_body(json)
        if content is None:
            del sent["content-type"]
        if (credential := credential or self._credential) is not None:
            name, value = credential.reveal()
            sent[name.lower()] = value
            secrets.append(credential.secret)
        call = _Call(method, url, content, sent, tuple(secrets), names)
        if self._tls is None:
            await self._prepare()
        policy = retry or self._retries
        start, attempt = math.inf, 0
        while True:
            ready = await self._permit(policy.total - max(0, self._clock.now() - start))
            if isinstance(ready, ServiceError):
                ready.attempts = attempt
                raise ready
            attempt += 1
            if attempt == 1:
                start = self._clock.now()
            else:
                self.limit.totals.retried += 1
            outcome = await self._attempt(call, ready, attempt)
            if isinstance(outcome, Reply):
                return outcome
            wait = policy.wait(outcome, attempt, self._draw)
            if not self._reached and attempt >= _FIRST_CONTACT:
                wait = None
            if wait is None or self._clock.now() - start + wait > policy.total:
                # Made by `_attempt` and raised here, outside of any `except`: exceptions of httpx
                # hold the request with its headers, and must not become the context of this one.
                raise outcome
            if outcome.retry_after is None or wait != outcome.retry_after:
                await self._clock.sleep(wait)

    async def aclose(self) -> None:
        """Close all connections; pending calls fail."""
        self._closed = True
        connections = [*self._idle, *self._busy]
        self._idle.clear()
        for connection in connections:
            await connection.aclose()

    async def __aenter__(self) -> RemoteClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"RemoteClient({self.endpoint})"

    async def _prepare(self) -> None:
        """Load the certificates and the proxy of the environment. Raises ServiceError."""
        async with self._preparing:
            if self._tls is not None:
                return
            try:
                if self.endpoint.scheme == "http":
                    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # empty, and cheap to create
                else:
                    tls = await asyncio.to_thread(httpx.create_ssl_context)
                problem = (
                    "a proxy of the environment cannot be used: check HTTPS_PROXY, ALL_PROXY, "
                    "NO_PROXY"
                )
                await self._connection(tls).aclose()
            except OSError:
                problem = "the certificates cannot be loaded: check SSL_CERT_FILE, SSL_CERT_DIR"
            except (ValueError, ImportError, httpx.InvalidURL):
                pass  # their texts may contain the proxy's password
            else:
                self._tls = tls
                return
        raise ServiceError(ErrorKind.UNREACHABLE, problem, final=True, attempts=0)

    async def _permit(self, patience: float) -> Permit | ServiceError:
        try:
            return await self.limit.acquire(max(0.0, patience))
        except PauseTooLongError as pause:
            seconds = pause.seconds
        return ServiceError(
            ErrorKind.LIMITED,
            f"the service requested a pause of {seconds:.0f} s, longer than a call may take",
            status=429, retry_after=seconds,
        )  # fmt: skip

    async def _attempt(self, call: _Call, permit: Permit, attempt: int) -> Reply | ServiceError:
        with permit:
            start = self._clock.now()
            outcome = await self._exchange(call, first=attempt == 1)
            if isinstance(outcome, ServiceError):
                result = str(outcome.status or outcome.kind.value)
            else:
                result = str(outcome[0])
            trace(call.method, call.url, result, self._clock.now() - start, attempt)
            if isinstance(outcome, ServiceError):
                outcome.attempts = attempt
                self._reached = self._reached or outcome.kind is not ErrorKind.UNREACHABLE
                if outcome.kind is ErrorKind.LIMITED:
                    permit.refused(outcome.retry_after)
                elif outcome.retry_after:
                    self.limit.pause(outcome.retry_after)
                return outcome
            permit.accepted()
            self._reached = True
            status, data = outcome
            return Reply(data, status, self._clock.now() - start, attempt)

    async def _exchange(self, call: _Call, first: bool) -> tuple[int, Any] | ServiceError:
        """Return status and JSON of a 2xx response, or any failure as an error, not raised."""
        connection, used = self._take(first and call.names is not None)
        reusable, hook = False, _ConnectionHook()
        try:
            request = httpx.Request(
                call.method,
                call.url,
                headers=call.headers,
                content=call.content,
                extensions={} if used else {"trace": hook},
            )
            async with asyncio.timeout(self._timeout):
                response = await connection.send(request, stream=True)
                try:
                    body = await _body(response, self._largest)
                finally:
                    await response.aclose()
            status, headers = response.status_code, response.headers
            self.date = headers.get("date", "")
            body = plain_body(body, headers.get("content-encoding", ""), self._largest)
            if 200 <= status < 300:
                data = read_success(status, body, headers.get("content-type", ""))
                reusable = call.names is not None and call.names(data)
            else:
                data = read_failure(status, body, headers, self._clock.wall(), call.secrets)
            settled = not isinstance(data, ServiceError) or data.final
            if used and settled and not reusable:
                return ServiceError(
                    ErrorKind.BROKEN,
                    f"an answer of {self.endpoint.authority} does not belong to this request",
                )
            return data if isinstance(data, ServiceError) else (status, data)
        except AnswerTooLargeError:
            megabytes = self._largest / 1024**2
            return ServiceError(
                ErrorKind.SIZE, f"the answer is larger than {megabytes:.3g} MiB", final=True
            )
        except Exception as error:  # noqa: BLE001 - httpx lets errors of other layers through
            # Our own message, without any part of the request.
            proxy = hook.proxy_for(call.url)
            kind, message, final = _explained(error, self.endpoint.authority, proxy, self._timeout)
            return ServiceError(kind, message, final=final, secrets=call.secrets)
        finally:
            await self._give_back(connection, reusable)

    def _connection(self, tls: ssl.SSLContext) -> httpx.AsyncClient:
        """Create a client with one connection, opened on first use.

        A pool scans all its connections for each request, which costs more than the request itself
        at 32 of them. Raises ValueError, ImportError or httpx.InvalidURL for an unusable proxy of
        the environment.
        """
        return httpx.AsyncClient(
            verify=tls,
            trust_env=self._proxies,
            limits=_ONE_CONNECTION,
            timeout=httpx.Timeout(None, connect=_CONNECT, pool=_CONNECT),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    def _take(self, reuse: bool) -> tuple[httpx.AsyncClient, bool]:
        """Return a connection, and whether it was used before."""
        if self._closed or self._tls is None:
            raise RuntimeError("the client is closed")
        used = reuse and bool(self._idle)
        connection = self._idle.pop() if used else self._connection(self._tls)
        self._busy.add(connection)
        return connection, used

    async def _give_back(self, connection: httpx.AsyncClient, reusable: bool) -> None:
        """Keep a connection for the next call that may use it again, or close it."""
        self._busy.discard(connection)
        if reusable and not self._closed:
            self._idle.append(connection)
        else:
            await connection.aclose()


def model_client(
    url: str,
    path: str,
    key: Secret | None = None,
    *,
    limit: AdaptiveLimit | None = None,
    retries: Retries | None = None,
    timeout: float = 120.0,
    allow_http: bool = False,
    clock: Clock = CLOCK,
) -> RemoteClient:
    """Return the client of a model at a URL such as https://host/v1, to be closed.

    Requests go to `path` below it, which the URL may include. Raises AddressError for a URL that is
    not allowed.
    """
    endpoint = Endpoint.parse(url, allow_http=allow_http)
    return RemoteClient(
        replace(endpoint, path=endpoint.path.removesuffix(path)),
        credential=None if key is None else bearer(key),
        limit=limit,
        retries=retries,
        timeout=timeout,
        clock=clock,
    )


class _ConnectionHook:
    """Trace extension of httpcore for a new connection: rejects data that precedes the request."""

    def __init__(self) -> None:
        self._address: tuple[str, int] | None = None
        self._stream: Any = None

    def proxy_for(self, url: str) -> str:
        """Return host and port of the proxy to which it connected for this URL, or ""."""
        if self._address is None or self._address[0] == httpx.URL(url).raw_host.decode("ascii"):
            return ""
        return f"{self._address[0]}:{self._address[1]}"

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.started":
            self._address = info["host"], info["port"]
        elif event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]
        elif event == "http11.send_request_headers.started" and self._stream is not None:
            early = b""
            with contextlib.suppress(Exception):  # a timeout is silence; the request fails if not
                early = await self._stream.read(1, timeout=_SILENCE)
            if early:
                raise ConnectionError("data came before the request")


async def _body(response: httpx.Response, largest: int) -> bytes:
    """Read a body as received, still encoded. Raises AnswerTooLargeError over `largest` bytes."""
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > largest:
        raise AnswerTooLargeError
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > largest:
            raise AnswerTooLargeError
    return bytes(body)


def _plain(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _explained(
    error: Exception, authority: str, proxy: str, timeout: float
) -> tuple[ErrorKind, str, bool]:
    """Return kind, message, and whether a retry is pointless."""
    reason = _INTERNALS.sub("", str(error))
    route = f"{authority} through the proxy {proxy}" if proxy else authority
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return ErrorKind.UNREACHABLE, f"no connection to {route} within {_CONNECT:g} s", False
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return ErrorKind.TIMEOUT, f"no complete answer from {route} within {timeout:g} s", False
    if "certificate verify failed" in reason:
        problem = reason.partition("verify failed: ")[2].rstrip(".")
        message = f"{authority} has no valid certificate: {problem}"
        if "issuer" in problem or "self-signed" in problem:
            message += "; name the file of your own authority in SSL_CERT_FILE"
        return ErrorKind.UNREACHABLE, message, True
    if "wrong version number" in reason:
        message = f"{route} does not speak https: is it an http:// address?"
        return ErrorKind.UNREACHABLE, message, True
    if isinstance(error, httpx.RemoteProtocolError) and "location header" in reason:
        return ErrorKind.REDIRECT, f"{authority} redirects to an address that is not a URL", True
    if isinstance(error, httpx.RemoteProtocolError) and "illegal status line" in reason:
        return ErrorKind.BROKEN, f"{route} does not answer in HTTP: check the address", False
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        message = f"cannot connect to {route}: {reason or 'it closed the connection'}"
        if reason.startswith("407"):
            message += "; write the proxy as http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY"
        final = isinstance(error, httpx.ProxyError) and not reason.startswith("5")
        return ErrorKind.UNREACHABLE, message, final
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return ErrorKind.REQUEST, f"this cannot be sent to {authority}: {reason}", True
    if isinstance(error, ValueError):
        return ErrorKind.CONTENT, f"the answer cannot be used: {reason}", True
    message = f"the connection to {route} broke: {reason or 'it was closed or reset'}"
    return ErrorKind.BROKEN, message, False


_INTERNALS = re.compile(r"^\[[^\]]*\] | \(_ssl\.c:\d+\)$")
"""Codes around the text of an error of the operating system or of OpenSSL."""
