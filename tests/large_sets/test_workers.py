"""Prompts embedded by several processes: the same report, and nothing lost if one is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.large_sets.workers import WorkersError, encode_half, make_workers, processes
from guardtui.scanners.local.encoder import load_encoder
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import EncodeChunks, encode_chunks
from tests.large_sets.commands import (
    begin,
    cached,
    reports,
    run,
    slow_environment,
    wait_for_vectors,
    write_inputs,
)

TEXTS = [f"Can I deduct item {number}? {'really ' * (number % 7)}" for number in range(1500)]


def never() -> bool:
    return False


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return write_inputs(tmp_path)


def test_a_worker_rounds_vectors_as_the_cache_does() -> None:
    [(rows, vectors)] = encode_chunks(load_encoder("static"), TEXTS[:9], stopped=never)
    halves = encode_half("static", [TEXTS[row] for row in rows])
    assert halves.astype("float32").tobytes() == vectors.tobytes()


def test_cached_prompts_are_not_embedded_again(tmp_path: Path) -> None:
    def encode(*_: object, **__: object) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        raise AssertionError

    here = write_inputs(tmp_path, 40)
    topic = load_topic(here / "topic.yaml").topic
    prompts = load_prompts(here / "prompts.csv")
    first = LocalScanner("static", cache=tmp_path).evaluate_now(topic, prompts)
    again = LocalScanner("static", cache=tmp_path, encode=encode).evaluate_now(topic, prompts)
    assert first is not None
    assert again is not None
    assert again.verdicts.score.tobytes() == first.verdicts.score.tobytes()


def test_missing_ray_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "guardtui.large_sets.ray_workers", raising=False)
    with pytest.raises(WorkersError, match=r"which --ray needs\n  pip install 'guardtui\[ray\]'"):
        make_workers(None, "")


@pytest.mark.process
def test_processes_give_the_vectors_of_this_one() -> None:
    encoder = load_encoder("static")
    with processes(2) as encode:
        chunks = list(encode(encoder, TEXTS, stopped=never))
    wanted = list(encode_chunks(encoder, TEXTS, stopped=never))
    assert [rows for rows, _ in chunks] == [rows for rows, _ in wanted]
    for (_, vectors), (_, others) in zip(chunks, wanted, strict=True):
        assert vectors.tobytes() == others.tobytes()


@pytest.mark.process
def test_stopped_workers_end_early() -> None:
    finished: list[int] = []
    with processes(1) as encode:
        for rows, _ in encode(load_encoder("static"), TEXTS * 8, stopped=lambda: bool(finished)):
            finished.append(len(rows))
    assert 1 <= len(finished) < len(TEXTS) * 8 / 512


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc")
def test_a_killed_worker_is_reported_and_finished_chunks_stay() -> None:
    finished = 0

    def embed(encode: EncodeChunks) -> None:
        nonlocal finished
        chunks = encode(load_encoder("static"), TEXTS * 8, stopped=never)
        for rows, _ in chunks:
            finished += len(rows)
            for worker in children(os.getpid()):
                os.kill(worker, signal.SIGKILL)

    with processes(1) as encode, pytest.raises(GuardtuiError, match="a worker ended during its"):
        embed(encode)
    assert finished


@pytest.mark.process
def test_reports_are_the_same_to_the_byte_from_one_process_and_several(here: Path) -> None:
    assert reports(here, "one") == reports(here, "many", "--jobs", "2")
    assert cached(here, "many") == cached(here, "one")


@pytest.mark.process
def test_killed_run_is_completed_by_the_same_command(here: Path) -> None:
    victim = begin(here, "--jobs", "2", **slow_environment(here))
    wait_for_vectors(victim, here)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    before = cached(here)
    code, out, _ = run(here, "--jobs", "2", "--format", "json")
    assert code == 0
    assert out == run(here, "--format", "json", cache="one")[1]
    assert 0 < before < cached(here)


def children(process: int) -> list[int]:
    """Return the workers of a process, by their numbers."""
    results = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
                if int(parent) == process and b"spawn_main" in (folder / "cmdline").read_bytes():
                    results.append(int(folder.name))
            except OSError:
                continue
    return results


def is_at_work(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="workers are looked for in /proc")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)],
    ids=str,
)
def test_workers_end_with_the_process_that_began_them(
    here: Path, number: signal.Signals, code: int
) -> None:
    process = begin(here, "--jobs", "3", **slow_environment(here))
    wait_for_vectors(process, here)
    workers = children(process.pid)
    assert len(workers) == 3
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    until = time.monotonic() + 120
    while any(map(is_at_work, workers)):
        assert time.monotonic() < until, "a worker goes on without the process that began it"
