"""A sandbox for the app, in a process of its own that ends with the app."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from guardtui.cli.diagnostics import InputError

START_SECONDS = 60


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
