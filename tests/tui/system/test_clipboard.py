"""The system's clipboard: which program is used, and programs that hang or fail."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from guardtui.tui.system import clipboard
from guardtui.tui.system.clipboard import copy_to_system


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that end are waited for, however busy the machine is."""
    monkeypatch.setattr(clipboard, "TIMEOUT", 120)


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)


def test_the_first_program_with_a_display_gets_the_text(tmp_path: Path) -> None:
    for name in ("wl-copy", "xclip", "xsel"):
        program(
            tmp_path, name, f'/bin/cat > {tmp_path}/{name}.got; echo "$@" > {tmp_path}/{name}.args'
        )
    path = str(tmp_path)
    assert not copy_to_system("ä", {"PATH": path})
    assert copy_to_system("ä\n日", {"PATH": path, "DISPLAY": ":0"})
    assert (tmp_path / "xclip.got").read_text("utf-8") == "ä\n日"
    assert (tmp_path / "xclip.args").read_text("utf-8") == "-selection clipboard\n"
    assert not (tmp_path / "wl-copy.got").exists()
    assert copy_to_system("b", {"PATH": path, "DISPLAY": ":0", "WAYLAND_DISPLAY": "w"})
    assert (tmp_path / "wl-copy.got").read_text("utf-8") == "b"


def test_windows_gets_utf_16(tmp_path: Path) -> None:
    program(tmp_path, "clip.exe", f"/bin/cat > {tmp_path}/got")
    assert copy_to_system("ä", {"PATH": str(tmp_path)})
    assert (tmp_path / "got").read_bytes().decode("utf-16") == "ä"


def test_a_failing_or_hanging_program_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = subprocess.run

    def run(command: list[str], *, timeout: float, **others: Any) -> Any:
        """Give up the one that hangs soon, and no other."""
        hangs = command[0].endswith("xsel")
        return usual(command, timeout=0.1 if hangs else timeout, **others)

    monkeypatch.setattr(clipboard.subprocess, "run", run)
    program(tmp_path, "xclip", "exit 1")
    program(tmp_path, "xsel", "exec /bin/sleep 60")
    program(tmp_path, "pbcopy", f"/bin/cat > {tmp_path}/got")
    assert copy_to_system("x", {"PATH": str(tmp_path), "DISPLAY": ":0"})
    assert (tmp_path / "got").read_text("utf-8") == "x"
