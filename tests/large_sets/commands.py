"""`guardtui eval` as a process, and what a run that is slow enough to be caught has cached."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.large_sets.large_prompts import TOPIC, write_prompts

COUNT = 6000
"""Prompts of the file: twelve chunks of the encoder `static`."""

Process = subprocess.Popen[str]

_SLOW = """
import sys, time
from guardtui.large_sets import workers
usual = workers.encode_half
def encode_half(name, texts):
    time.sleep(0.4)
    return usual(name, texts)
encode_half.__module__, encode_half.__qualname__ = workers.__name__, "encode_half"
workers.encode_half = encode_half
"""


def write_inputs(folder: Path, count: int = COUNT) -> Path:
    """Write a topic and a prompt file, and return the folder."""
    (folder / "topic.yaml").write_text(TOPIC, encoding="utf-8")
    write_prompts(folder / "prompts.csv", count)
    return folder


def slow_environment(folder: Path) -> dict[str, str]:
    """Return variables with which workers are slow."""
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text(_SLOW, encoding="utf-8")
    paths = (str(folder / "slow"), os.environ.get("PYTHONPATH", ""))
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def begin(folder: Path, *words: str, cache: str = "cache", **environment: str) -> Process:
    """Start `guardtui eval` with these options and a cache of its own."""
    variables = {
        **os.environ,
        "GUARDTUI_CACHE": str(folder / cache),
        "GUARDTUI_DATA": str(folder / "data"),
        **environment,
    }
    arguments = (
        "eval",
        "topic.yaml",
        "--prompts",
        "prompts.csv",
        "--set",
        "encoder=static",
        *words,
    )
    return subprocess.Popen(
        [sys.executable, "-m", "guardtui", *arguments],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    folder: Path, *words: str, cache: str = "cache", **environment: str
) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    process = begin(folder, *words, cache=cache, **environment)
    out, err = process.communicate()
    return process.returncode, out, err


def reports(folder: Path, cache: str, *words: str) -> list[bytes]:
    """Return reports in several formats, made with these options and with a cache of their own."""
    names = [f"{cache}.{ending}" for ending in ("json", "md", "csv", "html")]
    outputs = [word for name in names for word in ("-o", name)]
    code, _, err = run(folder, *words, *outputs, cache=cache, SOURCE_DATE_EPOCH="0")
    assert code == 0, err
    return [(folder / name).read_bytes() for name in names]


def cached(folder: Path, cache: str = "cache") -> int:
    """Return the number of cached vectors."""
    for path in (folder / cache).glob("vectors-*.sqlite3"):
        with closing(sqlite3.connect(path)) as database:
            try:
                (count,) = database.execute("SELECT count(*) FROM vectors").fetchone()
            except sqlite3.OperationalError:  # not yet created
                return 0
            return int(count)
    return 0


def wait_for_vectors(process: Process, folder: Path) -> None:
    """Wait until some vectors are cached, but not all."""
    while not cached(folder):
        assert process.poll() is None, process.communicate()
