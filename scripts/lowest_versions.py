"""Print the lowest supported version of each dependency, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest_versions() -> list[str]:
    """Return a constraint `name==version` for each dependency of the package.

    Raises ValueError for a dependency without a lower bound.
    """
    dependencies = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]
    constraints = []
    for dependency in dependencies:
        bound = re.fullmatch(r"([\w.-]+)>=([\d.]+)(,<[\d.]+)?(;.*)?", dependency)
        if bound is None:
            raise ValueError(f"{PROJECT}: {dependency}: write NAME>=VERSION")
        constraints.append(f"{bound[1]}=={bound[2]}")
    return constraints


if __name__ == "__main__":
    print("\n".join(lowest_versions()))
