"""Each room stands by itself: what it imports in a fresh interpreter is what it may know."""

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
SERVING = PACKAGE / "cli" / "serve.py"
"""The one module beside `http` that may know the network: it shows the app in a browser."""
SANDBOX = {PACKAGE / "cli" / "sandbox.py", PACKAGE / "sandbox" / "app.py"}
"""The server to test with, and its command."""
CLUSTER = PACKAGE / "shards" / "ray_executor.py"
"""The executor on other machines, which asks whether they answer before Ray waits for minutes."""
REMOTE = {PACKAGE / "http" / "client.py", SERVING, CLUSTER, *SANDBOX}
HEAVY = {"onnxruntime", "tokenizers", "torch", "sklearn", "scipy"}


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def imported(statement: str) -> set[str]:
    """All modules that are loaded after a statement."""
    script = f"import sys\n{statement}\nprint(*sys.modules)"
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


@pytest.mark.process
@pytest.mark.parametrize(
    ("room", "never"),
    [
        ("domain", SCREEN | COMMANDS | NETWORK | HEAVY | {"ruamel.yaml", "guardtui.files"}),
        ("files", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.session"}),
        # httpx itself brings click, for a command of its own.
        ("http", SCREEN | HEAVY | {"polars", "numpy", "pydantic", "guardtui.scorer"}),
        ("scanners", SCREEN | COMMANDS | NETWORK | {"guardtui.files", "guardtui.session"}),
        ("session", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("reports", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.scanners.local"}),
        ("advice", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.files", "guardtui.config"}),
        ("shards", SCREEN | COMMANDS | NETWORK | HEAVY | {"guardtui.session", "ray"}),
        ("forecast", SCREEN | COMMANDS | NETWORK | {"guardtui.session", "guardtui.files"}),
        (
            "sandbox",
            SCREEN | COMMANDS | {"guardtui.session", "guardtui.reports", "guardtui.config"},
        ),
        ("app", SCREEN | COMMANDS | {"onnxruntime", "torch", "sklearn", "guardtui.cli"}),
        # Commands are loaded when they run, and import at their top what they need.
        ("cli", SCREEN | NETWORK | HEAVY),
        ("tui", COMMANDS | NETWORK | {"onnxruntime", "torch", "sklearn", "guardtui.cli"}),
    ],
)
def test_a_room_imports_what_it_may(room: str, never: set[str]) -> None:
    # Two modules of `cli` share what inputs need, and are imported by commands only when they run.
    statement = all_of(room).replace("guardtui.cli.inputs, ", "")
    # What needs an extra is imported when it is asked for.
    statement = statement.replace("guardtui.shards.ray_executor, ", "")
    assert sorted(never & imported(statement)) == []


def test_every_module_says_in_a_line_what_it_is_for() -> None:
    silent = []
    for path in MODULES:
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if path.stat().st_size and not 0 < len(text.split("\n")[0]) <= 100:
            silent.append(_name(path))
    assert silent == []


def test_the_app_stays_small() -> None:
    assert len((PACKAGE / "tui/app.py").read_text("utf-8").splitlines()) < 250


def test_the_package_knows_no_place_but_its_own() -> None:
    for path in MODULES:
        text = path.read_text("utf-8")
        assert "/work/" not in text
        assert "../shared" not in text


@pytest.mark.process
def test_help_is_shown_without_what_is_slow_to_load() -> None:
    loaded = imported(
        "import contextlib, io, guardtui.cli.main as cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'])\n"
    )
    assert "guardtui.cli.main" in loaded
    slow = SCREEN | NETWORK | HEAVY | {"numpy", "polars", "pydantic", "asyncio", "sqlite3"}
    assert sorted(slow & loaded) == []
    domain = {name for name in loaded if name.startswith("guardtui.domain")}
    assert domain == {"guardtui.domain", "guardtui.domain.errors"}


def statements(path: Path) -> set[str]:
    """All modules that a file imports anywhere, also those that a function imports when it runs."""
    found: set[str] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize(
    ("room", "known"),
    [
        ("domain", ("domain",)),
        ("files", ("files", "domain")),
        ("http", ("http", "files.problems", "domain")),
        ("scanners", ("scanners", "http", "scorer", "domain")),
        (
            "session",
            (
                "session",
                "shards.large_set",
                "shards.sample",
                "scanners.base",
                "scorer",
                "files",
                "domain",
            ),
        ),
        ("advice", ("advice", "forecast", "session", "scanners", "domain")),
        ("shards", ("shards", "scanners", "files", "domain")),
        ("forecast", ("forecast", "scanners", "domain")),
        ("sandbox", ("sandbox", "scanners", "files", "domain")),
        ("scorer", ("scorer",)),
        (
            "app",
            (
                "app",
                "reports",
                "shards",
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
                "shards",
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
def test_arrows_run_downward_also_inside_functions(room: str, known: tuple[str, ...]) -> None:
    allowed = tuple(f"guardtui.{name}." for name in known)
    upward = {
        f"{path.name}: {name}"
        for path in (PACKAGE / room).rglob("*.py")
        for name in statements(path)
        if name.startswith("guardtui.") and not f"{name}.".startswith(allowed)
    }
    assert sorted(upward) == []


def test_the_domain_does_no_input_or_output() -> None:
    outside = {
        "asyncio", "datetime", "io", "os", "pathlib", "random", "shutil", "socket", "sqlite3",
        "subprocess", "sys", "tempfile", "threading", "time",
    }  # fmt: skip
    for path in (PACKAGE / "domain").rglob("*.py"):
        assert not {name.split(".")[0] for name in statements(path)} & outside, path.name
        calls = [node.func for node in _nodes(path) if isinstance(node, ast.Call)]
        names = {function.id for function in calls if isinstance(function, ast.Name)}
        assert not names & {"open", "print", "input"}, path.name


def test_no_module_reaches_for_the_network_but_those_whose_work_it_is() -> None:
    network = NETWORK | {"socket", "ssl", "http", "ftplib", "smtplib", "urllib.request"}
    prefixes = tuple(f"{name}." for name in network)
    reaching = {
        path
        for path in MODULES
        if any(f"{name}.".startswith(prefixes) for name in statements(path))
    }
    assert sorted(map(_name, reaching)) == sorted(map(_name, REMOTE))


def test_no_module_knows_a_fixed_place() -> None:
    homes = ("/home/", "/Users/", "/root/", "/tmp/", "/var/", "/usr/", "/etc/", "C:\\")
    found = []
    for path in MODULES:
        texts = [node.value for node in _nodes(path) if isinstance(node, ast.Constant)]
        found += [
            f"{_name(path)}: {text}"
            for text in texts
            if isinstance(text, str) and text.startswith(homes)
        ]
        found += [
            f"{_name(path)}: {name}" for name in statements(path) if name.startswith("os.path")
        ]
    assert found == []
