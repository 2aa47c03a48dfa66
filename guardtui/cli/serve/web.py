"""The web application of `guardtui serve`: page, files, an app per websocket, downloads."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from guardtui.cli.diagnostics import warn
from guardtui.cli.open import WEB_DRIVER
from guardtui.cli.serve.page import PAGE, STATIC
from guardtui.cli.serve.visitors import Visitors

_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""Names of this machine. Without the port, which may be that of a tunnel."""

_CELLS = range(1, 2001)
"""Columns or rows that the terminal in a browser can have."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Site:
    """Serves the page to anyone who asks by a name of this machine, and the app for the token.

    Every account of the machine reaches the port; the token identifies the author. It is part of
    the websocket's address, and the page has it from the fragment of its own, which browsers send
    nowhere: a cookie would be sent to every port of this machine. A browser opens a websocket to
    any host for any page; Origin identifies foreign pages, and Host a foreign name that points to
    this machine.
    """

    def __init__(self, words: list[str], token: str, visitors: Visitors, closing: float) -> None:
        self._words = words
        self._token = token.encode()
        self._visitors = visitors
        self._closing = closing
        self._library = Server("", title="guardtui")
        self._sessions: set[asyncio.Task[Any]] = set()

    def application(self) -> web.Application:
        """Return the web application."""
        app = web.Application(middlewares=[_refuse_foreign_pages])
        files = self._library.statics_path
        app.add_routes(
            [
                web.get("/", _page),
                web.get("/ws/{token}", self._session),
                web.get("/download/{key}", self._download),
                *(web.get(f"/static/{name}", _file(files / name)) for name in STATIC),
            ]
        )
        app.on_response_prepare.append(_add_policy)
        app.on_shutdown.append(self._end_sessions)
        return app

    async def _session(self, request: web.Request) -> web.StreamResponse:
        """Run an app for as long as its websocket is open."""
        given = request.match_info["token"].encode("utf-8", "replace")
        if not secrets.compare_digest(given, self._token):
            raise web.HTTPForbidden(text="guardtui: this is not the token of this server\n")
        self._visitors.admit(request.transport)
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request outside of a task")
        self._sessions.add(task)
        try:
            return await self._run_app(request)
        finally:
            self._sessions.discard(task)

    async def _run_app(self, request: web.Request) -> web.StreamResponse:
        page = web.WebSocketResponse(heartbeat=15)
        await page.prepare(request)
        app = _ServedApp(self._words, page, self._library.download_manager)
        size = [_cells(request.query.get(name, "")) for name in ("width", "height")]
        try:
            await app.start(size[0] or 80, size[1] or 24)
            async for message in page:
                if message.type == WSMsgType.TEXT:
                    await _obey(message.data, page, app)
        except ConnectionError:
            pass  # the tab was closed
        except OSError as error:
            warn(f"an app for the browser could not be started: {error.strerror}")
        finally:
            await app.stop()
            await page.close()
        return page

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Send a file that an app offered; its name is random, and known to its page only."""
        key = request.match_info["key"]
        try:
            await self._library.download_manager.get_download_metadata(key)
        except KeyError:
            raise web.HTTPNotFound(text="guardtui offers no such file\n") from None
        self._visitors.admit(request.transport)
        response: web.StreamResponse = await self._library.handle_download(request)
        return response

    async def _end_sessions(self, _app: web.Application) -> None:
        """Request every open app to end, as if its tab were closed; it saves its draft."""
        tasks = list(self._sessions)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._closing)


class _ServedApp(AppService):
    """The process of an app.

    In textual-serve it is started by a shell, a session ends with the output of the app, and
    pipes of a process that outlives the loop are collected when no loop can close them.
    """

    def __init__(
        self, words: list[str], page: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        async def close() -> None:
            await page.close()

        super().__init__(
            "",
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=close,
            download_manager=downloads,
        )
        self._words = words

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Any:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=self._build_environment(width, height) | {"TEXTUAL_DRIVER": WEB_DRIVER},
        )
        self._process, self._stdin = process, process.stdin
        return process

    async def run(self) -> None:
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        await super().stop()
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            await process.communicate()


async def _obey(text: str, page: web.WebSocketResponse, app: AppService) -> None:
    """Do what a message of the page says; ignore what the page does not say."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return
    match message:
        case ["stdin", str(keys)]:
            await app.send_bytes(keys.encode("utf-8", "replace"))
        case ["resize", {"width": int(width), "height": int(height)}]:
            if width in _CELLS and height in _CELLS:
                await app.set_terminal_size(int(width), int(height))
        case ["ping", str(time)]:
            await page.send_json(["pong", time])
        case ["blur"]:
            await app.blur()
        case ["focus"]:
            await app.focus()


def _cells(text: str) -> int | None:
    """Return the number of cells in a query, None if it is not a possible one."""
    number = int(text) if re.fullmatch("[0-9]{1,4}", text) else 0
    return number if number in _CELLS else None


async def _page(_request: web.Request) -> web.Response:
    return web.Response(text=PAGE, content_type="text/html")


def _file(path: Any) -> Handler:
    async def send(_request: web.Request) -> web.StreamResponse:
        return web.FileResponse(path)

    return send


@web.middleware
async def _refuse_foreign_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    host = request.headers.get("Host", "")
    own = f"http://{host}".lower()
    if not _OWN_HOST.fullmatch(host) or request.headers.get("Origin", own).lower() != own:
        raise web.HTTPForbidden(text="guardtui answers only pages of its own\n")
    return await handler(request)


async def _add_policy(request: web.Request, response: web.StreamResponse) -> None:
    """Forbid everything that the page does not need, and referrers."""
    host = request.headers.get("Host", "")
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = (
        "default-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        f"connect-src 'self' ws://{host}; frame-ancestors 'none'"
    )
