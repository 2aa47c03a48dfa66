"""Layers: which modules each package may import, in a fresh interpreter and by its source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "guardtui"
MODULES = sorted(PACKAGE.rglob("*.py"))

NETWORK = {"httpx", "requests", "urllib3", "aiohttp"}
SCREEN = {"textual"}
COMMANDS = {"click"}
SERVING = {PACKAGE / "cli" / "serve" / f"{name}.py" for name in ("command", "visitors", "web")}
"""The only modules outside `http` that may use the network: they serve the app to a browser."""
SANDBOX = {PACKAGE / "cli" / "sandbox.py", PACKAGE / "sandbox" / "app.py"}
"""The sandbox server and its command."""
CLUSTER = PACKAGE / "large_sets" / "ray_workers.py"
"""The executor for other machines: it checks that they answer before Ray waits for minutes."""
REMOTE = {PACKAGE / "http" / "client.py", *SERVING, CLUSTER, *SANDBOX}
HEAVY = {"onnxruntime", "tokenizers", "torch", "sklearn", "scipy"}
LIGHT = ("errors", "prompt_reading")
"""Modules of the domain that help may load."""
READERS = {"guardtui.files.prompt_files", "guardtui.files.topic_files"}


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def imported(statement: str) -> set[str]:
    """Return all modules that are loaded after a statement, in a fresh interpreter."""
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        cwd=PACKAGE.parent,
    )  # fmt: skip
    return set(run.stdout.split())


def import_of(package: str) -> str:
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted((PACKAGE / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    assert names
    return f"import {', '.join(names)}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("domain", SCREEN | COMMANDS | NETWORK | HEAVY | {"ruamel.yaml", "guardtui.files"}),
        ("files", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.session"}),
        # httpx itself imports click, for its own command.
        ("http", SCREEN | HEAVY | {"polars", "numpy", "pydantic", "guardtui.scorer"}),
        ("scanners", SCREEN | COMMANDS | NETWORK | READERS | {"guardtui.session"}),
        ("session", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("reports", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("advice", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.files", "guardtui.config"}),
        ("large_sets", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.session", "ray"}),
        ("forecast", SCREEN | COMMANDS | NETWORK | {"guardtui.session", "guardtui.files"}),
        (
            "sandbox",
            SCREEN | COMMANDS | {"guardtui.session", "guardtui.reports", "guardtui.config"},
        ),
        ("app", SCREEN | COMMANDS | {"onnxruntime", "torch", "sklearn", "guardtui.cli"}),
        # Each command is loaded when it runs, and imports what it needs at its top.
        ("cli", SCREEN | NETWORK | HEAVY),
        ("tui", COMMANDS | NETWORK | {"onnxruntime", "torch", "sklearn", "guardtui.cli"}),
    ],
)
def test_package_loads_no_forbidden_module(package: str, forbidden: set[str]) -> None:
    # Commands import this module only when they run.
    statement = import_of(package).replace("guardtui.cli.inputs, ", "")
    # These modules need an optional dependency and are imported on request.
    for name in ("large_sets.ray_workers", "cli.serve.web", "cli.agent.mcp_server"):
        statement = statement.replace(f"guardtui.{name}, ", "")
    assert sorted(forbidden & imported(statement)) == []


def test_every_module_docstring_begins_with_a_short_line() -> None:
    wrong = []
    for path in MODULES:
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if path.stat().st_size and not 0 < len(text.split("\n")[0]) <= 100:
            wrong.append(_name(path))
    assert wrong == []


def test_app_module_is_small() -> None:
    assert len((PACKAGE / "tui/app.py").read_text("utf-8").splitlines()) < 250


def test_no_module_names_a_path_outside_the_package() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        assert "/work/" not in text
        assert "../shared" not in text


@pytest.mark.process
def test_help_loads_no_slow_modules() -> None:
    loaded = imported(
        "import contextlib, io, guardtui.cli.main as cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'])\n"
    )
    assert "guardtui.cli.main" in loaded
    slow = SCREEN | NETWORK | HEAVY | {"numpy", "polars", "pydantic", "asyncio", "sqlite3"}
    assert sorted(slow & loaded) == []
    domain = {name for name in loaded if name.startswith("guardtui.domain")}
    assert domain == {"guardtui.domain", *(f"guardtui.domain.{name}" for name in LIGHT)}


@pytest.mark.process
@pytest.mark.parametrize("more", [[], ["--format", "sarif"]])
def test_a_check_of_definitions_loads_no_data_libraries(more: list[str]) -> None:
    arguments = ["check", "sample_data/tax-advice.yaml", *more]
    loaded = imported(
        "import contextlib, io, guardtui.cli.main as cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.TextIOWrapper(\n"
        f"    io.BytesIO())):\n    cli.main({arguments})\n"
    )
    assert "guardtui.advice.text_lint" in loaded
    assert sorted((SCREEN | NETWORK | HEAVY | {"numpy", "polars", "sqlite3"}) & loaded) == []


@pytest.mark.process
def test_the_first_screen_loads_neither_data_libraries_nor_scanners() -> None:
    loaded = imported("import guardtui.cli.open, guardtui.tui.run")
    assert sorted((NETWORK | HEAVY | {"numpy", "polars"}) & loaded) == []
    assert not any(name.startswith("guardtui.scanners") for name in loaded)


@pytest.mark.process
def test_importing_the_package_loads_nothing_of_it() -> None:
    loaded = imported("import guardtui")
    assert {name for name in loaded if name.startswith("guardtui")} == {"guardtui"}


@pytest.mark.process
def test_python_api_loads_neither_screen_nor_commands() -> None:
    loaded = imported("import guardtui\nguardtui.evaluate")
    assert sorted((SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.tui"}) & loaded) == []


def statements(path: Path) -> set[str]:
    """Return all modules that a file imports, inside functions too."""
    result: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return result


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("domain", ("domain", "distributions")),
        ("files", ("files", "domain")),
        ("http", ("http", "files.problems", "domain")),
        ("scanners", ("scanners", "http", "files.problems", "scorer", "domain")),
        (
            "session",
            (
                "session",
                "large_sets.sample",
                "scanners.base",
                "scorer",
                "files",
                "domain",
            ),
        ),
        ("advice", ("advice", "forecast", "session", "scanners", "domain")),
        ("large_sets", ("large_sets", "scanners", "domain")),
        ("forecast", ("forecast", "scanners", "domain", "distributions")),
        ("sandbox", ("sandbox", "scanners", "files", "domain")),
        ("scorer", ("scorer", "distributions")),
        (
            "app",
            (
                "app",
                "config",
                "reports",
                "forecast",
                "advice",
                "session",
                "scanners",
                "scorer",
                "http.errors",
                "files",
                "domain",
            ),
        ),
        (
            "tui",
            (
                "tui",
                "app",
                "config",
                "reports",
                "forecast",
                "advice",
                "session",
                "scanners",
                "scorer",
                "http.errors",
                "files",
                "domain",
            ),
        ),
    ],
)
def test_dependencies_run_downward_inside_functions_too(
    package: str, allowed: tuple[str, ...]
) -> None:
    prefixes = tuple(f"guardtui.{name}." for name in allowed)
    upward = {
        f"{path.name}: {name}"
        for path in (PACKAGE / package).rglob("*.py")
        for name in statements(path)
        if name.startswith("guardtui.") and not f"{name}.".startswith(prefixes)
    }
    assert sorted(upward) == []


def test_domain_does_no_input_or_output() -> None:
    outside = {
        "asyncio", "datetime", "io", "os", "pathlib", "random", "shutil", "socket", "sqlite3",
        "subprocess", "sys", "tempfile", "threading", "time",
    }  # fmt: skip
    for path in (PACKAGE / "domain").rglob("*.py"):
        assert not {name.split(".")[0] for name in statements(path)} & outside, path.name
        calls = [node.func for node in _nodes(path) if isinstance(node, ast.Call)]
        names = {function.id for function in calls if isinstance(function, ast.Name)}
        assert not names & {"open", "print", "input"}, path.name


def test_only_the_listed_modules_use_the_network() -> None:
    network = NETWORK | {"socket", "ssl", "http", "ftplib", "smtplib", "urllib.request"}
    prefixes = tuple(f"{name}." for name in network)
    reaching = {
        path
        for path in MODULES
        if any(f"{name}.".startswith(prefixes) for name in statements(path))
    }
    assert sorted(map(_name, reaching)) == sorted(map(_name, REMOTE))


def test_no_module_holds_an_absolute_path() -> None:
    homes = ("/home/", "/Users/", "/root/", "/tmp/", "/var/", "/usr/", "/etc/", "C:\\")
    results = []
    for path in MODULES:
        texts = [node.value for node in _nodes(path) if isinstance(node, ast.Constant)]
        results += [
            f"{_name(path)}: {text}"
            for text in texts
            if isinstance(text, str) and text.startswith(homes)
        ]
        results += [
            f"{_name(path)}: {name}" for name in statements(path) if name.startswith("os.path")
        ]
    assert results == []
