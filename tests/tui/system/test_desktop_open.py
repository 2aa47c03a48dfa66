"""Opening a file: which program is used, and programs that are missing, fail or stay open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guardtui.tui.system import desktop_open
from guardtui.tui.system.desktop_open import open_file, open_refusal
from tests.tui.system.test_clipboard import program

DISPLAY = {"DISPLAY": ":0"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that end are waited for, however busy the machine is."""
    monkeypatch.setattr(desktop_open, "TIMEOUT", 120)


def opener(folder: Path, name: str = "xdg-open", body: str = "") -> dict[str, str]:
    program(folder, name, body or f'printf "%s\\n" "$@" > {folder}/{name}.args')
    return {"PATH": str(folder), **DISPLAY}


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_over_ssh_nothing_is_opened(tmp_path: Path, name: str, platform: str) -> None:
    environment = {**opener(tmp_path), name: "10.0.0.1 1 10.0.0.2 22"}
    assert "SSH" in open_refusal(environment, platform)
    assert "SSH" in open_file(tmp_path / "x.html", environment, platform)
    assert not (tmp_path / "xdg-open.args").exists()


def test_without_a_display_nothing_is_opened(tmp_path: Path) -> None:
    environment = {"PATH": opener(tmp_path)["PATH"]}
    assert "no display" in open_refusal(environment, "linux")
    assert "no display" in open_file(tmp_path / "x.html", environment, "linux")
    assert not (tmp_path / "xdg-open.args").exists()
    assert open_refusal({**environment, "WAYLAND_DISPLAY": "w"}, "linux") == ""


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    assert "xdg-open" in open_refusal({"PATH": str(tmp_path), **DISPLAY}, "linux")


def test_the_program_gets_the_whole_path_as_one_word(tmp_path: Path) -> None:
    path = tmp_path / "-a folder" / "it's; a $(name).html"
    assert open_file(path, opener(tmp_path), "linux") == ""
    assert (tmp_path / "xdg-open.args").read_text("utf-8") == f"{path}\n"


def test_the_next_program_is_tried(tmp_path: Path) -> None:
    assert open_file(tmp_path / "x", opener(tmp_path, "gio"), "linux") == ""
    assert (tmp_path / "gio.args").read_text("utf-8") == f"open\n{tmp_path / 'x'}\n"


def test_a_mac_needs_no_display(tmp_path: Path) -> None:
    environment = {"PATH": opener(tmp_path, "open")["PATH"]}
    assert open_file(tmp_path / "x", environment, "darwin") == ""
    assert (tmp_path / "open.args").exists()


def test_a_failing_program_is_reported(tmp_path: Path) -> None:
    assert open_file(tmp_path / "x", opener(tmp_path, body="exit 3"), "linux").endswith("with 3")
    (tmp_path / "xdg-open").write_text("no program", "utf-8")
    assert "cannot be started" in open_file(
        tmp_path / "x", {"PATH": str(tmp_path), **DISPLAY}, "linux"
    )


def test_a_program_that_stays_open_keeps_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desktop_open, "TIMEOUT", 0.1)
    os.mkfifo(tmp_path / "closed")
    body = f"exec /bin/cat < {tmp_path / 'closed'}"
    assert open_file(tmp_path / "x", opener(tmp_path, body=body), "linux") == ""
    (tmp_path / "closed").write_text("by the author")  # which somebody must still be there to read
