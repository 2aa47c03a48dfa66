"""`guardtui serve`: the app in a browser of this machine, through textual-serve."""

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
"""Seconds that open apps have to keep their drafts when the server ends."""

_TOKEN = "token"  # noqa: S105 - the name of a parameter

_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
"""Names of this machine. Not the port, which is another one at the near end of a tunnel."""

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
    """Show the app in a browser of this machine; every tab is an app of its own.

    Needs the extra: pip install "guardtui[serve]". Prints the address; Ctrl-C ends.
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
            f"the package {error.name} is missing, which shows the app in a browser\n"
            '  pip install "guardtui[serve]"'
        ) from error
    logging.getLogger("textual-serve").addHandler(_Warnings())
    logging.getLogger("aiohttp").addHandler(_Warnings())
    with contextlib.redirect_stdout(_Talk()):
        return asyncio.run(_serve(app_command(topic, prompts), port))


def _check_inputs(topic: Path | None, prompts: Path | None) -> None:
    """Say here what is wrong with the files: in the browser nobody would see it."""
    intent = None
    if topic is not None:
        from guardtui.files.topic_files import load_topic

        require_topic(str(topic))
        intent = load_topic(topic).topic.intent
    if prompts is not None:
        from guardtui.cli.inputs import refuse_standard_input
        from guardtui.files.prompt_files import load_prompts

        refuse_standard_input(prompts)
        load_prompts(prompts, intent)


def app_command(topic: Path | None, prompts: Path | None) -> str:
    """The line for the shell that starts the app with this interpreter; every word quoted."""
    words = [sys.executable]
    if Path(guardtui.__file__).parents[1] != Path.cwd():
        words.append("-P")  # modules that lie beside the topic file are not imported
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
        note("Open this address in a browser of this machine; its token is the key to the app.")
        note("Ctrl-C ends.")
        await ended.wait()
    finally:
        await runner.cleanup()
    return 143


def _server(line: str, port: int) -> Server:
    """Return the server of textual-serve, with sessions that last as long as their process.

    Its own end with the output of the app, and the pipes of a process that outlives the loop are
    collected when no loop can close them any more.
    """
    from textual_serve import server
    from textual_serve.app_service import AppService

    class Session(AppService):
        async def stop(self) -> None:
            await super().stop()
            process = self._process
            if process is not None and process.stdin is not None:
                process.stdin.close()
                await process.communicate()

    server.AppService = Session  # type: ignore[attr-defined]
    return server.Server(line, host=HOST, port=port, title="guardtui")


def _application(server: Server, guard: _Guard) -> web.Application:
    """The page, its files, the websocket and downloads, all behind the guard."""
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
    """Lets in who has the token and asks from a page of this server; knows the open apps.

    Every account of the machine reaches the port: the token, a cookie after the first request,
    tells them apart. A browser sends a websocket's first request to any host for any page, so a
    page of somebody else could type into the app: Origin tells it apart. Host does so for a
    foreign name that was made to point to this machine; its port may be that of a tunnel.
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
            # The address without the token is what the history and other pages may see.
            return self._with_policy(request, self._welcome())
        if not self._is_token(request.cookies.get(self._cookie, "")):
            return self._with_policy(request, web.Response(status=403, text=_REFUSAL))
        if request.path == "/ws":
            return await self._session(request, handler)
        return self._with_policy(request, await handler(request))

    @property
    def _cookie(self) -> str:
        """Name of the cookie: browsers do not keep the cookies of two ports apart."""
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
        """Forbid everything that the page does not need, and addresses in referrers."""
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
        """Ask every open app to end, as the closing of its tab does; it keeps its draft."""
        tasks = list(self._sessions)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING)


class _Talk(io.TextIOBase):
    """Standard output of the library, which brings there what an app wrote to standard error."""

    def write(self, text: str) -> int:
        if text.strip():
            note(text.rstrip("\n"))
        return len(text)


class _Warnings(logging.Handler):
    """What the library logs, as warnings in one line and without a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        warn(record.getMessage())
