"""What guardtui uses of Textual's private members is in one module."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import textual

import guardtui.tui

TUI = Path(guardtui.tui.__file__).parent
COMPAT = TUI / "textual_compat.py"
Use = tuple[int, str]
"""Line and source text of a use."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


@cache
def private_members(path: Path) -> frozenset[str]:
    """Names of the private functions that a file defines, and of the attributes that it sets."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    names = (
        node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        else node.attr
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        else ""
        for node in nodes
    )
    return frozenset(filter(is_private, names))


@cache
def members_of_textual() -> frozenset[str]:
    files = Path(textual.__file__).parent.rglob("*.py")
    return frozenset().union(*map(private_members, files))


def inherited_members(cls: type) -> frozenset[str]:
    """Private members of the classes of Textual among the bases of a class."""
    bases = (base for base in cls.__mro__ if base.__module__.partition(".")[0] == "textual")
    files = filter(None, map(inspect.getsourcefile, bases))
    return frozenset().union(*(private_members(Path(file)) for file in files))


def private_imports(tree: ast.Module) -> Iterator[Use]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            if any(map(is_private, names)):
                yield node.lineno, ast.unparse(node)


def uses_of_other_objects(tree: ast.Module, own: frozenset[str]) -> Iterator[Use]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr) or node.attr in own:
            continue
        of_self = ast.unparse(node.value) in ("self", "super()")
        if not of_self and node.attr in members_of_textual():
            yield node.lineno, ast.unparse(node)


def uses_of_inherited(tree: ast.Module, module: object) -> Iterator[Use]:
    """Private members of its Textual bases that a class reads, sets or overrides."""
    for node in ast.walk(tree):
        cls = getattr(module, node.name, None) if isinstance(node, ast.ClassDef) else None
        if not isinstance(cls, type):
            continue
        members = inherited_members(cls)
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name in members:
                yield part.lineno, f"def {part.name}"
            elif isinstance(part, ast.Attribute) and part.attr in members:
                yield part.lineno, ast.unparse(part)


def private_uses(path: Path) -> list[str]:
    tree = ast.parse(path.read_text("utf-8"))
    name = ".".join(("guardtui.tui", *path.relative_to(TUI).with_suffix("").parts))
    uses = {
        *private_imports(tree),
        *uses_of_other_objects(tree, private_members(path)),
        *uses_of_inherited(tree, importlib.import_module(name)),
    }
    return [f"tui/{path.relative_to(TUI)}:{line}: {text}" for line, text in sorted(uses)]


def test_only_textual_compat_uses_private_members_of_textual() -> None:
    paths = [path for path in sorted(TUI.rglob("*.py")) if path != COMPAT]
    uses = [use for path in paths for use in private_uses(path)]
    assert not uses, "\n".join(["use the public API, or move these to textual_compat.py:", *uses])


def test_private_members_of_textual_are_recognised() -> None:
    uses = "\n".join(private_uses(COMPAT))
    for member in ("_footer", "_character_to_key", "app._keymap", "_compositor"):
        assert member in uses
