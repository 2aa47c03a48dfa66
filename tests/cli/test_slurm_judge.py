"""The script of an array of judges, with a stub in the place of vllm and SLURM's variables set."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from .conftest import NEGATIVE, POSITIVE, ROOT
from .grading_server import failed, grading_server

SCRIPT = ROOT / "docs" / "pages" / "slurm_judge.sh"
TASKS = 3

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="a script for bash")]

# Answers as a server does that still loads its model at first: nothing, then 503, then all.
VLLM = """\
#!{python}
import json, os, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
def given(name):
    return sys.argv[sys.argv.index(name) + 1]
assert sys.argv[1:3] == ["serve", "the/weights"], sys.argv
log = open(os.environ["STUB_LOG"], "a", buffering=1)
log.write(json.dumps({{"pid": os.getpid(), "port": given("--port")}}) + "\\n")
if os.environ.get("STUB") == "ends":
    sys.exit("no such weights")
looks = 0
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        global looks
        looks += 1
        ready = os.environ.get("STUB") != "loads" and looks > 1
        self.answer(200 if ready else 503, {{"data": [{{"id": given("--served-model-name")}}]}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = asked["messages"][-1]["content"]
        prompt = re.search(r"<<<prompt (\\w+)>>>\\n(.*)\\n<<<end", text, re.DOTALL)[2]
        log.write(json.dumps({{"prompt": prompt, "model": asked["model"]}}) + "\\n")
        said = "ANSWER: " + ("yes" if "tax" in prompt else "no")
        self.answer(200, {{"choices": [{{"message": {{"content": said}}}}]}})
    def log_message(self, *_):
        pass
class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
Server(("127.0.0.1", int(given("--port"))), Handler).serve_forever()
"""


class Cluster:
    """A folder of one's own, and the two commands that the script calls."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        programs = folder / "bin"
        programs.mkdir()
        for name, text in (
            ("vllm", VLLM.format(python=sys.executable)),
            ("guardtui", f'#!/bin/sh\nexec {sys.executable} -m guardtui "$@"\n'),
        ):
            (programs / name).write_text(text, "utf-8")
            (programs / name).chmod(0o755)
        self.folder, self.log = folder, folder / "stub.log"
        self.log.touch()
        self.environment = {
            **environment,
            "PATH": f"{programs}:{environment.get('PATH', '')}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "STUB_LOG": str(self.log),
            "TOPIC": "topic.yaml",
            "PROMPTS": "prompts.csv",
            "WEIGHTS": "the/weights",
            "PORT": str(free_port()),
        }

    def task(self, number: int, **more: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_COUNT": str(TASKS),
            **more,
        }
        return self.run("bash", str(SCRIPT), **variables)

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env={**self.environment, **more}, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def logged(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]

    def prompts(self) -> Counter[str]:
        return Counter(one["prompt"] for one in self.logged() if "prompt" in one)

    def servers_left(self) -> list[str]:
        return [one["pid"] for one in self.logged() if "pid" in one and _runs(int(one["pid"]))]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def cluster(folder: Path, environment: dict[str, str]) -> Cluster:
    return Cluster(folder, environment)


def _has_shards(cluster: Cluster) -> bool:
    return "--shard" in cluster.run("guardtui", "eval", "--help").stdout


def test_every_task_has_a_server_and_the_parts_fit_together(cluster: Cluster) -> None:
    if not _has_shards(cluster):
        pytest.skip("guardtui eval has no --shard yet")
    for number in range(TASKS):
        done = cluster.task(number)
        assert done.returncode == 0, done.stderr
        assert f"shard {number}/{TASKS}: " in done.stderr
    assert cluster.prompts() == dict.fromkeys((*POSITIVE, *NEGATIVE), 1)
    assert {one["model"] for one in cluster.logged() if "model" in one} == {"judge"}
    assert not cluster.servers_left()
    assert not list(cluster.folder.glob("tmp.*"))
    merged = cluster.run("guardtui", "merge", "judged", "--format", "json")
    assert merged.returncode == 0, merged.stderr
    assert json.loads(merged.stdout)["metrics"]["total"] == len(POSITIVE + NEGATIVE)
    # A task that is run once more asks nothing.
    again = cluster.task(1, SLURM_ARRAY_TASK_COUNT="1", SHARDS=str(TASKS))
    assert again.returncode == 0, again.stderr
    assert sum(cluster.prompts().values()) == len(POSITIVE + NEGATIVE)


def test_a_server_that_ends_ends_the_task(cluster: Cluster) -> None:
    done = cluster.task(0, STUB="ends")
    assert done.returncode == 3
    assert "no such weights" in done.stderr
    assert "the server ended before it answered" in done.stderr
    assert not list(cluster.folder.glob("tmp.*"))


def test_a_server_that_never_answers_is_stopped(cluster: Cluster) -> None:
    done = cluster.task(0, STUB="loads", LOADING="0")
    assert done.returncode == 3
    assert "the server does not answer after 0 s" in done.stderr
    assert not cluster.servers_left()


def test_a_task_does_not_ask_a_foreign_server_on_its_port(cluster: Cluster) -> None:
    with grading_server(lambda prompt, before: failed(500)) as other:
        done = cluster.task(0, PORT=other.url.rpartition(":")[2].removesuffix("/v1"))
        assert other.prompts == []
    assert done.returncode == 3
    assert "another server answers on port" in done.stderr
    assert cluster.logged() == []


def test_the_page_shows_the_script(cluster: Cluster) -> None:
    page = (ROOT / "docs" / "pages" / "scale.md").read_text("utf-8")
    assert "(slurm_judge.sh)" in page
    script = SCRIPT.read_text("utf-8")
    for line in re.findall(r"^guardtui eval.*?[^\\]$", script, re.MULTILINE | re.DOTALL):
        assert line in page
