"""A sandbox for commands to talk to over real sockets, in a thread of the test's own process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.judging import TopicMatcher


def scan_variables(url: str) -> dict[str, str]:
    """Return the environment of a client that may scan, without a service account."""
    return {"PANW_AI_SEC_API_KEY": "sandbox-key", "PANW_AI_SEC_API_ENDPOINT": url}


def account_variables(url: str) -> dict[str, str]:
    """Return the environment of a client that may scan and change topics and profiles."""
    return scan_variables(url) | {
        "PANW_MGMT_ENDPOINT": f"{url}/aisec",
        "PANW_MGMT_TOKEN_ENDPOINT": f"{url}/oauth2/access_token",
        "PANW_MGMT_CLIENT_ID": "sandbox",
        "PANW_MGMT_CLIENT_SECRET": "sandbox",
        "PANW_MGMT_TSG_ID": "1",
    }


def request(
    url: str, body: Any = None, method: str | None = None, **headers: str
) -> tuple[int, Any]:
    """Send a request to a sandbox; return the status and the decoded JSON."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if data is not None:
        names.setdefault("Content-Type", "application/json")
    try:
        with urlopen(Request(url, data, names, method=method), timeout=120) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@contextmanager
def sandbox_server() -> Iterator[str]:
    """Run a sandbox while the context lasts; yields its URL. Its defects are raised at the end."""
    loop, defects = asyncio.new_event_loop(), list[BaseException]()
    thread = threading.Thread(target=loop.run_forever, name="sandbox")
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(120)

    sandbox = Sandbox(engine=_engine(), defect=defects.append)
    try:
        yield f"http://127.0.0.1:{run(sandbox.start())}"
    finally:
        run(sandbox.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert defects == []


@cache
def _engine() -> TopicMatcher:
    return TopicMatcher()
