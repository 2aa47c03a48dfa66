"""Shards on a Ray cluster: one of this process, and one that is joined; skipped without ray.

pip install 'guardtui[ray]' && pytest tests/shards/test_ray_executor.py
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from guardtui.files.problems import FileError
from guardtui.shards.executors import ExecutorError, make_executor
from guardtui.shards.large_set import LargeSet, cut
from guardtui.shards.merge import merge
from guardtui.shards.parts import Manifest
from guardtui.shards.shard import Shard
from guardtui.shards.work import ShardJob
from tests.cli.test_shards import begin, evaluate, here, run, sayings
from tests.shards.conftest import TOPIC
from tests.shards.test_merge import evaluated, said

pytestmark = [
    # Ray leaves files and sockets to the end of the process.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc"),
]
if importlib.util.find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)

# A token of our own, as Ray would put one into the home folder; it reads it when it is imported.
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_AUTH_MODE"] = "token"

ROOT = Path(__file__).parents[2]
__all__ = ["here"]  # a fixture


@dataclass(frozen=True)
class Cluster:
    """A head with two cores."""

    clients: str
    head: str


def free_ports() -> Iterator[int]:
    """Ports that nobody has now and that Ray does not give to its workers (10002 to 19999)."""
    for port in range(23_000 + os.getpid() % 5_000, 32_000):
        with closing(socket.socket()) as one:
            try:
                one.bind(("0.0.0.0", port))
            except OSError:
                continue
        yield port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    ports = free_ports()
    head, clients = next(ports), next(ports)
    process = subprocess.Popen(
        [
            str(Path(sys.executable).with_name("ray")),
            *("start", "--head", "--block", "--num-cpus=2", "--include-dashboard=false"),
            *(f"--port={head}", f"--ray-client-server-port={clients}"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path_factory.mktemp("elsewhere"),
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "Ray runtime started" in line:
            break
    else:
        pytest.fail("ray start ended")
    yield Cluster(f"ray://127.0.0.1:{clients}", f"127.0.0.1:{head}")
    process.terminate()
    process.communicate()


def workers() -> list[int]:
    """Actors of this process' cluster."""
    results = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
                if command.startswith(b"ray::_Actor") and is_below(int(folder.name)):
                    results.append(int(folder.name))
            except OSError:
                continue
    return results


def is_below(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        process = int(text.rpartition(")")[2].split()[1])
    return False


def test_cluster_results_equal_those_of_one_process(source: Path, tmp_path: Path) -> None:
    one = said(evaluated(source, tmp_path / "one", 1))
    assert said(evaluated(source, tmp_path / "ray", 7, "ray")) == one


def begun(source: Path, folder: Path, count: int = 12) -> tuple[LargeSet, ShardJob]:
    large = cut(source, folder, count)
    assert large is not None
    return large, ShardJob(folder, TOPIC, "static")


def test_killed_worker_is_replaced(source: Path, tmp_path: Path) -> None:
    large, job = begun(source, tmp_path / "set")
    landed = make_executor("ray", 2).run(job, large.all_shards())
    results = [next(landed)]
    (victim, *_) = before = workers()
    os.kill(victim, signal.SIGKILL)
    results += landed
    assert len(before) == 2
    assert sorted(one.shard for one in results) == large.all_shards()
    merged = merge(job.worker().run)
    merged.write()
    assert said(merged) == said(evaluated(source, tmp_path / "one", 1))


def test_repeatedly_lost_worker_is_given_up(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from guardtui.shards import ray_executor

    class Doomed:
        def __init__(self, job: ShardJob) -> None: ...

        def evaluate(self, shard: Shard) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ray_executor, "_Actor", Doomed)
    large, job = begun(source, tmp_path / "set", 2)
    with pytest.raises(ExecutorError, match=r"the cluster gave up .*\n.*run it again"):
        list(make_executor("ray", 1).run(job, large.all_shards()))


@pytest.mark.parametrize("name", ["processes", "ray"])
def test_file_error_of_a_worker_equals_the_local_one(
    name: str, source: Path, tmp_path: Path
) -> None:
    large, job = begun(source, tmp_path / "set", 3)
    path = large.rows_path(Shard(1, 3))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(FileError, match=r"00001-of-00003.parquet: .*half of one") as found:
        list(make_executor(name, 2).run(job, large.all_shards()))
    assert found.value.path == str(path)
    with pytest.raises(FileError, match=r"set\.json is missing"):
        list(make_executor(name, 2).run(ShardJob(tmp_path, TOPIC, "static"), [Shard(0, 3)]))


def test_stopped_run_keeps_finished_shards(source: Path, tmp_path: Path) -> None:
    large, job = begun(source, tmp_path / "set")
    results: list[Manifest] = []
    executor = make_executor("ray", 2)
    landed = executor.run(job, large.all_shards(), lambda: bool(results))
    results.append(next(landed))
    results += landed
    assert 1 <= len(results) <= 2
    assert not workers()
    assert len(list(executor.run(job, large.all_shards()))) == 12


def on_ray(*more: str) -> list[str]:
    return evaluate("--out", "many", "--shards", "9", "--executor", "ray", *more)


def test_ray_writes_nothing_to_the_terminal(here: Path) -> None:
    assert run(here, *evaluate("--out", "one", "--shards", "1", "--jobs", "1"))[0] == 0
    code, out, err = run(here, *on_ray("--jobs", "2"))
    assert (code, err) == (0, "")
    assert "coverage" in out
    assert sayings(here / "many") == sayings(here / "one")


@pytest.mark.parametrize("jobs", ["1", "5"])
@pytest.mark.parametrize("kind", ["clients", "head"])
def test_existing_cluster_is_joined(here: Path, cluster: Cluster, kind: str, jobs: str) -> None:
    assert run(here, *evaluate("--out", "one", "--shards", "1", "--jobs", "1"))[0] == 0
    # More workers than cores: some of them wait until others are done.
    code, out, err = run(here, *on_ray("--address", getattr(cluster, kind), "--jobs", jobs))
    assert (code, err) == (0, "")
    assert "coverage" in out
    assert sayings(here / "many") == sayings(here / "one")


def test_without_jobs_there_is_a_worker_for_each_core_of_the_cluster(
    source: Path, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)  # as this machine might have
    large, job = begun(source, tmp_path / "set", 9)
    made: list[int] = []
    from guardtui.shards import ray_executor

    dismiss = ray_executor._dismiss
    monkeypatch.setattr(
        ray_executor, "_dismiss", lambda actors: (made.append(len(actors)), dismiss(actors))[1]
    )
    landed = list(make_executor("ray", None, cluster.head).run(job, large.all_shards()))
    assert len(landed) == 9
    assert sum(made) == 2


def test_documented_script_runs(here: Path, cluster: Cluster) -> None:
    (here / "bin").mkdir()
    program = here / "bin" / "guardtui"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m guardtui "$@"\n', "utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", str(ROOT / "docs" / "pages" / "ray_scale.sh"), "--shards", "5"],
        cwd=here,
        env={
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "GUARDTUI_CACHE": str(here / "cache"),
            "GUARDTUI_DATA": str(here / "data"),
            "TOPIC": "topic.yaml",
            "PROMPTS": "prompts.csv",
            "OUT": "many",
            "CLUSTER": cluster.clients,
            "JOBS": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert run(here, *evaluate("--out", "one", "--shards", "1", "--jobs", "1"))[0] == 0
    assert sayings(here / "many") == sayings(here / "one")


def test_cluster_with_a_token_names_its_variables(here: Path, cluster: Cluster) -> None:
    # Ray asks a server that refuses three times, with pauses of up to 15 s.
    code, out, err = run(
        here,
        *on_ray("--address", cluster.clients),
        RAY_AUTH_MODE="",
        RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S="1",
        RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S="1",
    )
    assert (code, out) == (3, "")
    assert "set RAY_AUTH_MODE=token" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("ray://127.0.0.1:1", "joined at ray://127.0.0.1:1 (Connection refused)"),
        ("127.0.0.1:1", "is it running"),
        ("ray://nowhere.invalid:10001", "nowhere.invalid"),
        ("ray://host:port", "is not the address of a cluster"),
    ],
)
def test_missing_cluster_is_reported(here: Path, address: str, says: str) -> None:
    code, out, err = run(here, *on_ray("--address", address))
    assert (code, out) == (3, "")
    assert says in err
    assert "Traceback" not in err


def test_interrupted_run_is_resumed_later(here: Path) -> None:
    process = begin(here, *evaluate("--out", "many", "--shards", "60"), "--executor", "ray")
    while not list((here / "many").glob("runs/*/*-of-*.json")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not workers()
    code, _, err = run(here, *evaluate("--out", "many", "--shards", "60"))
    assert (code, err) == (0, "")
