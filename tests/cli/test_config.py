"""`guardtui config` as a user runs it: stdout is data, mistakes are named with their line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from guardtui.config import SETTINGS

from .conftest import ROOT, Run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "config.yaml"


@pytest.fixture
def config(run: Run, path: Path) -> Run:
    def run_(*arguments: str, **extra: str) -> object:
        return run("config", *arguments, GUARDTUI_CONFIG=str(path), **extra)

    return run_  # type: ignore[return-value]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def test_the_table_is_data(config: Run, path: Path) -> None:
    write(path, "animation: none\nkeys:\n  screen.keep: f13\n")
    result = config(GUARDTUI_TOUR="never")
    assert (result.code, result.err) == (0, "")
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert [row[0] for row in rows] == [setting.key for setting in SETTINGS]
    shown = {key: (value, source) for key, value, source in rows}
    assert shown["animation"] == ("none", "file")
    assert shown["tour"] == ("never", "environment")
    assert shown["theme"] == ("guardtui-dark", "default")
    assert shown["keys"] == ("screen.keep=f13", "file")


def test_the_path_is_that_of_the_variable_or_of_the_system(
    run: Run, config: Run, path: Path, tmp_path: Path
) -> None:
    assert config("--path").out == f"{path}\n"
    result = run("config", "--path", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "xdg"))
    assert result.out.endswith("config.yaml\n")
    assert str(tmp_path) in result.out
    assert config("--path", "check").code == 2


def test_set_and_unset_keep_what_else_is_there(config: Run, path: Path) -> None:
    write(path, "# mine\nanimation: none # yes\n")
    result = config("set", "animation", "full")
    assert (result.code, result.out, result.err) == (0, "", f"written: {path}\n")
    assert path.read_text("utf-8") == "# mine\nanimation: full # yes\n"
    assert config("set", "theme", "guardtui-light").code == 0
    assert config("set", "keys", "screen.keep=f13; results.search=alt+f").code == 0
    assert config("check").out == f"{path}: nothing is wrong\n"
    assert config("unset", "keys").code == 0
    assert path.read_text("utf-8") == "# mine\nanimation: full # yes\ntheme: guardtui-light\n"
    assert (
        "GUARDTUI_ANIMATION is set"
        in config("set", "animation", "none", GUARDTUI_ANIMATION="full").err
    )


def test_check_names_every_mistake_of_the_file_with_its_line(config: Run, path: Path) -> None:
    write(path, "vmi: true\ntour: 3\nkeys: [f1]\n")
    for arguments in ((), ("check",), ("set", "animation", "none")):
        result = config(*arguments)
        assert (result.code, result.out) == (2, "")
        for line, problem in (
            (1, "vmi: unknown setting"),
            (2, "tour: '3'"),
            (3, "keys: a"),
        ):
            assert f"{path}:{line}: {problem}" in result.err


def test_check_names_themes_and_keys_that_do_not_exist(config: Run, path: Path) -> None:
    write(path, "keys:\n  screen.keep: f3\n  # x\n  screen.kep: f14\ntheme: guardtui\n")
    result = config("check")
    assert (result.code, result.out) == (2, "")
    assert f"{path}:5: theme: there is no theme 'guardtui'" in result.err
    assert f"{path}:2: keys: screen.keep: 'f3' is taken by screen.discard" in result.err
    assert f"{path}:4: keys: screen.kep: no action has this id" in result.err
    assert "did you mean 'screen.keep'?" in result.err
    result = config("check", GUARDTUI_THEME="nrd", GUARDTUI_KEYS="a=f13")
    assert "GUARDTUI_THEME: theme: there is no theme 'nrd'" in result.err
    assert "GUARDTUI_KEYS: keys: a: no action has this id" in result.err


def test_missing_settings_file_is_valid(config: Run, path: Path) -> None:
    result = config("check")
    assert (result.code, result.err) == (0, "")
    assert "no such file" in result.out
    assert config("unset", "animation").code == 0
    assert not path.exists()


def test_doctor_shows_the_file_and_whether_it_is_right(run: Run, path: Path) -> None:
    def fact() -> str:
        lines = run("doctor", GUARDTUI_CONFIG=str(path)).out.splitlines()
        return next(line for line in lines if f" {path}" in line)

    assert fact().startswith("ok ")
    assert "defaults" in fact()
    write(path, "thme: x\ntour: y\n")
    assert fact().startswith("warning ")
    assert "2 mistakes" in fact()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_app_does_not_open_with_settings_that_cannot_be_read(
    folder: Path, path: Path, environment: dict[str, str]
) -> None:
    write(path, "animation: none\nthme: nord\n")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "guardtui", "topic.yaml"],
        cwd=folder,
        env={**environment, "GUARDTUI_CONFIG": str(path), "TERM": "xterm", "NO_COLOR": ""},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    assert process.wait(120) == 2
    output = os.read(leader, 10_000).decode()
    os.close(leader)
    assert f"{path}:2: thme: unknown setting; did you mean 'theme'?" in output
    assert "Traceback" not in output


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments", [["config"], ["config", "--help"], ["config", "set", "animation", "none"]]
)
def test_plain_settings_load_no_slow_library(
    environment: dict[str, str], path: Path, arguments: list[str]
) -> None:
    program = (
        "import sys\nfrom guardtui.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as leave:\n    assert not leave.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "GUARDTUI_CONFIG": str(path)},
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert not {"textual", "polars", "numpy", "pydantic"} & set(done.stderr.split())
