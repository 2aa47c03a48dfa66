"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.problems import FileError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o7777 == mode


def test_link_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("stage", ["fsync", "replace"])
@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr
)
def test_interrupted_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, failure: BaseException
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(os, stage, fail)
    wanted = FileError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(wanted) as caught:
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]
    if isinstance(failure, OSError):
        assert "the disk is full" in str(caught.value)


def test_folder_and_missing_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="folder"):
        write_atomically(tmp_path, b"x")
    with pytest.raises(FileError, match="no such file"):
        write_atomically(tmp_path / "gone" / "f", b"x")


def test_last_ten_backups_are_kept(tmp_path: Path) -> None:
    path, backups = tmp_path / "f", tmp_path / "backups"
    for number in range(14):
        write_atomically(path, b"%d" % number, backup_folder=backups)
    assert {file.name: file.read_bytes() for file in backups.iterdir()} == {
        f"f.{number}.bak": b"%d" % (number - 1) for number in range(4, 14)
    }


def test_backup_is_complete_or_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, backups = tmp_path / "f", tmp_path / "backups"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for _ in range(3):
        with pytest.raises(FileError, match="disk is full"):
            write_atomically(path, b"new", backup_folder=backups)
    assert (path.read_bytes(), names(backups)) == (b"old", [])


def test_same_content_is_backed_up_once(tmp_path: Path) -> None:
    path, backups = tmp_path / "f", tmp_path / "backups"
    for content in (b"one", b"two", b"one"):
        path.write_bytes(b"the same")
        write_atomically(path, content, backup_folder=backups)
    assert names(backups) == ["f.1.bak"]


def test_device_is_written_to_and_kept(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_closed_pipe_reader_is_no_error(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["head", "-c", "9", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_atomically(pipe, b"x" * 1_000_000)
        assert reader.stdout is not None
        assert reader.stdout.read() == b"x" * 9
    assert pipe.is_fifo()


@pytest.mark.process
def test_interrupt_ends_waiting_for_a_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = (
        "import signal, sys, threading; from pathlib import Path\n"
        "import polars; from guardtui.files.atomic import write_atomically\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])\n"
        "try: timer.start(); write_atomically(Path(sys.argv[1]), b'x')\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "pipe")]
    assert subprocess.run(command, check=False).returncode == 7


def test_open_descriptor_is_written_at_its_position(tmp_path: Path) -> None:
    path, link = tmp_path / "f", tmp_path / "link"
    path.write_bytes(b"")
    with path.open("r+b", buffering=0) as file:
        file.write(b"head\n")
        before = path.stat().st_ino
        write_atomically(Path(f"/dev/fd/{file.fileno()}"), b"one\n")
        link.symlink_to(f"/dev/fd/{file.fileno()}")
        write_atomically(link, b"two\n")
    assert path.read_bytes() == b"head\none\ntwo\n"
    assert path.stat().st_ino == before
    assert names(tmp_path) == ["f", "link"]


@pytest.mark.parametrize("name", ["/dev/fd/999", "/dev/fd/99999999999999999999", "/dev/stdin\0"])
def test_missing_descriptor_is_reported(name: str) -> None:
    with pytest.raises(FileError):
        write_atomically(Path(name), b"x")


def test_full_device_is_reported_and_kept() -> None:
    with pytest.raises(FileError, match="the disk is full"):
        write_atomically(Path("/dev/full"), b"x")
    write_atomically(Path(os.devnull), b"x")
    assert Path("/dev/full").is_char_device()
    assert Path(os.devnull).is_char_device()


def test_input_is_recognised_by_any_of_its_names(tmp_path: Path) -> None:
    path, hard, other = tmp_path / "f", tmp_path / "hard", tmp_path / "other"
    path.write_bytes(b"x")
    other.write_bytes(b"x")
    hard.hardlink_to(path)
    with pytest.raises(FileError, match="it would be overwritten"):
        refuse_overwriting(hard, other, path)
    refuse_overwriting(tmp_path / "new", other, path, tmp_path / "gone")
