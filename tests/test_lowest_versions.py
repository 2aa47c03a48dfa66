"""The lowest versions of the dependencies, which the gate installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from scripts import lowest_versions


def test_each_dependency_is_pinned_to_its_lower_bound() -> None:
    project = tomllib.loads(lowest_versions.PROJECT.read_text("utf-8"))["project"]
    pins = [pin.replace("==", ">=") for pin in lowest_versions.lowest_versions()]
    assert pins == [re.split("[,;]", dependency)[0] for dependency in project["dependencies"]]


@pytest.mark.parametrize("dependency", ["numpy", "numpy<3", "numpy~=2.0", "numpy>2", "x[y]>=1"])
def test_dependency_without_a_lower_bound_is_refused(
    dependency: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[project]\ndependencies = [{dependency!r}]\n", "utf-8")
    monkeypatch.setattr(lowest_versions, "PROJECT", path)
    with pytest.raises(ValueError, match="write NAME>=VERSION"):
        lowest_versions.lowest_versions()
