"""`guardtui serve`: the app in a browser of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import guardtui
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError, note, warn
from guardtui.cli.open import app_options, prepared
from guardtui.cli.output import write

HOST = "127.0.0.1"
PORT = 8000

_CLOSING = 5.0
"""Seconds for open apps to save their drafts when the server ends."""


@click.command(
    "serve",
    cls=Command,
    examples=(
        ("guardtui serve tax.yaml --prompts tax.csv --port 8000", "On this machine's port 8000"),
    ),
)
@app_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    metavar="N",
    help=f"Port to listen on (default: {PORT}; 0 takes a free one).",
)
@click.option("--host", default=HOST, metavar="HOST", help=f"Only {HOST}, this machine.")
@click.pass_context
def command(context: click.Context, /, port: int, host: str, **values: Any) -> int:
    """Show the app in a browser of this machine; every tab is a separate app.

    Needs the extra: pip install "guardtui[serve]". Takes the options of 'guardtui open'. Prints
    the URL to open; Ctrl-C stops it.
    """
    if host not in (HOST, "localhost"):
        raise InputError(
            f"--host {host}: whoever reaches the app can write your files, so it listens on "
            f"{HOST} only\n  from another machine use a tunnel: "
            f"ssh -L {port}:{HOST}:{port} this-machine"
        )
    # In the browser nobody would see what is wrong with them.
    prepared(**values)
    _check_files(values["topic"], values["prompts"])
    try:
        import aiohttp.web  # noqa: F401
        import textual_serve.server  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the package {error.name or 'textual_serve'}, which shows the app in a browser, "
            "is missing\n"
            '  pip install "guardtui[serve]"'
        ) from error
    listener = _listener(port)
    with contextlib.redirect_stdout(_Talk()):
        asyncio.run(_serve(listener, app_command(context)))
    return 0


def _check_files(topic: Path | None, prompts: Path | None) -> None:
    """Raise an error for invalid files."""
    intent = None
    if topic is not None:
        from guardtui.files.topic_files import PromptsGivenError, load_topic

        try:
            intent = load_topic(topic).topic.intent
        except PromptsGivenError:  # the app opens the topic of prompts, or makes one
            if prompts is not None:
                raise
            prompts = topic
    if prompts is not None:
        from guardtui.files.prompt_files import load_prompts

        load_prompts(prompts, intent)


def app_command(context: click.Context) -> list[str]:
    """Return the command that starts the app with this interpreter and the options given."""
    words = [sys.executable]
    if Path(guardtui.__file__).parents[1] != Path.cwd():
        words.append("-P")  # modules beside the topic file are not imported
    words += ["-m", "guardtui", "open"]
    topic: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            topic = ["--", str(value)]
        elif name not in ("port", "host"):
            option = parameter.opts[0]
            several = value if isinstance(value, tuple) else (value,)
            words += [option] if value is True else [f"{option}={single}" for single in several]
    return words + topic


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        raise InputError(
            f"port {port} of {HOST} cannot be used: {os.strerror(error.errno or 0)}\n"
            "  name another with --port, or --port 0 for a free one"
        ) from error


async def _serve(listener: socket.socket, words: list[str]) -> None:
    """Serve until a signal raises KeyboardInterrupt."""
    from aiohttp import web

    from guardtui.cli.serve.visitors import Visitors
    from guardtui.cli.serve.web import Site

    warnings = _Warnings()
    for name in ("textual-serve", "aiohttp", "asyncio"):
        logging.getLogger(name).addHandler(warnings)
    token = secrets.token_urlsafe(32)
    visitors = Visitors()
    site = Site(words, token, visitors, _CLOSING)
    runner = web.AppRunner(site.application(), access_log=None, shutdown_timeout=_CLOSING)
    await runner.setup()
    if runner.server is None:
        raise RuntimeError("a runner without its server")
    with contextlib.redirect_stdout(sys.__stdout__):
        write(f"http://{HOST}:{listener.getsockname()[1]}/#{token}\n")
    note("Open this address in a browser of this machine; its token gives access to the app.")
    note("Ctrl-C ends.")
    try:
        await visitors.accept(listener, runner.server)
    finally:
        listener.close()
        await runner.cleanup()


class _Talk(io.TextIOBase):
    """Standard output of the library, which has the standard error of the apps."""

    def write(self, text: str) -> int:
        if text.strip():
            note(text.rstrip("\n"))
        return len(text)


class _Warnings(logging.Handler):
    """Log messages of the libraries as warnings: the first line of each, once, no traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        from aiohttp.http_exceptions import HttpProcessingError

        problem = record.exc_info[1] if record.exc_info else None
        if isinstance(problem, HttpProcessingError):
            return  # anyone who reaches the port can send something that is not a request
        message = record.getMessage().partition("\n")[0]
        if problem is not None:
            message += f" ({type(problem).__name__})"
        if message not in self._said:
            self._said.add(message)
            warn(message)
