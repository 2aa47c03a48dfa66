"""The script that runs the tests with other Pythons and other versions of dependencies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import check_pythons


@pytest.mark.parametrize("versions", ["newest", "lowest"])
def test_each_combination_is_installed_tried_and_tested(versions: str, tmp_path: Path) -> None:
    lines = check_pythons.steps(versions, tmp_path, ["tests/files"])
    words = [" ".join(line) for line in lines]
    assert words[0].startswith("-m pip install")
    assert ("--upgrade-strategy eager" in words[0]) == (versions == "newest")
    assert (tmp_path / "lowest.txt").exists() == (versions == "lowest")
    assert sum("mypy --platform" in word for word in words) == 3 * (versions == "newest")
    assert words[-1] == "-m pytest -n auto tests/files"


def test_a_failed_step_fails_the_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    class Done:
        returncode = 1

    def run(command: list[str], **_: object) -> Done:
        ran.append(command)
        return Done()

    monkeypatch.setattr(check_pythons.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["check_pythons.py", "python3.99", "--", "tests/files"])
    assert check_pythons.main() == 1
    assert ran[0][:3] == ["python3.99", "-m", "venv"]
    assert len(ran) == 2
