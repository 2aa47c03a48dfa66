"""Every test has its own cache and data folder, so that none sees the author's own."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# One thread for each library that computes, set before numpy and polars are imported: arrays in
# tests are small, workers have all cores already, and waiting threads spin.
for _library in ("OMP", "OPENBLAS", "MKL", "RAYON"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")


def memory_folder() -> str | None:
    """Return a folder in memory with room for all that the tests write; None without one."""
    if sys.platform != "linux":
        return None
    folder = "/dev/shm"
    if not os.access(folder, os.W_OK):
        return None
    system = os.statvfs(folder)
    room = system.f_bavail * system.f_frsize > 2 << 30
    return folder if room and not system.f_flag & os.ST_NOEXEC else None


# Sessions are written through to the disk, which is a fifth of the time of their tests.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and (_memory := memory_folder()):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = _memory

# No deadlines: how long an example takes says how busy the machine is.
settings.register_profile("fast", deadline=None, max_examples=10)
settings.register_profile("exhaustive", deadline=None, max_examples=100)
settings.load_profile("fast")

_numbers = itertools.count()


def pytest_configure() -> None:
    """Have processes that tests start hear interrupts: a shell's background jobs ignore them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: those of archives hold the time at which they were made, and
    workers that collect tests at different seconds must give them the same names.
    """
    return argname if isinstance(val, bytes) else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import modules that hold ours against other implementations only in their stage."""
    compares = collection_path.name.startswith("test_against_")
    return True if compares and "not exhaustive" in config.option.markexpr else None


def pytest_collection_finish() -> None:
    """Have the garbage collector skip what stays: by default it walks every collected test and
    every imported module some ten times while one app starts, a third of what the app costs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Leave nothing to the five collections with which pytest ends, seconds of each worker."""
    gc.freeze()


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Numbered here, and apart: for each `tmp_path` pytest lists all folders that lie beside it.
    folder = tmp_path_factory.getbasetemp() / "own" / str(next(_numbers))
    folder.mkdir(parents=True)
    monkeypatch.setenv("GUARDTUI_CACHE", str(folder / "cache"))
    monkeypatch.setenv("GUARDTUI_DATA", str(folder / "data"))
    monkeypatch.setenv("GUARDTUI_CONFIG", str(folder / "config.yaml"))
    return folder
