"""The server: routes requests to the APIs, and applies faults to responses."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import math
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from guardtui.sandbox import fault_payloads, routes
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.control import PREFIX, Control
from guardtui.sandbox.decisions import DecisionAnswers
from guardtui.sandbox.faults import DrawnFault
from guardtui.sandbox.judging import PolicyJudge, TopicMatcher
from guardtui.sandbox.limits import RollingLimit
from guardtui.sandbox.management import ManagementEndpoints
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest, error_reply
from guardtui.sandbox.scan import ScanEndpoints
from guardtui.sandbox.settings import SandboxSettings
from guardtui.sandbox.state_file import StateFile
from guardtui.sandbox.stats import prompt_key
from guardtui.sandbox.tenant import Tenant
from guardtui.sandbox.tokens import IssuedTokens, require_scan_key

HOST = "127.0.0.1"
SYNC_BYTES = 2 * 1024**2
OTHER_BYTES = 5 * 1024**2
"""Maximum bytes of the body of a sync scan, and of any other request."""

_NEVER = 3600.0
"""Seconds after which an unanswered request is dropped."""
_CLOSING = 1.0
_ANSWERING = ("sync", "async", *routes.DECISIONS)
"""Endpoints that judge texts."""
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")

Defect = Callable[[BaseException], None]


class Sandbox:
    """A server with its tenant; runs from `start` to `stop`.

    Raises `FileError` for an invalid state file, and `ScannerError` for the engine.
    """

    def __init__(
        self,
        settings: SandboxSettings | None = None,
        *,
        state: Path | None = None,
        engine: TopicMatcher | None = None,
        clock: SandboxClock | None = None,
        defect: Defect = lambda _error: None,
    ) -> None:
        self.clock = clock or SandboxClock()
        self.control = Control(settings or SandboxSettings(), self.clock)
        self._engine = engine or TopicMatcher()
        self._state = StateFile(state)
        try:
            self.tenant = Tenant(self.clock, self._state.load())
            self._state.save(self.tenant.data)
        except BaseException:
            self._state.close()
            raise
        self._tokens = IssuedTokens(self.clock)
        judge = PolicyJudge(self._engine, lambda name, number: self.tenant.topic(name).at(number))
        self._management = ManagementEndpoints(
            self.tenant, self._state, self._tokens, lambda: self.control.settings
        )
        self._scans = ScanEndpoints(
            self.tenant,
            judge,
            self.clock,
            self.control.stats,
            lambda: self.control.settings,
            lambda: self.control.plan,
        )
        self._decisions = DecisionAnswers(
            self._engine,
            self.control.stats,
            lambda: self.control.settings,
            lambda: self.control.plan,
        )
        self._scan_handlers = {
            "sync": self._scans.sync,
            "async": self._scans.batch,
            "results": self._scans.results,
            "reports": self._scans.reports,
        }
        self._limits = {
            "scan": RollingLimit(1.0),
            "results": RollingLimit(60.0),
            "reports": RollingLimit(60.0),
        }
        self._scanning = 0
        self._random = random.Random(self.control.settings.seed)
        self._defect = defect
        self._only_local = True
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str = HOST, port: int = 0) -> int:
        """Listen, and return the port; 0 chooses a free port. Raises `OSError`."""
        self._only_local = host in _LOCAL_NAMES
        # Faults make clients disconnect: that is not worth a log entry.
        logger = logging.getLogger("guardtui.sandbox")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        server = web.Server(self._answer, access_log=None, logger=logger, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=_CLOSING)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, backlog=1024).start()
        address: tuple[Any, ...] = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Close all connections and release the state file."""
        if self._runner is not None:
            await self._runner.cleanup()
        self._state.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request."""
        path = request.path
        if self._only_local and not _is_own(request):
            return _json(
                SandboxReply({"error": {"message": "only for pages of this machine"}}, 403)
            )
        if path.startswith(PREFIX):
            return await self._controlled(request, path.removeprefix(PREFIX))
        group = routes.api_of(path.removeprefix("/aisec"))
        stats, endpoint = self.control.stats, "other"
        stats.begin_request()
        outcome = "gone"
        try:
            endpoint, parameters = routes.find(request.method, path)
            answer, outcome = await self._process(request, endpoint, parameters, group)
        except RefusedError as refused:
            answer, outcome = _json(error_reply(group, refused)), str(refused.status)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - a defect is reported, and the server continues
            self._defect(error)
            answer, outcome = _json(error_reply(group, RefusedError(500))), "500"
        finally:
            stats.end_request()
            stats.count_outcome(endpoint, outcome)
        return answer

    async def _process(
        self, request: web.BaseRequest, endpoint: str, parameters: dict[str, str], group: str
    ) -> tuple[web.StreamResponse, str]:
        since = asyncio.get_running_loop().time()
        parsed = await self._parsed(request, endpoint, parameters)
        plan = self.control.plan
        key = b"".join(prompt_key("", text) for text in self._texts(parsed))
        slow = plan.draw("slow", endpoint, key) is not None
        drawn = plan.draw("wire", endpoint, key)
        scanning = endpoint in _ANSWERING
        self._scanning += scanning
        try:
            reply = self._over_limit(endpoint)
            if reply is None and (drawn is None or drawn.fault.needs_work):
                reply = await self._work(parsed, group)
            elif reply is None and drawn is not None and drawn.fault.is_status:
                reply = self._status(group, drawn)
            await self._delay(slow, since)
        finally:
            self._scanning -= scanning
        if drawn is not None and drawn.fault.after_work and drawn.fault.is_status:
            reply = self._status(group, drawn)
        if drawn is not None and (reply is None or not drawn.fault.is_status):
            return await self._spoilt_response(request, drawn.fault.kind, reply)
        if reply is None:
            raise RuntimeError("a request without a reply")
        for prompt in reply.prompts:
            self.control.stats.count_delivered(prompt)
        return _json(reply), str(reply.status)

    async def _work(self, request: SandboxRequest, group: str) -> SandboxReply:
        """Return the reply of the API."""
        if not self._engine.fast:
            for text in self._texts(request):
                await asyncio.to_thread(self._engine.text, text)
        try:
            if group == "decision":
                return self._decisions.answer(request)
            if group == "scan":
                return self._scan_handlers[request.endpoint](request)
            if group == "token":
                return self._tokens.issue(request)
            return self._management.answer(request)
        except RefusedError as refused:
            return error_reply(group, refused)

    def _texts(self, request: SandboxRequest) -> list[str]:
        """Return the texts that a request asks about."""
        if request.endpoint in routes.DECISIONS:
            return list(self._decisions.texts(request.content))
        return list(self._scans.texts(request.content)) if request.endpoint in _ANSWERING else []

    async def _parsed(
        self, request: web.BaseRequest, endpoint: str, parameters: dict[str, str]
    ) -> SandboxRequest:
        """Parse a request. Raises `RefusedError` for an invalid credential or body."""
        query = request.query if request.query_string else {}
        parsed = SandboxRequest(endpoint, query, request.headers, None, parameters)
        scan = endpoint in self._scan_handlers
        if scan:
            require_scan_key(parsed)
        if endpoint in routes.DECISIONS:
            self._decisions.require_key(parsed)
        if request.method not in ("POST", "PUT"):
            return parsed
        if scan and request.content_type != "application/json":
            raise RefusedError(415)
        body = await _body(request, SYNC_BYTES if endpoint == "sync" else OTHER_BYTES)
        content: Any
        if endpoint == "token":
            content = dict(parse_qsl(body.decode("utf-8", "replace")))
        else:
            try:
                content = json.loads(body) if body or scan else None
            except (ValueError, RecursionError) as error:
                raise RefusedError(400, detail="the body is not JSON") from error
        return SandboxRequest(endpoint, query, request.headers, content, parameters)

    def _over_limit(self, endpoint: str) -> SandboxReply | None:
        """Return a 429 if a limit is exceeded; such requests do not count towards it."""
        settings, now = self.control.settings, self.clock.now()
        if endpoint in ("results", "reports"):
            wait = self._limits[endpoint].take(settings.poll_limit, now)
        elif endpoint in _ANSWERING:
            if 0 < settings.concurrent_limit < self._scanning:
                return fault_payloads.limited("scan", settings.retry_after, now)
            wait = self._limits["scan"].take(settings.rate_limit, now)
        else:
            return None
        if not wait:
            return None
        reply = fault_payloads.limited("scan", math.ceil(wait * 1000) / 1000, now)
        reply.headers["Retry-After"] = str(math.ceil(wait))
        return reply

    def _status(self, group: str, drawn: DrawnFault) -> SandboxReply:
        return fault_payloads.status_reply(
            group, drawn, self.control.settings.retry_after, self.clock.now()
        )

    async def _delay(self, slow: bool, since: float) -> None:
        """Wait until the response is due; the time for its own work is part of the latency."""
        settings = self.control.settings
        low, high = settings.latency
        seconds = low + self._random.random() * (high - low) if high > low else low
        if slow:
            seconds += settings.slow
        remaining = since + seconds - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)

    async def _spoilt_response(
        self, request: web.BaseRequest, kind: str, reply: SandboxReply | None
    ) -> tuple[web.StreamResponse, str]:
        """Return an unusable response, and its name in the counts."""
        if kind == "timeout":
            await asyncio.sleep(_NEVER)
        if kind in ("reset", "timeout"):
            _reset(request)
            return web.Response(), kind
        if kind.startswith("html"):
            status = 503 if kind == "html-503" else 200
            page = web.Response(body=fault_payloads.HTML, status=status, content_type="text/html")
            return page, f"{status} html"
        if kind == "empty" or reply is None:
            return web.Response(content_type="application/json"), "200 empty"
        body = json.dumps(reply.content).encode()
        half = body[: len(body) // 2]
        if kind == "truncated":
            answer = web.Response(body=half, status=reply.status, content_type="application/json")
            return answer, f"{reply.status} truncated"
        partial = web.StreamResponse(status=reply.status)
        partial.content_type = "application/json"
        partial.content_length = len(body)
        await partial.prepare(request)
        await partial.write(half)
        if request.transport is not None:
            request.transport.close()
        return partial, "cut"

    async def _controlled(self, request: web.BaseRequest, name: str) -> web.StreamResponse:
        try:
            if not _is_loopback(request.remote):
                raise RefusedError(403, "only for this machine")
            body = None
            if request.method == "POST":
                try:
                    body = json.loads(await _body(request, OTHER_BYTES))
                except ValueError as error:
                    raise RefusedError(400, "the body is not JSON") from error
            return _json(self.control.answer(request.method, name, request.query, body))
        except RefusedError as refused:
            return _json(SandboxReply({"error": refused.message}, refused.status))


def _is_loopback(address: str | None) -> bool:
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)


def _is_own(request: web.BaseRequest) -> bool:
    """Return whether a program or page of this machine sent the request.

    A foreign page can send some requests to any address, and can have a host name that points
    here; Origin and Host reveal both.
    """
    host = request.headers.get("Host", HOST)
    name = host if host in _LOCAL_NAMES else host.rpartition(":")[0]
    origin = request.headers.get("Origin")
    if origin is None:
        return name in _LOCAL_NAMES
    return name in _LOCAL_NAMES and origin == f"http://{host}"


async def _body(request: web.BaseRequest, limit: int) -> bytes:
    """Return the body of at most `limit` bytes. Raises `RefusedError` (413)."""
    length = request.content_length
    if length is not None and length > limit:
        raise RefusedError(413)
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    if length is not None:
        return await request.content.read()
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > limit:
            raise RefusedError(413)
        parts.append(part)
    return b"".join(parts)


def _reset(request: web.BaseRequest) -> None:
    """Close the connection with a reset."""
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _json(reply: SandboxReply) -> web.Response:
    body = b"" if reply.content is None else json.dumps(reply.content).encode()
    return web.Response(
        body=body, status=reply.status, headers=reply.headers, content_type="application/json"
    )
