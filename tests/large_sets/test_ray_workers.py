"""Prompts embedded on a Ray cluster: of this process, and one that is joined; skipped without ray.

pip install 'guardtui[ray]' && pytest -m process tests/large_sets/test_ray_workers.py
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from guardtui.large_sets.workers import WorkersError, encode_half
from guardtui.scanners.local.encoder import load_encoder
from guardtui.scanners.local.vectors import encode_chunks
from tests.large_sets.commands import (
    begin,
    cached,
    reports,
    run,
    slow_environment,
    wait_for_vectors,
    write_inputs,
)

pytestmark = [
    pytest.mark.process,
    # Ray leaves files and sockets to the end of the process.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc"),
]
if importlib.util.find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)

# A token of our own, as Ray would put one into the home folder; it reads it when it is imported.
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_AUTH_MODE"] = "token"

TEXTS = [f"Can I deduct item {number}?" for number in range(2000)]


def never() -> bool:
    return False


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return write_inputs(tmp_path)


@dataclass(frozen=True)
class Cluster:
    """Addresses of a cluster with two cores."""

    clients: str
    head: str


def free_ports() -> Iterator[int]:
    """Ports that nobody has now and that Ray does not give to its workers (10002 to 19999)."""
    for port in range(23_000 + os.getpid() % 5_000, 32_000):
        with closing(socket.socket()) as candidate:
            try:
                candidate.bind(("0.0.0.0", port))
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


def test_report_is_the_same_to_the_byte_from_ray_on_this_machine(here: Path) -> None:
    assert reports(here, "ray", "--ray") == reports(here, "one")
    assert cached(here, "ray") == cached(here, "one")


@pytest.mark.parametrize("kind", ["clients", "head"])
def test_report_is_the_same_to_the_byte_from_a_joined_cluster(
    here: Path, cluster: Cluster, kind: str
) -> None:
    # A worker that would use our folders would not see them there.
    assert reports(here, "ray", "--ray", getattr(cluster, kind)) == reports(here, "one")


def test_ray_writes_nothing_to_the_terminal(here: Path) -> None:
    code, out, err = run(here, "--ray")
    assert code == 0
    assert "coverage" in out
    assert err == run(here)[2]


def test_lost_worker_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from guardtui.large_sets import ray_workers

    marker = str(tmp_path / "lost")

    def encode(name: str, weights: str, texts: Sequence[str]) -> object:
        if not os.path.exists(marker):  # noqa: PTH110 - pickled by value
            open(marker, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return encode_half(name, texts)

    monkeypatch.setattr(ray_workers, "_encode", encode)
    encoder = load_encoder("static")
    with ray_workers.ray_workers() as encode_remotely:
        chunks = list(encode_remotely(encoder, TEXTS, stopped=never))
    assert Path(marker).exists()
    for (_, vectors), (_, wanted) in zip(
        chunks, encode_chunks(encoder, TEXTS, stopped=never), strict=True
    ):
        assert vectors.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        ("lost", r"the cluster gave up .*\n.*run it again"),
        ("import", r"cannot import guardtui as it is here"),
        ("weights", r"other weights of the engine\n"),
    ],
)
def test_failure_of_a_node_is_reported(
    monkeypatch: pytest.MonkeyPatch, failure: str, says: str
) -> None:
    from guardtui.large_sets import ray_workers

    def encode(name: str, weights: str, texts: Sequence[str]) -> object:
        if failure == "lost":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ImportError("no module named guardtui")

    if failure == "weights":
        usual = ray_workers._encode
        monkeypatch.setattr(
            ray_workers, "_encode", lambda name, weights, texts: usual(name, "others", texts)
        )
    else:
        monkeypatch.setattr(ray_workers, "_encode", encode)
    monkeypatch.setattr(ray_workers, "_RETRIES", 0)
    with ray_workers.ray_workers() as encode_remotely, pytest.raises(WorkersError, match=says):
        list(encode_remotely(load_encoder("static"), TEXTS[:600], stopped=never))


def test_cluster_with_a_token_names_its_variables(here: Path, cluster: Cluster) -> None:
    # Ray asks a server that refuses three times, with pauses of up to 15 s.
    code, out, err = run(
        here,
        *("--ray", cluster.clients),
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
    code, out, err = run(here, "--ray", address)
    assert (code, out) == (3, "")
    assert says in err
    assert "Traceback" not in err


def test_interrupted_run_is_completed_by_the_same_command(here: Path) -> None:
    process = begin(here, "--ray", **slow_environment(here))
    wait_for_vectors(process, here)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    before = cached(here)
    assert run(here, "--ray", "--format", "json")[1] == run(here, "--format", "json", cache="1")[1]
    assert 0 < before < cached(here)
