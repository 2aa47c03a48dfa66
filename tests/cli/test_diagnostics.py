"""What becomes of failures nobody thought of: a sentence and a file without any prompt."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from guardtui.cli import diagnostics
from guardtui.scanners.base import ScannerError


def test_a_crash_leaves_a_file_without_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path))

    def fail() -> None:
        secret = "the secret prompt"
        try:
            {}[secret]
        except KeyError as error:
            raise RuntimeError(secret) from error

    assert diagnostics.run(fail) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "guardtui failed unexpectedly (RuntimeError)" in err
    (path,) = (tmp_path / "crashes").iterdir()
    assert str(path) in err
    text = path.read_text("utf-8")
    assert "builtins.RuntimeError\n" in text
    assert "builtins.KeyError\n" in text
    assert f"{__name__}:" in text
    assert "secret prompt" not in text + err


def test_a_crash_that_cannot_be_written_is_still_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "file"))

    def fail() -> None:
        raise RuntimeError

    assert diagnostics.run(fail) == 3
    err = capsys.readouterr().err
    assert "failed unexpectedly (RuntimeError)\n" in err


@pytest.mark.parametrize(
    ("problem", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.exceptions.Abort(), 130, "interrupted\n"),
        (click.UsageError("what?"), 2, "error: what?\n"),
        (diagnostics.InputError("bad \x1b[2J"), 2, "error: bad ␛[2J\n"),
        (ScannerError("no encoder"), 3, "error: no encoder\n"),
        (
            MemoryError(),
            3,
            "error: not enough memory: use fewer prompts, or --set encoder=static\n",
        ),
        (SystemExit(0), 0, ""),
    ],
)
def test_exit_codes(
    problem: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise problem

    assert diagnostics.run(fail) == code
    assert capsys.readouterr() == ("", said)


def test_colour_and_progress_need_a_willing_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    diagnostics.progress("1/2")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    diagnostics.progress("1/2")
    diagnostics.error("x")
    assert capsys.readouterr().err == "\r\x1b[2K1/2\x1b[31merror:\x1b[0m x\n"
    monkeypatch.setenv("NO_COLOR", "1")
    diagnostics.error("x")
    assert capsys.readouterr().err == "error: x\n"
    monkeypatch.setenv("TERM", "dumb")
    diagnostics.progress("1/2")
    assert capsys.readouterr().err == ""
