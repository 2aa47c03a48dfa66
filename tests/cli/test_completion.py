"""Completion of commands and options: the scripts, and what real shells make of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from guardtui.cli.completion import FILES, FOLDER
from scripts import build_completions

from .conftest import Run


@pytest.mark.skipif(version("click").startswith("8.1"), reason="made with click 8.2 or newer")
def test_scripts_are_current() -> None:
    texts = build_completions.scripts()
    assert {path.name for path in texts} == set(FILES.values())
    wrong = [path.name for path, text in texts.items() if path.read_text("utf-8") != text]
    assert wrong == [], "run: python scripts/build_completions.py"


@pytest.mark.parametrize("shell", FILES)
def test_command_prints_the_script(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert result.out == (FOLDER / FILES[shell]).read_text("utf-8")
    assert f"_GUARDTUI_COMPLETE={shell}_complete" in result.out


@pytest.mark.parametrize(
    ("line", "position", "expected"),
    [
        ("guardtui ev", 1, ["file,ev", "plain,eval"]),
        ("guardtui eval --max-r", 2, ["plain,--max-regressions"]),
        ("guardtui help for", 2, ["plain,forecast"]),
        ("guardtui help inbox l", 3, ["plain,label", "plain,list"]),
        ("guardtui help eval x", 3, []),
    ],
)
def test_words_are_completed(run: Run, line: str, position: int, expected: list[str]) -> None:
    words = {"_GUARDTUI_COMPLETE": "bash_complete", "COMP_CWORD": str(position)}
    result = run(**words, COMP_WORDS=line).out.split()
    assert sorted(result) == expected


_COMMANDS = {
    "bash": "source SCRIPT; COMP_WORDS=(guardtui ev); COMP_CWORD=1; compopt() { :; }\n"
    "_guardtui_completion guardtui; printf '%s\\n' \"${COMPREPLY[@]}\"",
    "fish": "source SCRIPT; complete -C 'guardtui ev'",
    # A word that was not begun: files and every command.
    "zsh": "compdef() { :; }; _path_files() { :; }; _describe() { print -rl -- ${${(P)3}%%:*}; }\n"
    "source SCRIPT; words=(guardtui ''); CURRENT=2; _guardtui_completion",
}


@pytest.mark.process
@pytest.mark.parametrize("shell", _COMMANDS)
def test_a_real_shell_completes_a_command(
    shell: str, environment: dict[str, str], tmp_path: Path
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    command = tmp_path / "guardtui"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m guardtui "$@"\n', "utf-8")
    command.chmod(0o755)
    done = subprocess.run(
        [program, "-c", _COMMANDS[shell].replace("SCRIPT", str(FOLDER / FILES[shell]))],
        env={**environment, "PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first = "open" if shell == "zsh" else "eval"
    assert done.stdout.split()[:1] == [first], done.stderr  # fish describes it too
