"""Commands as a user runs them: arguments, folder, environment; both streams and the exit code.

`run` calls the command in this process, which costs a twentieth of a process of its own;
`run_process` starts one, for tests in which the process is the point.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from guardtui.cli import diagnostics
from guardtui.cli.main import cli, main

ROOT = Path(__file__).parents[2]

TOPIC = """\
# comments stay
name: Tax advice
description: Advice on filing personal income tax returns
examples:
  - How do I deduct my home office?
  - When is my tax return due?
intent: block
"""

POSITIVE = (
    "Which tax deductions can I claim this year?",
    "How do I file my income tax return?",
    "Can I deduct my home office on my tax return?",
    "=cmd tax return due date?",
    "Who has to file a tax return?",
)
NEGATIVE = (
    "How do I bake bread?",
    "Tell me a story about a dragon.",
    "Write a function that sorts a list.",
    "What is the capital of France?",
    "How tall is the Eiffel Tower?",
)


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def prompts_csv(intent: str = "block", label: str = "true") -> str:
    other = "false" if label == "true" else "true"
    rows = [f'"{prompt}",{label},{intent},tax' for prompt in POSITIVE]
    rows += [f'"{prompt}",{other},{intent},other' for prompt in NEGATIVE]
    return "\n".join(["prompt,expected,intent,category", *rows, ""])


def write_inputs(work: Path) -> Path:
    """Write a topic and its prompts into a folder."""
    (work / "topic.yaml").write_text(TOPIC, "utf-8")
    (work / "prompts.csv").write_text(prompts_csv(), "utf-8")
    return work


def leave_every_other_row(path: Path) -> None:
    """Leave half of the prompts of the sample, which suffice to show what is better."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows[::2]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return write_inputs(work)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for all tests, away from the user's; no colours, no completion variables."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**kept, "PYTHONPATH": str(ROOT), "GUARDTUI_CACHE": cache, "LANG": "C.UTF-8"}


@pytest.fixture
def run(folder: Path, environment: dict[str, str]) -> Run:
    """Run `guardtui ARGUMENTS` in this process, in `folder`; keyword arguments are variables.

    `piped` is what standard input holds.
    """

    def run_(*arguments: str, piped: bytes = b"", **extra: str) -> Result:
        return run_here(arguments, folder, {**environment, **extra}, piped)

    return run_


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `guardtui ARGUMENTS` in this process, with its folder and variables."""

    def run_(*words: str) -> Result:
        code = diagnostics.run(
            lambda: cli.main(list(words), prog_name="guardtui", standalone_mode=False)
        )
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        check_document(out)
        return Result(code, out, err)

    return run_


@pytest.fixture
def score(command: Run) -> Run:
    """Run `guardtui score ARGUMENTS` in this process, with its folder and variables."""
    return partial(command, "score")


@pytest.fixture
def run_process(folder: Path, environment: dict[str, str]) -> Run:
    """Run `python -m guardtui ARGUMENTS` in `folder`, as `run` does."""

    def run_(*arguments: str, piped: bytes = b"", **extra: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "guardtui", *arguments],
            cwd=folder,
            env={**environment, **extra},
            input=piped,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run_


@contextlib.contextmanager
def full_disk(size: int = 8192) -> Iterator[None]:
    """Have no file grow beyond so many bytes, as on a disk that is full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def run_here(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], piped: bytes = b""
) -> Result:
    """Run a command in this process; variables, folder, streams and signals are put back after it.

    Its streams are files, so that they have descriptors as real ones do, and are no terminals.
    """
    variables, handlers = dict(os.environ), {one: signal.getsignal(one) for one in _SIGNALS}
    level = warnings.filters[:]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        contextlib.chdir(folder),
        tempfile.TemporaryFile() as typed,
    ):
        streams = sys.stdin, sys.stdout, sys.stderr
        typed.write(piped)
        typed.seek(0)
        sys.stdin = io.TextIOWrapper(typed, "utf-8")
        sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
        os.environ.clear()
        os.environ.update(environment)
        try:
            main(list(arguments))
        except SystemExit as leave:
            code = leave.code
        finally:
            for written in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    written.flush()
            wrappers = sys.stdout, sys.stderr
            sys.stdin, sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(variables)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            warnings.filters[:] = level  # type: ignore[index]
        texts = []
        for stream, wrapper in zip((out, err), wrappers, strict=True):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8"))
            wrapper.detach()
    assert isinstance(code, int)
    assert "Traceback" not in texts[1]
    check_document(texts[0])
    return Result(code, *texts)


def check_document(text: str) -> None:
    """Check a JSON document that a command printed against the schema of its kind."""
    if not re.match(r'\{\s*"schema_version"', text):
        return
    document = json.loads(text)
    _schemas()[document["kind"]].validate(document)


@cache
def _schemas() -> dict[str, Draft202012Validator]:
    """The schema of each kind of document."""
    paths = (ROOT / "guardtui" / "schemas").glob("*.json")
    schemas = [json.loads(path.read_text("utf-8")) for path in paths]
    return {
        schema["properties"]["kind"]["const"]: Draft202012Validator(schema)
        for schema in schemas
        if "kind" in schema.get("properties", {})
    }
