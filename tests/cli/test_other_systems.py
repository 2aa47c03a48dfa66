"""What guardtui does without the parts of POSIX that Windows does not have."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from guardtui.cli import signals
from guardtui.files import atomic, problems
from guardtui.http import trace
from guardtui.scorer import time_limit

WINDOWS = SimpleNamespace(platform="win32")
NAMES: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "set_blocking", "setpriority", "getuid"),
        *("sched_getaffinity", "geteuid", "fork", "killpg", "mkfifo"),
    ),
    signal: ("SIGALRM", "SIGHUP", "setitimer", "getitimer", "ITIMER_REAL"),
}
MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take from this process what Windows does not have."""
    for module, names in NAMES.items():
        for name in names:
            monkeypatch.delattr(module, name, raising=False)
    for reader in (atomic, signals, time_limit, trace):
        monkeypatch.setattr(reader, "sys", WINDOWS)


@pytest.mark.usefixtures("windows")
def test_files_devices_and_pipes_are_written(tmp_path: Path) -> None:
    atomic.write_atomically(tmp_path / "f", b"new", private=True)
    atomic.write_atomically(Path(os.devnull), b"new")
    reader, writer = os.pipe()
    atomic.write_atomically(Path(f"/dev/fd/{writer}"), b"new")
    os.close(writer)
    assert (tmp_path / "f").read_bytes() == os.read(reader, 9) == b"new"
    os.close(reader)


@pytest.mark.usefixtures("windows")
def test_the_debug_log_is_written_whatever_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "http.log"
    log.touch(0o666)
    monkeypatch.setenv(trace.VARIABLE, str(log))
    trace.trace("GET", "https://host.example/path", "200", 0.1, 1)
    assert "host.example/path 200" in log.read_text("utf-8")


@pytest.mark.usefixtures("windows")
def test_user_code_is_run_without_a_time_limit() -> None:
    with time_limit.TimeLimit(0.001):
        assert re.search("a+", "aaa")


@pytest.mark.usefixtures("windows")
def test_an_interrupt_cancels_a_coroutine_at_its_next_await() -> None:
    async def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        signals.run(interrupted())


@pytest.mark.parametrize("number", [5, 32])
def test_a_file_that_another_program_has_open_is_explained(number: int) -> None:
    error = PermissionError(13, "Access is denied")
    vars(error)["winerror"] = number
    assert "another program has it open\n  close it" in str(problems.from_os_error("f", error))


PROGRAM = f"""
import asyncio, filelock, os, platformdirs, signal, sys  # these have modules for Windows
for module, names in {{os: {NAMES[os]!r}, signal: {NAMES[signal]!r}}}.items():
    for name in names:
        if hasattr(module, name) and not name.startswith("O_"):  # for the locks of files
            delattr(module, name)
for name in {MODULES!r}:
    sys.modules[name] = None
from guardtui.cli.main import main
main()
"""


LINES = """\
check topic.yaml --prompts prompts.csv
eval topic.yaml --prompts prompts.csv --set encoder=static --record
export topic.yaml -o r.html
inbox add topic.yaml log.txt
new Loans --description Loans --intent block --example one --example two
doctor"""


@pytest.mark.process
def test_commands_work_without_posix(folder: Path, environment: dict[str, str]) -> None:
    (folder / "log.txt").write_text("How do I pay less tax?\n", "utf-8")
    for line in LINES.splitlines():
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *line.split()],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert "Traceback" not in done.stderr
    assert {"r.html", "loans.yaml", "prompts.inbox.jsonl"} <= {p.name for p in folder.iterdir()}
