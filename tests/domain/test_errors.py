"""All errors of guardtui are in one tree, and say how a command ends that fails by them."""

from __future__ import annotations

import ast
from pathlib import Path

import guardtui
from guardtui.app.leaving import UnsavedError
from guardtui.cli.diagnostics import InputError
from guardtui.domain import errors
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSetError
from guardtui.files.problems import ContentError, FileError
from guardtui.large_sets.workers import WorkersError
from guardtui.reports.base import ReportError
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.base import ScannerError
from guardtui.session.store import StoreError

PACKAGE = Path(guardtui.__file__).parent
BUILT_IN = {"Exception", "BaseException", "ValueError", "LookupError", "RuntimeError", "OSError"}


def test_every_error_outside_the_scorer_library_is_in_the_documented_tree() -> None:
    documented = errors.__doc__ or ""
    for path in PACKAGE.rglob("*.py"):
        if "scorer" in path.relative_to(PACKAGE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            bases = {ast.unparse(base) for base in node.bases}
            if bases & BUILT_IN:
                assert node.name == "GuardtuiError" or "GuardtuiError" in bases, (path, node.name)
            if any(base.endswith("Error") for base in bases):
                assert node.name in documented, (path, node.name)


def test_bad_input_exits_with_2_and_what_was_not_completed_with_3() -> None:
    bad_input = (InputError, FileError, ContentError, PromptSetError, StoreError, ReportError)
    not_completed = (ScannerError, AirsError, WorkersError, UnsavedError)
    assert {error.exit_code for error in bad_input} == {2}
    assert {error.exit_code for error in (*not_completed, GuardtuiError)} == {3}
