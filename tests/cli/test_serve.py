"""`guardtui serve`: a server of its own process, asked over real sockets."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from guardtui.cli.serve import app_command

from .conftest import Run

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")

FILES = ("topic.yaml", "--prompts", "prompts.csv")


class Served:
    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "guardtui", "serve", *arguments, "--port", "0"],
            cwd=folder,
            env={**environment, "GUARDTUI_DATA": str(folder / "data")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rpartition(":")[2])

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@pytest.fixture
def served(folder: Path, environment: dict[str, str]) -> Iterator[Served]:
    (folder / "it's; a $(touch pwned) topic.yaml").write_bytes((folder / "topic.yaml").read_bytes())
    server = Served(folder, environment, "it's; a $(touch pwned) topic.yaml", *FILES[1:])
    yield server
    server.process.kill()
    server.process.communicate()


async def get(url: str, **headers: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as answer:
        policy = answer.headers.get("Content-Security-Policy", "")
        return answer.status, await answer.text(), policy


def test_the_page_comes_over_a_socket(served: Served) -> None:
    assert served.url.startswith("http://127.0.0.1:")
    status, page, policy = asyncio.run(get(served.url))
    assert status == 200
    assert f'"ws://127.0.0.1:{served.port}/ws"' in page
    assert "pwned" not in page
    assert "default-src 'self'" in policy
    assert asyncio.run(get(f"{served.url}/static/js/textual.js"))[0] == 200
    code, said = served.end()
    assert code == 130
    assert said.endswith("interrupted\n")
    assert "Traceback" not in said


def test_it_listens_on_this_machine_only(served: Served) -> None:
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(path).exists():
            pytest.skip("no /proc to see who listens")
        for line in Path(path).read_text("ascii").splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and address.endswith(f":{served.port:04X}"):
                assert address.startswith("0100007F:")


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js"])
@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_foreign_pages_are_refused(served: Served, path: str, header: dict[str, str]) -> None:
    assert asyncio.run(get(served.url + path, **header))[0] == 403


async def type_into_the_app(served: Served) -> tuple[int, str]:
    """Open the app as the page does, see metrics, edit, leave it open; then end the server."""
    address = f"{served.url}/ws?width=120&height=40"
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(address, headers={"Origin": served.url}) as socket_,
    ):
        screen = b""
        while b"TPR" not in screen:
            screen += (await socket_.receive(timeout=60)).data
        assert b"Tax advice" in screen
        await socket_.send_json(["stdin", "zq"])
        screen = b""
        while b"zq" not in screen:
            screen += (await socket_.receive(timeout=60)).data
        ending = asyncio.create_task(asyncio.to_thread(served.end))
        async for _message in socket_:
            pass  # a browser answers the closing, and so does this
        return await ending


def test_an_edit_over_the_websocket(served: Served, folder: Path) -> None:
    code, said = asyncio.run(type_into_the_app(served))
    assert code == 130, said
    assert "Traceback" not in said
    assert not (folder / "pwned").exists()
    with closing(sqlite3.connect(folder / ".guardtui" / "sessions.sqlite3")) as store:
        assert "zq" in "\n".join(store.iterdump())  # the draft of the app that was open


def test_terminated(served: Served) -> None:
    code, said = served.end(signal.SIGTERM)
    assert (code, "Traceback" in said) == (143, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.yaml"], "no topic file 'gone.yaml'"),
        (["topic.yaml", "--prompts", "gone.csv"], "gone.csv: there is no such file"),
        (["prompts.csv"], "prompts.csv"),
        (["topic.yaml", "--host", "0.0.0.0"], "it listens on 127.0.0.1 only"),
        (["topic.yaml", "--host", "::"], "ssh -L 8000:127.0.0.1:8000"),
        (["topic.yaml", "--port", "70000"], "is not in the range"),
    ],
)
def test_what_cannot_be_served_is_said(run: Run, arguments: list[str], said: str) -> None:
    result = run("serve", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_taken_port_is_said(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", *FILES, "--port", str(port))
    assert (result.code, result.out) == (2, "")
    assert f"port {port} of 127.0.0.1 cannot be used" in result.err
    assert "--port 0" in result.err


def test_a_missing_extra_is_said(run_process: Run, folder: Path) -> None:
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "textual_serve.py").write_text(
        "raise ModuleNotFoundError('no', name='textual_serve')\n", "utf-8"
    )
    path = os.pathsep.join([str(hidden), str(Path(__file__).parents[2])])
    result = run_process("serve", *FILES, PYTHONPATH=path)
    assert (result.code, result.out) == (2, "")
    assert 'pip install "guardtui[serve]"' in result.err


def test_every_word_of_the_command_is_quoted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    topic, prompts = Path("-x'; touch pwned #"), Path("$(touch pwned)\n`x`")
    words = shlex.split(app_command(topic, prompts))
    assert words[0] == sys.executable
    assert words[1:5] == ["-P", "-m", "guardtui", "open"]
    assert words[5:] == [f"--prompts={prompts}", "--", str(topic)]
