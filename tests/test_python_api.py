"""The page "Python API": its examples have types, and help() describes every public name."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import guardtui.scorer as library

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "pages" / "python_api.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.process
def test_examples_pass_strict_type_checks(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("\n".join(EXAMPLES), "utf-8")
    command = (sys.executable, "-m", "mypy", "--strict", "--config-file=", page.name)
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


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
