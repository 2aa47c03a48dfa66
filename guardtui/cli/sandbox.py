"""`guardtui sandbox`: an AIRS-compatible server on this machine, with faults on demand."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError, note, warn
from guardtui.cli.options import FILE, INSIDE
from guardtui.cli.output import write
from guardtui.scanners.local.encoder import ENCODERS

if TYPE_CHECKING:
    from guardtui.sandbox.settings import SandboxSettings

MODEL = "sandbox-decide"
"""Name of the decision model; any other name works too."""
HOST = "127.0.0.1"
PORT = 8900
START_SECONDS = 60

_LOCAL = (HOST, "localhost", "::1")


@click.command(
    "sandbox",
    cls=Command,
    examples=(
        ("guardtui sandbox", "On port 8900"),
        (
            "guardtui sandbox --fault 429=0.2 --latency 50ms",
            "Slow, and every fifth answer is a 429",
        ),
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    metavar="N",
    help=f"Port to listen on (default: {PORT}; 0 takes a free one).",
)
@click.option(
    "--host", default=HOST, metavar="HOST", help=f"Address to listen on (default: {HOST})."
)
@click.option("--state", type=FILE, metavar="FILE", help="Store topics and profiles in this file.")
@click.option(
    "--encoder",
    type=click.Choice(ENCODERS),
    default="static",
    help="Encoder of the engine: static (fast, the default), minilm (better) or pair (languages).",
)
@click.option(
    "--threshold",
    type=INSIDE,
    metavar="X",
    help="Minimum score of a match, between 0 and 1.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KIND[@WHERE]=N",
    help="A fault (repeatable): 429=0.2, 500@sync=first:3, reset=every:50, html=0.01 …",
)
@click.option("--latency", metavar="TIME", help="Delay of answers, such as 50ms or 20ms..80ms.")
@click.option("--slow", metavar="TIME", help="Delay of the fault slow (default: 5s).")
@click.option("--retry-after", metavar="TIME", help="Retry-After of a 429 (default: 1s).")
@click.option(
    "--propagation", metavar="TIME", help="Time for which scans use the old revision (default: 0)."
)
@click.option(
    "--pending", metavar="TIME", help="Time for which rows of a batch are pending (default: 1s)."
)
@click.option(
    "--max-batch",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum prompts in a batch (default: 20).",
)
@click.option(
    "--poll-limit",
    type=click.IntRange(0),
    metavar="N",
    help="Maximum results and reports per minute; the service has 10 (default: 0, no limit).",
)
@click.option(
    "--rate-limit",
    type=click.IntRange(0),
    metavar="N",
    help="Maximum scans per second (default: 0, no limit).",
)
@click.option(
    "--concurrent-limit",
    type=click.IntRange(0),
    metavar="N",
    help="Maximum concurrent scans (default: 0, no limit).",
)
@click.option(
    "--list-order",
    type=click.Choice(("newest", "oldest", "shuffled")),
    help="Order of lists (default: newest first).",
)
@click.option(
    "--delete-reply",
    type=click.Choice(("auto", "string", "object", "empty")),
    help="Answer to a deletion (default: a JSON string, and an object on the old paths).",
)
@click.option(
    "--empty-topic-list",
    type=click.Choice(("accept", "reject")),
    help="Guardrails without topics in a written profile (default: accept).",
)
@click.option(
    "--decisions",
    is_flag=True,
    help="Name the decision endpoints instead: /v1/decisions and /v1/systemone.",
)
@click.option(
    "--max-questions",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum questions per decision request (default: 200, and 128 for systemone).",
)
@click.option("--seed", type=int, metavar="N", help="Seed of the faults (default: 0).")
@click.option("--until-eof", is_flag=True, hidden=True)
def command(
    port: int,
    host: str,
    state: Path | None,
    encoder: str,
    threshold: float | None,
    decisions: bool,
    until_eof: bool,
    **behaviour: Any,
) -> int:
    """Serve an imitation of AIRS (tokens, scans, management) and of decision models, for tests.

    Prints the variables of clients as lines for a shell, and messages to standard error. The
    profiles are sandbox (classic layout) and sandbox-directional. /_sandbox/stats shows the
    requests, /_sandbox/faults changes the faults. Needs the extra: pip install
    "guardtui[sandbox]". Ctrl-C stops it.
    """
    try:
        import aiohttp.web  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the package {error.name or 'aiohttp'}, which the sandbox needs, is missing\n"
            '  pip install "guardtui[sandbox]"'
        ) from error
    settings = _settings(behaviour)
    if host not in _LOCAL:
        warn(
            f"--host {host}: others can reach the sandbox, and its credentials are public; "
            "use it in networks that you trust"
        )
    return asyncio.run(
        _serve(settings, host, port, state, encoder, threshold, decisions, until_eof)
    )


def _settings(behaviour: dict[str, Any]) -> SandboxSettings:
    from guardtui.sandbox.settings import SandboxSettings, SettingsError

    given = {name: value for name, value in behaviour.items() if value is not None and value != ()}
    try:
        return SandboxSettings().changed(given)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error


async def _serve(
    settings: SandboxSettings,
    host: str,
    port: int,
    state: Path | None,
    encoder: str,
    threshold: float | None,
    decisions: bool,
    until_eof: bool,
) -> int:
    """Serve until a signal comes. Returns 143 after SIGTERM; Ctrl-C raises KeyboardInterrupt.

    With `until_eof` it also ends (0) with its input, when its parent process is gone.
    """
    from guardtui.sandbox.app import Sandbox
    from guardtui.sandbox.judging import TopicMatcher

    sandbox = Sandbox(settings, state=state, engine=TopicMatcher(encoder, threshold), defect=_tell)
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    if until_eof:
        threading.Thread(
            target=_await_eof, args=(asyncio.get_running_loop(), ended), daemon=True
        ).start()
    try:
        try:
            used_port = await sandbox.start(host, port)
        except OSError as error:
            raise InputError(
                f"port {port} of {host} cannot be used: {os.strerror(error.errno or 0)}\n"
                "  name another with --port, or --port 0 for a free one"
            ) from error
        url = f"http://{f'[{host}]' if ':' in host else host}:{used_port}"
        if decisions:
            note(f"for --guardrail decision:{url}/v1#{MODEL}; Ctrl-C ends it")
            variables = {"GUARDTUI_MODEL_KEY": "sandbox-key"}
        else:
            note(
                f"the sandbox listens on {url}; Ctrl-C ends it\n"
                "(`guardtui open --sandbox` starts one for the app)"
            )
            variables = sandbox_environment(url)
        write("".join(f"export {name}='{value}'\n" for name, value in variables.items()))
        await ended.wait()
    finally:
        await sandbox.stop()
    return 143


def _await_eof(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    while os.read(0, 4096):
        pass
    with contextlib.suppress(RuntimeError):  # the loop has ended otherwise
        loop.call_soon_threadsafe(ended.set)


def _tell(error: BaseException) -> None:
    from guardtui.cli.diagnostics import crash_file

    path = crash_file(error)
    location = f"; where it happened is in {path}" if path else ""
    warn(f"the sandbox failed at a request ({type(error).__name__}){location}")


@contextmanager
def sandbox_process() -> Iterator[Mapping[str, str]]:
    """Start a sandbox, and yield the environment variables that point at it.

    It ends with its input, also if this process is killed. Raises InputError if it does not
    start.
    """
    command = [sys.executable, "-m", "guardtui", "sandbox", "--port", "0", "--until-eof"]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C in the terminal is for the app
    )
    try:
        first = process.stdout.readline() if process.stdout is not None else ""
        url = first.partition("'")[2].rstrip("'\n")  # export NAME='URL'
        if not url:
            errors = process.communicate(timeout=START_SECONDS)[1].strip()
            raise InputError(f"the sandbox did not start\n  {errors}")
        yield sandbox_environment(url)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def sandbox_environment(url: str) -> dict[str, str]:
    """Return the variables that point clients of AIRS at a sandbox; its URL is the first."""
    return {
        "PANW_AI_SEC_API_ENDPOINT": url,
        "PANW_AI_SEC_API_KEY": "sandbox-key",
        "PANW_MGMT_ENDPOINT": f"{url}/aisec",
        "PANW_MGMT_TOKEN_ENDPOINT": f"{url}/oauth2/access_token",
        "PANW_MGMT_CLIENT_ID": "sandbox",
        "PANW_MGMT_CLIENT_SECRET": "sandbox",
        "PANW_MGMT_TSG_ID": "1",
        "PANW_AI_SEC_PROFILE_NAME": "sandbox",
    }
