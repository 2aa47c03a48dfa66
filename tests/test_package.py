"""The package as it is published: its page and links, equal builds, licences of what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.licences import is_allowed
from scripts.package_metadata import package_page, package_urls

ROOT = Path(__file__).parent.parent
README = """![The screen](docs/a.svg)

Read the [tutorial](docs/t.md#first), the [site](https://host.example) or [below](#end).
"""


def test_links_of_the_package_page_lead_into_the_repository() -> None:
    page = package_page(README, "https://host.example/guardtui")
    assert "![The screen](https://host.example/guardtui/raw/HEAD/docs/a.svg)" in page
    assert "[tutorial](https://host.example/guardtui/blob/HEAD/docs/t.md#first)" in page
    assert page.endswith("the [site](https://host.example) or [below](#end).\n")


def test_without_an_address_the_package_page_has_no_dead_link() -> None:
    page = package_page(README, "")
    assert page == "Read the tutorial, the [site](https://host.example) or [below](#end).\n"
    assert "](docs/" not in package_page((ROOT / "README.md").read_text("utf-8"), "")


def test_links_of_the_package_are_known_with_its_address_only() -> None:
    assert package_urls("") == {}
    urls = package_urls("https://host.example/guardtui")
    assert {"Source", "Issues", "Security"} <= set(urls)
    assert all(url.startswith("https://host.example/guardtui") for url in urls.values())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("BSD-3-Clause AND MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only OR MIT", True),
        ("(GPL-3.0-only OR MIT) AND ISC", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("(GPL-3.0-only OR AGPL-3.0-only) AND MIT", False),
        ("", False),
    ],
)
def test_licence_is_allowed_if_all_its_required_parts_are(expression: str, expected: bool) -> None:
    assert is_allowed(expression) is expected


def built(folder: Path, umask: int, time: int) -> dict[str, bytes]:
    """Return wheel and sdist by name, built in a copy of the project without its large weights."""
    project = folder / "project"
    folder.mkdir(parents=True)
    shutil.copytree(
        ROOT, project, symlinks=True,
        ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "tests", "benchmarks"),
    )  # fmt: skip
    for path in project.rglob("*"):
        if path.is_file() and path.stat().st_size > 1_000_000:
            path.write_bytes(path.read_bytes()[:1_000])
        path.chmod((0o755 if path.is_dir() else 0o644) & ~umask)
        os.utime(path, (time, time), follow_symlinks=False)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder / "dist")],
        cwd=project, check=True, capture_output=True, umask=umask,
    )  # fmt: skip
    return {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}


@pytest.mark.process
def test_builds_in_other_folders_at_other_times_are_equal_to_the_byte(tmp_path: Path) -> None:
    first = built(tmp_path / "one", 0o022, 1_000_000_000)
    assert len(first) == 2
    assert first == built(tmp_path / "two" / "deeper", 0o077, 1_700_000_000)
