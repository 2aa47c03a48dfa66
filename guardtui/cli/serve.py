"""`guardtui serve`: the app in a browser of this machine, through textual-serve."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
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

if TYPE_CHECKING:
    from aiohttp import web

HOST = "127.0.0.1"
PORT = 8000

_CLOSING = 5.0
"""Seconds that open apps have to keep their drafts when the server ends."""


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
    from textual_serve.server import Server

    server = Server(line, host=HOST, port=port, title="guardtui")
    app = await server._make_app()
    app.on_startup.clear()  # its greeting writes to standard output, with markup
    guard = _Guard()
    app.middlewares.append(web.middleware(guard))
    app.on_shutdown.append(guard.end_sessions)
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
        server.port, server.public_url = port, f"http://{HOST}:{port}"
        guard.port = port
        with contextlib.redirect_stdout(sys.__stdout__):
            write(f"{server.public_url}\n")
        note("Open this address in a browser of this machine. Ctrl-C ends.")
        await ended.wait()
    finally:
        await runner.cleanup()
    return 143


class _Guard:
    """Lets in what the page itself asks for, and knows the apps that are open.

    A browser sends a websocket's first request to any host for any page, so a page of somebody
    else could type into the app: Origin tells it apart. Host does so for a foreign name that was
    made to point to this machine.
    """

    def __init__(self) -> None:
        self.port = 0
        self._sessions: set[asyncio.Task[Any]] = set()

    async def __call__(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        from aiohttp import web

        names = [f"{name}:{self.port}" for name in (HOST, "localhost")]
        if self.port == 80:
            names += [HOST, "localhost"]
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin not in [f"http://{name}" for name in names]
        if request.host not in names or foreign:
            raise web.HTTPForbidden(text="guardtui answers only pages of its own\n")
        if request.path == "/ws":
            return await self._session(request, handler)
        response = await handler(request)
        if not response.prepared:
            # The page needs nothing from elsewhere, though its template asks for a font there.
            response.headers["Content-Security-Policy"] = (
                "default-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                f"connect-src 'self' ws://{HOST}:{self.port}; frame-ancestors 'none'"
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
