"""Each room stands by itself: what it imports in a fresh interpreter is what it may know."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "guardtui"
MODULES = sorted(PACKAGE.rglob("*.py"))

NETWORK = {"httpx", "requests", "urllib3", "aiohttp"}
SCREEN = {"textual"}
COMMANDS = {"click"}
HEAVY = {"onnxruntime", "tokenizers", "torch", "sklearn", "scipy"}


def imported(statement: str) -> set[str]:
    """All modules that are loaded after a statement."""
    script = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip
    return set(run.stdout.split())


def all_of(room: str) -> str:
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    assert names
    return f"import {', '.join(names)}"


@pytest.mark.parametrize(
    ("room", "never"),
    [
        ("domain", SCREEN | COMMANDS | NETWORK | HEAVY | {"ruamel.yaml", "guardtui.files"}),
        ("files", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.session"}),
        ("scanners", SCREEN | COMMANDS | NETWORK | {"guardtui.files", "guardtui.session"}),
        ("session", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("reports", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("cli", SCREEN | NETWORK | HEAVY | {"guardtui.domain", "numpy", "polars", "pydantic"}),
        ("tui", COMMANDS | NETWORK | {"onnxruntime", "torch", "sklearn", "guardtui.cli"}),
    ],
)
def test_a_room_imports_what_it_may(room: str, never: set[str]) -> None:
    # Two modules of `cli` share what inputs need, and are imported by commands only when they run.
    statement = all_of(room).replace("guardtui.cli.inputs, ", "")
    assert sorted(never & imported(statement)) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_says_in_a_line_what_it_is_for(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert text or path.stat().st_size == 0
    assert len((text or "").split("\n")[0]) <= 100


def test_the_app_stays_small() -> None:
    assert len((PACKAGE / "tui/app.py").read_text("utf-8").splitlines()) < 250


def test_the_package_knows_no_place_but_its_own() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        assert "/work/" not in text
        assert "../shared" not in text
