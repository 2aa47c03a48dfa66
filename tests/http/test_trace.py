"""The debug log: private, and without what nobody else may know."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import ServiceError
from guardtui.http.retries import ONCE
from guardtui.http.secret import Secret, bearer
from guardtui.http.trace import VARIABLE
from tests.http.server import Server, answer

PROMPT = "a prompt that nobody else may read"


async def calls(server: Server) -> None:
    key = bearer(Secret("key-that-is-secret"))
    endpoint = Endpoint.parse(f"{server.url}/v1")
    async with RemoteClient(endpoint, credential=key, retries=ONCE) as client:
        await client.request("POST", "/scan", json={"prompt": PROMPT}, params={"ids": "one-id"})
        with pytest.raises(ServiceError):
            await client.request("POST", "/scan", json={"prompt": PROMPT})


async def test_each_attempt_is_a_line_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "http.log"
    monkeypatch.setenv(VARIABLE, str(log))
    async with Server([answer({"said": "an answer"}), answer({}, status=403)]) as server:
        await calls(server)
    first, second = log.read_text("utf-8").splitlines()
    assert f"POST {server.url}/v1/scan 200 " in first
    assert "attempt 1" in first
    assert f"POST {server.url}/v1/scan 403 " in second
    for word in (PROMPT, "secret", "one-id", "an answer"):
        assert word not in first + second
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["readable", "link", "folder", "missing"])
async def test_unsuitable_log_file_is_not_written(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, other = tmp_path / "http.log", tmp_path / "other"
    other.write_text("mine")
    other.chmod(0o600)
    if kind == "readable":
        log.write_text("before")
        log.chmod(0o644)
    elif kind == "link":
        log.symlink_to(other)
    elif kind == "folder":
        log.mkdir()
    else:
        log = tmp_path / "no" / "folder"
    monkeypatch.setenv(VARIABLE, str(log))
    async with Server([answer({}), answer({}, status=403)]) as server:
        await calls(server)
    assert other.read_text() == "mine"
    if kind == "readable":
        assert log.read_text() == "before"
