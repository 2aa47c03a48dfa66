"""The command line's front door: help, version, what is imported, mistyped words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardtui import __version__

from .conftest import Run

FILES = ("topic.yaml", "--prompts", "prompts.csv")
HEAVY = ("textual", "polars", "numpy", "pydantic", "scipy", "onnxruntime", "asyncio", "ruamel")


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["eval", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str], environment: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from guardtui.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit as leave:\n"
        "    assert leave.code == 0, leave.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout


@pytest.mark.process
def test_an_interrupt_while_the_command_is_imported_is_silent(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        [sys.executable, "-m", "guardtui"], check=False, capture_output=True, text=True,
        env={**environment, "PYTHONPATH": f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"},
    )  # fmt: skip
    assert (done.returncode != 0, done.stdout, done.stderr) == (True, "", "")


@pytest.mark.process
def test_a_local_evaluation_imports_no_other_guardrail(
    environment: dict[str, str], folder: Path
) -> None:
    words = ["eval", *FILES, "--set", "encoder=static", "-o", "r.json"]
    program = (
        "import sys\n"
        "from guardtui.cli.main import main\n"
        "try:\n"
        f"    main({words!r})\n"
        "except SystemExit as leave:\n"
        "    assert leave.code == 0, leave.code\n"
        "print(*[name for name in sys.modules if name.startswith('guardtui')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    modules = done.stdout.split()
    assert len(modules) <= 150
    others = ("scanners.airs", "scanners.models", "forecast", "http.client")
    assert [
        name for name in modules if name.startswith(tuple(f"guardtui.{o}" for o in others))
    ] == []


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(run: Run, option: str) -> None:
    result = run(option)
    assert (result.code, result.out, result.err) == (0, f"guardtui {__version__}\n", "")


def test_a_file_called_like_a_near_miss_is_a_topic(run: Run, folder: Path) -> None:
    (folder / "evl").write_text("name: x\n", "utf-8")
    assert "the app needs a terminal" in run("evl").err
