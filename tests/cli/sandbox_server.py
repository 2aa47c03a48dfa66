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
