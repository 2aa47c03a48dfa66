"""The page "Python API": its examples run as they stand, and help() describes every public name."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guardtui.scorer as library
from guardtui.cli import diagnostics
from guardtui.cli.main import cli
from guardtui.scorer import registry

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "pages" / "python_api.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHELL = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    registry.load_own()
    registry.load_own()  # once in a process: not into the copy, which goes with the test
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    for ending in ("yaml", "csv"):
        shutil.copy(ROOT / "sample_data" / f"tax-advice.{ending}", f"tax.{ending}")
    shutil.copy(ROOT / "sample_data" / "outputs.csv", "outputs.csv")


def test_every_example_runs() -> None:
    assert len(EXAMPLES) > 5
    names: dict[str, Any] = {"__name__": "examples"}
    for example in EXAMPLES:
        # The encoder that is fast; nothing else depends on it.
        example = example.replace("prompts)", 'prompts, encoder="static")')
        exec(compile(example, "python_api.md", "exec", dont_inherit=True), names)


@pytest.mark.process
def test_examples_pass_strict_type_checks(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("\n".join(EXAMPLES), "utf-8")
    command = (sys.executable, "-m", "mypy", "--strict", "--config-file=", page.name)
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("line", [one for one in SHELL.splitlines() if " open " not in one])
def test_every_command_runs(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    for example in EXAMPLES:
        if example.startswith("# "):
            Path(example.split()[1]).write_text(example, "utf-8")
    words = [*shlex.split(line)[1:], *(["--set", "encoder=static"] if " eval " in line else [])]
    code = diagnostics.run(lambda: cli.main(words, prog_name="guardtui", standalone_mode=False))
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "polite" in out or "latest" in out or "cost(missed=10)" in out


@pytest.mark.parametrize("name", library.__all__)
def test_help_describes_every_public_name(name: str) -> None:
    value = getattr(library, name)
    if not inspect.isclass(value) and not inspect.isfunction(value):
        # Constants and aliases have no docstring of their own: the package's says what they are.
        assert f"`{name}`" in (library.__doc__ or "")
        return
    text = inspect.getdoc(value) or ""
    inherited = [inspect.getdoc(one) for one in getattr(value, "__mro__", ())[1:]]
    assert len(text) > 30
    assert text not in inherited
    assert value.__name__ == name
    if inspect.isfunction(value):
        parameters = inspect.signature(value).parameters
        assert list(parameters) != ["args", "kwargs"]
