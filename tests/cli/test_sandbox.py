"""`guardtui sandbox`: a server of its own process, asked over real sockets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run
from .sandbox_server import request

pytest.importorskip("aiohttp")
pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="POSIX signals")]


class Served:
    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "guardtui", "sandbox", "--port", "0", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().partition("'")[2].rstrip("'\n")

    def ask(
        self, path: str, body: Any = None, method: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        return request(self.url + path, body, method, **headers)

    def scan(self, prompt: str) -> tuple[int, Any]:
        body = {"ai_profile": {"profile_name": "sandbox"}, "contents": [{"prompt": prompt}]}
        return self.ask("/v1/scan/sync/request", body, x_pan_token="sandbox-key")

    def token(self) -> str:
        credentials = b64encode(b"sandbox:sandbox").decode()
        _, body = self.ask(
            "/oauth2/access_token",
            b"grant_type=client_credentials&scope=tsg_id%3A1",
            Authorization=f"Basic {credentials}",
            Content_Type="application/x-www-form-urlencoded",
        )
        return str(body["access_token"])

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, said = self.process.communicate(timeout=120)
        return self.process.returncode, out, said


@pytest.fixture
def served(folder: Path, environment: dict[str, str]) -> Iterator[type[Served]]:
    started: list[Served] = []

    class Here(Served):
        def __init__(self, *arguments: str) -> None:
            super().__init__(folder, environment, *arguments)
            started.append(self)

    yield Here  # type: ignore[misc]
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_start_prints_the_variables_for_a_shell(served: Any) -> None:
    server = served()
    assert server.url.startswith("http://127.0.0.1:")
    assert server.scan("hello")[0] == 200
    status, stats = server.ask("/_sandbox/stats")
    assert (status, stats["endpoints"]) == (200, {"sync": {"200": 1}})
    exports = [server.process.stdout.readline() for _ in range(7)]
    code, out, said = server.end()
    assert (code, out) == (130, "")
    assert said.endswith("interrupted\n")
    assert f"the sandbox listens on {server.url}; Ctrl-C ends it\n" in said
    assert "export PANW_MGMT_TSG_ID='1'\n" in exports
    assert all(line.startswith("export ") for line in exports)
    assert "Traceback" not in said


def test_terminated(served: Any) -> None:
    server = served("--fault", "timeout=1", "--encoder", "static", "--threshold", "0.5")
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        body = b'{"ai_profile":{"profile_name":"sandbox"},"contents":[{"prompt":"x"}]}'
        waiting.sendall(
            b"POST /v1/scan/sync/request HTTP/1.1\r\nHost: localhost\r\nx-pan-token: sandbox-key"
            b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        while not server.ask("/_sandbox/stats")[1]["in_flight"]:
            pass
        code, _, said = server.end(signal.SIGTERM)  # someone still waits for an answer
    assert (code, "Traceback" in said) == (143, False)


def test_a_state_survives_kill_9_and_is_of_one_server(served: Any, run: Run) -> None:
    server = served("--state", "state.json")
    bearer = f"Bearer {server.token()}"
    topic = {"topic_name": "Tax", "description": "Taxes", "examples": ["a tax", "taxes"]}
    status, made = server.ask("/aisec/v1/mgmt/topic", topic, Authorization=bearer)
    assert status == 200
    refused = run("sandbox", "--port", "0", "--state", "state.json")
    assert (refused.code, refused.out) == (2, "")
    assert "state.json: another sandbox uses this state" in refused.err
    server.process.kill()
    server.process.wait()
    again = served("--state", "state.json")
    _, listed = again.ask("/v1/mgmt/topics/tsg/1", Authorization=f"Bearer {again.token()}")
    assert listed["custom_topics"] == [made]


def test_flags_set_faults(served: Any) -> None:
    server = served("--fault", "500=first:1", "--fault", "429-header=first:2", "--seed", "3")
    assert [server.scan("x")[0] for _ in range(3)] == [500, 429, 200]
    assert server.ask("/_sandbox/faults")[1]["settings"]["seed"] == 3


def test_a_taken_port_is_reported(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("sandbox", "--port", str(taken.getsockname()[1]))
    assert (result.code, result.out) == (2, "")
    assert "--port 0" in result.err


def test_another_address_is_warned_of(served: Any) -> None:
    server = served("--host", "0.0.0.0")
    port = server.url.rpartition(":")[2]
    server.url = f"http://127.0.0.1:{port}"
    assert server.scan("x")[0] == 200
    _, _, said = server.end()
    assert "warning: --host 0.0.0.0: others can reach the sandbox" in said


def test_a_missing_extra_is_reported(run_process: Run, folder: Path) -> None:
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "aiohttp.py").write_text("raise ModuleNotFoundError('no', name='aiohttp')\n", "utf-8")
    path = os.pathsep.join([str(hidden), str(Path(__file__).parents[2])])
    result = run_process("sandbox", PYTHONPATH=path)
    assert (result.code, result.out) == (2, "")
    assert 'pip install "guardtui[sandbox]"' in result.err
