"""`guardtui serve`: a server of its own process, asked over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from guardtui.cli.open import command as open_command
from guardtui.cli.serve.command import app_command, command

from .conftest import Run

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")
pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="POSIX signals")]

FILES = ("topic.yaml", "--prompts", "prompts.csv")


class Served:
    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        *arguments: str,
        command: Sequence[str] = (),
    ) -> None:
        ours = ("-m", "guardtui", "serve", *arguments, "--port", "0")
        self.process = subprocess.Popen(
            [sys.executable, *(command or ours)],
            cwd=folder,
            env={**environment, "GUARDTUI_DATA": str(folder / "data")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.opening = self.process.stdout.readline().strip()
        self.url, _, self.token = self.opening.partition("/#")
        self.port = int(self.url.rpartition(":")[2])
        self.app = f"{self.url}/ws/{self.token}"

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said


@pytest.fixture
def served(folder: Path, environment: dict[str, str]) -> Iterator[Served]:
    (folder / "it's; a $(touch pwned) topic.yaml").write_bytes((folder / "topic.yaml").read_bytes())
    server = Served(folder, environment, "it's; a $(touch pwned) topic.yaml", *FILES[1:])
    yield server
    server.process.kill()
    server.process.communicate()


async def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    async with (
        aiohttp.ClientSession() as client,
        client.get(url, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status, await answer.text(errors="replace"), dict(answer.headers)


def test_the_page_comes_over_a_socket(served: Served) -> None:
    assert served.url.startswith("http://127.0.0.1:")
    status, page, headers = asyncio.run(get(served.url))
    assert status == 200
    assert "pwned" not in page
    assert "127.0.0.1" not in page  # addresses are relative: the same page as localhost
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert f"connect-src 'self' ws://127.0.0.1:{served.port};" in policy
    script = asyncio.run(get(f"{served.url}/static/js/textual.js"))
    assert script[0] == 200
    for path in re.findall(r'(?:src|href|url)[=(]"(static/[^"]+)"', page):
        assert asyncio.run(get(f"{served.url}/{path}"))[0] == 200
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


def test_foreign_pages_are_refused(served: Served) -> None:
    for path in ("/", "/ws", "/static/js/textual.js"):
        for header in (
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
            {"Origin": f"http://localhost:{served.port}"},  # another host than that of the request
            {"Origin": "null"},
        ):
            status, text, _ = asyncio.run(get(served.url + path, **header))
            assert (status, text) == (403, "guardtui answers only pages of its own\n")


SIGNS = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
OPENING = {**SIGNS, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}


def test_no_app_is_opened_without_the_token(served: Served) -> None:
    assert len(served.token) >= 32
    for path in ("/ws", "/ws/", f"/ws?token={served.token}", f"/?token={served.token}"):
        assert asyncio.run(get(served.url + path, **OPENING))[0] in (200, 404)
    for token in ("x", "null", "%C3%A9", "%ED%A0%80", served.token[:-1], served.token + "A"):
        status, text, _ = asyncio.run(get(f"{served.url}/ws/{token}", **OPENING))
        assert (status, text) == (403, "guardtui: this is not the token of this server\n")
        cookies = f"guardtui-{served.port}={served.token}; token={served.token}"
        assert asyncio.run(get(f"{served.url}/ws/{token}", Cookie=cookies, **OPENING))[0] == 403
    assert asyncio.run(get(f"{served.url}/download/x"))[0] == 404
    assert served.end()[1].count("warning") == 0


def test_the_token_is_in_no_answer_argument_or_cookie(served: Served) -> None:
    for path in ("/", "/ws/x", "/static/js/textual.js"):
        _, text, headers = asyncio.run(get(served.url + path))
        assert served.token not in text + str(headers)
        assert "Set-Cookie" not in headers
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
    command = Path(f"/proc/{served.process.pid}/cmdline")
    assert not command.exists() or served.token.encode() not in command.read_bytes()
    assert served.token not in served.end()[1]


def test_unknown_and_very_long_paths_are_not_found(served: Served) -> None:
    for path in ("static/" + "a" * 7000, "static/..%2f..%2fserver.py", "static/css", "other"):
        assert asyncio.run(get(f"{served.url}/{path}"))[0] == 404
    assert served.end()[1].count("warning") == 0


def test_localhost_and_the_near_end_of_a_tunnel_work(served: Served) -> None:
    own_port = served.port
    for name in (f"localhost:{own_port}", f"LOCALHOST:{own_port}", "localhost:9", "127.0.0.1:9"):
        status, _, headers = asyncio.run(get(served.url, Host=name))
        assert status == 200
        assert f"ws://{name};" in headers["Content-Security-Policy"]
        for origin, expected in ((f"http://{name}", 200), (f"http://{name}0", 403)):
            both = {"Host": name, "Origin": origin}
            assert asyncio.run(get(served.url, **both))[0] == expected


def test_other_names_of_this_machine_are_refused(served: Served) -> None:
    for name in ("127.0.0.1.evil.example", "localhost.", "[::1]", "0.0.0.0", "a@localhost"):
        host = f"{name}:{served.port}"
        both = {"Host": host, "Origin": f"http://{host}"}
        assert asyncio.run(get(served.url, **both))[0] == 403


async def shown(socket_: Any, text: str) -> bytes:
    """Read what the app shows until a text is in it."""
    screen = b""
    while text.encode() not in screen:
        message = await socket_.receive(timeout=120)
        assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
        screen += message.data if isinstance(message.data, bytes) else b""
    return screen


async def typed(socket_: Any, keys: str) -> None:
    """Type into the field that has the cursor, and see it there."""
    await socket_.send_json(["stdin", keys])
    await shown(socket_, keys)


@asynccontextmanager
async def opened_app(served: Served) -> AsyncIterator[Any]:
    """Open the app as the page does, and wait for its metrics."""
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(
            f"{served.app}?width=120&height=40", headers={"Origin": served.url}
        ) as socket_,
    ):
        assert b"Tax advice" in await shown(socket_, "TPR")
        yield socket_


async def type_into_the_app(served: Served) -> tuple[int, str]:
    """See metrics, edit, leave the app open; then end the server."""
    async with opened_app(served) as socket_:
        await typed(socket_, "zq")
        ending = asyncio.create_task(asyncio.to_thread(served.end))
        async for _message in socket_:
            pass  # a browser answers the closing, and so does this
        return await ending


def drafts(folder: Path) -> str:
    """Everything that the session database of a folder holds."""
    with closing(sqlite3.connect(folder / ".guardtui" / "sessions.sqlite3")) as store:
        return "\n".join(store.iterdump())


def test_an_edit_over_the_websocket(served: Served, folder: Path) -> None:
    code, said = asyncio.run(type_into_the_app(served))
    assert code == 130, said
    assert "Traceback" not in said, said
    assert not (folder / "pwned").exists()
    assert "zq" in drafts(folder)  # the draft of the app that was open


ODD = [
    *("", "[]", "{}", "null", "1", '"stdin"', "[", "[" * 100_000, "nan", "[NaN]"),
    *('["stdin"]', '["stdin", 1]', '["stdin", null]', '["stdin", "a", "b"]', '["other", {}]'),
    *('["resize"]', '["resize", {}]', '["resize", [80, 24]]', '["quit"]', '[["stdin"], "x"]'),
    *('["ping"]', '["ping", {}]', '["ping", ["x"]]', '["blur", 1]', '["focus", null]'),
    *(
        json.dumps(["resize", {"width": width, "height": height}])
        for width, height in (
            ("a", None),
            ("80", "24"),
            (-1, 24),
            (0, 0),
            (80, 10**9),
            (10**30, 24),
            (1e300, 24),
            (80.5, 24),
            ([], {}),
        )
    ),
]


@pytest.mark.parametrize("query", ["", "?width=-1&height=a", "?width=99999999999&height=%00"])
def test_odd_messages_are_ignored_and_the_app_goes_on(served: Served, query: str) -> None:
    async def talk() -> None:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(served.app + query) as socket_,
        ):
            await shown(socket_, "Tax advice")
            for odd in ODD:
                await socket_.send_str(odd)
                await socket_.send_bytes(odd.encode())
            await socket_.send_str('["stdin", "\\ud800"]')  # no character
            await socket_.send_json(["resize", {"width": 120, "height": 40}])
            await shown(socket_, "TPR")
            await typed(socket_, "zq")
            with contextlib.suppress(ConnectionError):  # closed before it is all sent
                await socket_.send_str(json.dumps(["stdin", "a" * (5 << 20)]))
            while not socket_.closed:
                await socket_.receive(timeout=120)
        await owner_is_served(served)

    asyncio.run(talk())
    said = served.end()[1]
    assert "warning" not in said
    assert "Traceback" not in said


def children(process: int) -> list[int]:
    """Processes that a process started."""
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if path.read_text("utf-8").rpartition(")")[2].split()[1] == str(process)
    ]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no way to wait for a stranger's child")
def test_a_killed_server_leaves_no_app_and_loses_nothing(served: Served, folder: Path) -> None:
    async def edit_and_kill() -> int:
        async with opened_app(served) as socket_:
            await typed(socket_, "zq")
            (app,) = children(served.process.pid)
            handle = os.pidfd_open(app)
            served.process.kill()
            return handle

    handle = asyncio.run(edit_and_kill())
    assert select.select([handle], [], [], 120)[0]  # it has ended
    os.close(handle)
    assert "zq" in drafts(folder)


async def owner_is_served(served: Served) -> None:
    for path in ("/", "/static/js/textual.js"):
        assert (await get(served.url + path))[0] == 200


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_many_open_connections_do_not_keep_the_owner_out(
    folder: Path, environment: dict[str, str], begun: bytes
) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96));"
    command = ["-c", f"{limited} from guardtui.cli.main import main; main()", "serve", *FILES]
    served = Served(folder, environment, command=[*command, "--port", "0"])

    async def press_on() -> None:
        async with opened_app(served) as socket_:
            with ExitStack() as held:
                for _ in range(400):
                    one = socket.create_connection(("127.0.0.1", served.port))
                    held.enter_context(one)
                    with contextlib.suppress(OSError):  # it may be closed already
                        one.sendall(begun)
                await owner_is_served(served)
                await typed(socket_, "zq")
            await owner_is_served(served)

    asyncio.run(press_on())
    said = served.end()[1]
    assert said.count("warning") == 1
    assert "opens many connections without the token" in said
    assert "Traceback" not in said


_IMPATIENT = """
from guardtui.cli.serve import visitors
from guardtui.cli.main import main
visitors.PATIENCE = 0.2
main()
"""


def test_connections_without_the_token_are_closed_after_some_time(
    folder: Path, environment: dict[str, str]
) -> None:
    command = ["-c", _IMPATIENT, "serve", *FILES, "--port", "0"]
    served = Served(folder, environment, command=command)

    async def wait() -> None:
        async with opened_app(served) as socket_:
            for begun in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", served.port), timeout=120) as one:
                    one.sendall(begun)
                    with contextlib.suppress(ConnectionResetError):
                        while await asyncio.to_thread(one.recv, 65536):
                            pass
            await typed(socket_, "zq")  # the owner's stays

    asyncio.run(wait())
    assert "warning" not in served.end()[1]


NO_REQUESTS = [
    *(b"\x16\x03\x01\x02\x00\x01\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100_000),
    *(b"GET /\x00 HTTP/1.1\r\n\r\n", b"GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
]


def test_what_is_no_request_leaves_no_line_in_the_terminal(served: Served) -> None:
    for text in NO_REQUESTS:
        with (
            socket.create_connection(("127.0.0.1", served.port), timeout=120) as one,
            contextlib.suppress(ConnectionResetError, BrokenPipeError),
        ):
            one.sendall(text)
            assert one.recv(12)[9:] in (b"400", b"403")
    asyncio.run(owner_is_served(served))
    assert served.end()[1].splitlines()[2:] == ["", "interrupted"]


_SLOW_APP = """\
import os, pathlib, sys, time
sys.stdout.write("__GANGLION__\\n")
sys.stdout.flush()
os.read(0, 1)
os.close(1)
os.close(2)
time.sleep(2)
pathlib.Path("ended").touch()
"""
_SERVER_OF_IT = """\
import sys
from guardtui.cli.serve import command as serve
from guardtui.cli.main import main
serve.app_command = lambda *_: sys.argv[1:]
main(["serve", "--port", "0"])
"""


def test_the_server_ends_after_an_app_that_ends_after_its_output(
    folder: Path, environment: dict[str, str]
) -> None:
    app = [sys.executable, "-c", _SLOW_APP]
    served = Served(folder, environment, command=["-c", _SERVER_OF_IT, *app])

    async def connect() -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(served.app, headers={"Origin": served.url}) as socket_,
        ):
            await socket_.send_json(["ping", "x"])
            await socket_.receive(timeout=120)
            ending = asyncio.create_task(asyncio.to_thread(served.end))
            async for _message in socket_:
                pass  # a browser answers the closing, and so does this
            return await ending

    code, said = asyncio.run(connect())
    assert code == 130
    assert said.endswith("\ninterrupted\n")
    assert (folder / "ended").exists()


def test_terminated(served: Served) -> None:
    code, said = served.end(signal.SIGTERM)
    assert (code, "Traceback" in said) == (143, False)


def test_a_taken_port_is_reported(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", *FILES, "--port", str(port))
    assert (result.code, result.out) == (2, "")
    assert f"port {port} of 127.0.0.1 cannot be used" in result.err
    assert "--port 0" in result.err


def test_a_missing_extra_is_reported(run_process: Run, folder: Path) -> None:
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "textual_serve.py").write_text(
        "raise ModuleNotFoundError('no', name='textual_serve')\n", "utf-8"
    )
    path = os.pathsep.join([str(hidden), str(Path(__file__).parents[2])])
    result = run_process("serve", *FILES, PYTHONPATH=path)
    assert (result.code, result.out) == (2, "")
    assert 'pip install "guardtui[serve]"' in result.err


def test_the_app_gets_the_options_word_by_word(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.chdir(folder)
    options = [
        *("--prompts=$(touch pwned)\n`x`", "--set=encoder=static", "--threshold=0.6", "--fresh"),
        *("--guardrail=judge:http://localhost:1/v1#m,n", "--set=price-in=0.5", "--set=budget=1.5"),
        *("--set=model-option.seed=7", "--epochs=3", "--metric=accuracy()"),
    ]
    words = app_command(command.make_context("serve", [*options, "--port=0", "--", "-x'; #"]))
    assert words[0] == sys.executable
    assert words[1:5] == ["-P", "-m", "guardtui", "open"]
    assert sorted(words[5:-2]) == sorted(options)
    assert words[-2:] == ["--", "-x'; #"]
    assert open_command.make_context("open", words[5:]).params["settings"] == (
        "encoder=static",
        "price-in=0.5",
        "budget=1.5",
        "model-option.seed=7",
    )


def test_every_option_of_open_is_one_of_serve() -> None:
    assert {one.name for one in command.params} - {one.name for one in open_command.params} == {
        "port",
        "host",
    }


def test_the_served_app_has_the_options(folder: Path, environment: dict[str, str]) -> None:
    served = Served(folder, environment, *FILES, "--threshold", "0.625", "--set", "encoder=static")

    async def look() -> None:
        async with opened_app(served) as socket_:
            await socket_.send_json(["resize", {"width": 120, "height": 70}])
            await socket_.send_json(["stdin", "\x00vf"])  # all figures
            await shown(socket_, "0.625")

    asyncio.run(look())
    served.end()
