"""`guardtui serve`: the app in a browser of this machine, by textual-serve."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import guardtui
from guardtui.cli.diagnostics import InputError, note, warn
from guardtui.cli.main import require_topic
from guardtui.cli.options import FILE
from guardtui.cli.output import write
from guardtui.cli.serve_page import PAGE

if TYPE_CHECKING:
    from aiohttp import web
    from textual_serve.server import Server

HOST = "127.0.0.1"
PORT = 8000

_CLOSING = 5.0
"""Seconds for open apps to save their drafts when the server ends."""

_TOKEN = "token"  # noqa: S105 - the name of a parameter

_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""Names of this machine. Without the port, which may be that of a tunnel."""

_REFUSAL = (
    "guardtui: this is not open without its token.\n"
    "Copy the whole URL that `guardtui serve` printed into the address bar.\n"
)


@click.command("serve")
@click.argument("topic", type=FILE, required=False)
@click.option(
    "--prompts",
    type=FILE,
    metavar="FILE",
    help="Labelled prompts (CSV, JSON, Parquet, Excel).",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    metavar="N",
    help=f"Port to listen on (default: {PORT}; 0 takes a free one).",
)
@click.option("--host", default=HOST, metavar="HOST", help=f"Only {HOST}, this machine.")
def command(topic: Path | None, prompts: Path | None, port: int, host: str) -> int:
    """Show the app in a browser of this machine; every tab is a separate app.

    Needs the extra: pip install "guardtui[serve]". Prints the URL to open; Ctrl-C stops it.
    """
    if host not in (HOST, "localhost"):
        raise InputError(
            f"--host {host}: whoever reaches the app can write your files, so it listens on "
            f"{HOST} only\n  from another machine use a tunnel: "
            f"ssh -L {port}:{HOST}:{port} this-machine"
        )
    _check_inputs(topic, prompts)
    try:
        import aiohttp.web  # noqa: F401
        import textual_serve.server  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the package {error.name or 'textual_serve'}, which shows the app in a browser, "
            "is missing\n"
            '  pip install "guardtui[serve]"'
        ) from error
    logging.getLogger("textual-serve").addHandler(_Warnings())
    logging.getLogger("aiohttp").addHandler(_Warnings())
    with contextlib.redirect_stdout(_Talk()):
        return asyncio.run(_serve(app_command(topic, prompts), port))


def _check_inputs(topic: Path | None, prompts: Path | None) -> None:
    """Raise InputError for invalid files: in the browser nobody would see the message."""
    intent = None
    if topic is not None:
        from guardtui.files.topic_files import PromptsGivenError, load_topic

        require_topic(str(topic))
        try:
            intent = load_topic(topic).topic.intent
        except PromptsGivenError:  # the app opens the topic of prompts, or makes one
            if prompts is not None:
                raise
            prompts = topic
    if prompts is not None:
        from guardtui.cli.inputs import refuse_standard_input
        from guardtui.files.prompt_files import load_prompts

        refuse_standard_input(prompts)
        load_prompts(prompts, intent)


def app_command(topic: Path | None, prompts: Path | None) -> str:
    """Return the shell command that starts the app with this interpreter, quoted."""
    words = [sys.executable]
    if Path(guardtui.__file__).parents[1] != Path.cwd():
        words.append("-P")  # modules beside the topic file are not imported
    words += ["-m", "guardtui", "open"]
    if prompts is not None:
        words.append(f"--prompts={prompts}")
    if topic is not None:
        words += ["--", str(topic)]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


async def _serve(line: str, port: int) -> int:
    """Serve until a signal comes. Returns 143 after SIGTERM; Ctrl-C raises KeyboardInterrupt."""
    from aiohttp import web

    guard = _Guard(secrets.token_urlsafe(32))
    app = _application(_server(line, port), guard)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSING)
    await runner.setup()
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise InputError(
                f"port {port} of {HOST} cannot be used: {os.strerror(error.errno or 0)}\n"
                "  name another with --port, or --port 0 for a free one"
            ) from error
        port = runner.addresses[0][1]
        guard.port = port
        with contextlib.redirect_stdout(sys.__stdout__):
            write(f"http://{HOST}:{port}/?{_TOKEN}={guard.token}\n")
        note("Open this address in a browser of this machine; its token gives access to the app.")
        note("Ctrl-C ends.")
        await ended.wait()
    finally:
        await runner.cleanup()
    return 143


def _server(line: str, port: int) -> Server:
    """Return the server of textual-serve, with sessions that last as long as their process.

    Sessions of textual-serve end with the output of the app, and pipes of a process that outlives
    the loop are collected when no loop can close them.
    """
    from textual_serve import server
    from textual_serve.app_service import AppService

    class ServedApp(AppService):
        async def stop(self) -> None:
            await super().stop()
            process = self._process
            if process is not None and process.stdin is not None:
                process.stdin.close()
                await process.communicate()

    server.AppService = ServedApp  # type: ignore[attr-defined]
    return server.Server(line, host=HOST, port=port, title="guardtui")


def _application(server: Server, guard: _Guard) -> web.Application:
    """Return the web application: page, files, websocket and downloads, all behind the guard."""
    from aiohttp import web

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application(middlewares=[web.middleware(guard)])
    app.add_routes(
        [
            web.get("/", page),
            web.get("/ws", server.handle_websocket),
            web.get("/download/{key}", server.handle_download),
            web.static("/static", server.statics_path),
        ]
    )
    app.on_shutdown.append(guard.end_sessions)
    return app


class _Guard:
    """Admits requests with the token from a page of this server; knows the open apps.

    Every account of the machine reaches the port; the token, a cookie after the first request,
    identifies the author. A browser opens a websocket to any host for any page, so a foreign page
    could type into the app; Origin identifies it. Host does so for a foreign name that points to
    this machine; its port may be that of a tunnel.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.port = 0
        self._sessions: set[asyncio.Task[Any]] = set()

    async def __call__(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        from aiohttp import web

        own = f"http://{request.host}".lower()
        origin = request.headers.get("Origin", own).lower()
        if not _OWN_HOST.fullmatch(request.host) or origin != own:
            raise web.HTTPForbidden(text="guardtui answers only pages of its own\n")
        if request.path == "/" and self._is_token(request.query.get(_TOKEN, "")):
            # History and other pages see the address without the token.
            return self._with_policy(request, self._welcome())
        if not self._is_token(request.cookies.get(self._cookie, "")):
            return self._with_policy(request, web.Response(status=403, text=_REFUSAL))
        if request.path == "/ws":
            return await self._session(request, handler)
        return self._with_policy(request, await handler(request))

    @property
    def _cookie(self) -> str:
        """Name of the cookie, which includes the port: browsers share cookies between ports."""
        return f"guardtui-{self.port}"

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _welcome(self) -> web.StreamResponse:
        from aiohttp import web

        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(self._cookie, self.token, path="/", httponly=True, samesite="Strict")
        return response

    @staticmethod
    def _with_policy(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Forbid everything that the page does not need, and referrers."""
        if not response.prepared:
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers["Cache-Control"] = "no-store"
            response.headers["Content-Security-Policy"] = (
                "default-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                f"connect-src 'self' ws://{request.host}; frame-ancestors 'none'"
            )
        return response

    async def _session(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request outside of a task")
        self._sessions.add(task)
        try:
            return await handler(request)
        finally:
            self._sessions.discard(task)

    async def end_sessions(self, _app: web.Application) -> None:
        """Request every open app to end, as if its tab were closed; it saves its draft."""
        tasks = list(self._sessions)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING)


class _Talk(io.TextIOBase):
    """Standard output of the library, which has the standard error of the apps."""

    def write(self, text: str) -> int:
        if text.strip():
            note(text.rstrip("\n"))
        return len(text)


class _Warnings(logging.Handler):
    """Log messages of the library, as warnings in one line without a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        warn(record.getMessage())
