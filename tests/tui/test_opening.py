"""Opening a file: which program is asked, where none is, and what one that fails or stays does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guardtui.tui import opening
from guardtui.tui.opening import open_file, why_not
from tests.tui.test_clipboard import program

DISPLAY = {"DISPLAY": ":0"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that end are waited for, however busy the machine is."""
    monkeypatch.setattr(opening, "TIMEOUT", 120)


def opener(folder: Path, name: str = "xdg-open", body: str = "") -> dict[str, str]:
    program(folder, name, body or f'printf "%s\\n" "$@" > {folder}/{name}.args')
    return {"PATH": str(folder), **DISPLAY}


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_over_ssh_nothing_is_opened(tmp_path: Path, name: str, platform: str) -> None:
    environment = {**opener(tmp_path), name: "10.0.0.1 1 10.0.0.2 22"}
    assert "SSH" in why_not(environment, platform)
    assert "SSH" in open_file(tmp_path / "x.html", environment, platform)
    assert not (tmp_path / "xdg-open.args").exists()


def test_without_a_display_nothing_is_opened(tmp_path: Path) -> None:
    environment = {"PATH": opener(tmp_path)["PATH"]}
    assert "no display" in why_not(environment, "linux")
    assert "no display" in open_file(tmp_path / "x.html", environment, "linux")
    assert not (tmp_path / "xdg-open.args").exists()
    assert why_not({**environment, "WAYLAND_DISPLAY": "w"}, "linux") == ""


def test_without_a_program_it_is_said(tmp_path: Path) -> None:
    assert "xdg-open" in why_not({"PATH": str(tmp_path), **DISPLAY}, "linux")


def test_the_program_gets_the_whole_path_as_one_word(tmp_path: Path) -> None:
    path = tmp_path / "-a folder" / "it's; a $(name).html"
    assert open_file(path, opener(tmp_path), "linux") == ""
    assert (tmp_path / "xdg-open.args").read_text("utf-8") == f"{path}\n"


def test_the_next_program_stands_in(tmp_path: Path) -> None:
    assert open_file(tmp_path / "x", opener(tmp_path, "gio"), "linux") == ""
    assert (tmp_path / "gio.args").read_text("utf-8") == f"open\n{tmp_path / 'x'}\n"


def test_a_mac_needs_no_display(tmp_path: Path) -> None:
    environment = {"PATH": opener(tmp_path, "open")["PATH"]}
    assert open_file(tmp_path / "x", environment, "darwin") == ""
    assert (tmp_path / "open.args").exists()


def test_one_that_fails_is_told_of(tmp_path: Path) -> None:
    assert open_file(tmp_path / "x", opener(tmp_path, body="exit 3"), "linux").endswith("with 3")
    (tmp_path / "xdg-open").write_text("no program", "utf-8")
    assert "cannot be started" in open_file(
        tmp_path / "x", {"PATH": str(tmp_path), **DISPLAY}, "linux"
    )


def test_one_that_stays_open_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "TIMEOUT", 0.1)
    os.mkfifo(tmp_path / "closed")
    body = f"exec /bin/cat < {tmp_path / 'closed'}"
    assert open_file(tmp_path / "x", opener(tmp_path, body=body), "linux") == ""
    (tmp_path / "closed").write_text("by the author")  # which somebody must still be there to read
