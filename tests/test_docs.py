"""Documentation: keys, links, pictures, command lines, and module names."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest

from guardtui.cli.main import COMMANDS, cli
from tests.docs.blocks import DOCUMENTS, PAGES, ROOT

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
LOADED = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//")


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prose(path: Path) -> str:
    return FENCE.sub("", path.read_text("utf-8"))


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _prose(path), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower())) for title in titles}


def _lines() -> list[str]:
    """Every command line of ours in a shell block, and every one in backticks that has options."""
    results: dict[str, None] = {}
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        for language, body in FENCE.findall(text):
            if language == "sh":
                lines = body.replace("\\\n", " ").splitlines()
                results.update(dict.fromkeys(one for one in lines if one.startswith("guardtui")))
        for line in re.findall(r"`(guardtui [^`\n]+)`", _prose(path)):
            if "COMMAND" not in line:
                results[line] = None
    return list(results)


def test_generated_pages_are_current() -> None:
    pages = _script("build_docs").generated()
    assert len(pages) > 5
    wrong = [path.name for path, text in pages.items() if path.read_text("utf-8") != text]
    assert wrong == [], "run: python scripts/build_docs.py"


def test_keys_of_the_jobs_exist() -> None:
    keys = {
        name
        for row in re.findall(r"^\| (`.+?`) \| ", _keys(), re.MULTILINE)
        for name in _spans(row)
    }
    history = (ROOT / "guardtui" / "tui" / "help" / "history.md").read_text("utf-8")
    keys |= set(re.findall(r"^\| (\w)\b.* \| ", history, re.MULTILINE))
    named = {
        re.sub(r"^Ctrl-(.)", lambda match: f"^{match[1].lower()}", name)
        for name in _spans((ROOT / "docs" / "pages" / "howto.md").read_text("utf-8"))
        if re.fullmatch(r"F\d+|Ctrl-\w|.", name)
    }
    assert len(named) > 10
    assert named <= keys


def _keys() -> str:
    return (ROOT / "docs" / "pages" / "keys.md").read_text("utf-8")


def _spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_links_and_pictures_exist() -> None:
    pages, wrong = ROOT / "docs" / "pages", []
    for path in DOCUMENTS:
        for target in LINK.findall(_prose(path)):
            name, _, anchor = target.partition("#")
            file = path.parent / name if name else path
            if "://" in name:
                wrong.append(f"{path.name}: {target}: nothing is linked that needs the network")
            elif not file.is_file():
                wrong.append(f"{path.name}: {target}: no such file")
            elif path.parent.name == "pages" and pages not in Path(os.path.normpath(file)).parents:
                wrong.append(f"{path.name}: {target}: not in the site")
            elif anchor and anchor not in _anchors(file):
                wrong.append(f"{path.name}: {target}: no such title")
    assert wrong == []


def test_every_page_is_linked_from_readme_and_every_picture_is_used() -> None:
    linked = LINK.findall(_prose(ROOT / "README.md"))
    pages = {f"docs/pages/{page.name}" for page in PAGES} - {"docs/pages/index.md"}
    assert pages <= {target.partition("#")[0] for target in linked}
    used = {target for page in PAGES for target in LINK.findall(_prose(page))}
    pictures = {f"pictures/{path.name}" for path in (ROOT / "docs/pages/pictures").iterdir()}
    assert pictures == {target for target in used if target.startswith("pictures/")}


def test_no_page_but_the_readme_installs_guardtui_from_an_index() -> None:
    wrong = [
        f"{path.name}: {line}"
        for path in DOCUMENTS
        if path.name != "README.md"  # it says that this is for later
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"(pip|uv|pipx) .*\binstall.* ['\"]?guardtui\b", line)
    ]
    assert wrong == []


def test_pictures_load_nothing() -> None:
    pictures = sorted((ROOT / "docs" / "pages" / "pictures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text("utf-8")
        assert not LOADED.search(text), picture.name
        assert not re.search(r"(?:href|src)=[\"']https?:", text), picture.name


def test_commands_page_shows_every_command_and_its_options() -> None:
    page = (ROOT / "docs" / "pages" / "commands.md").read_text("utf-8")
    blocks = "".join(body for language, body in FENCE.findall(page) if language == "sh")
    shown = {line.split()[1] for line in blocks.splitlines() if len(line.split()) > 1}
    assert shown >= set(COMMANDS)
    with click.Context(cli) as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert command is not None
            if sum(isinstance(one, click.Option) for one in command.params) > 1:
                assert re.search(rf"^\| `{name}` \| [`<]", page, re.MULTILINE), name


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/pages/architecture.md"])
def test_modules_named_for_contributors_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    known = [
        f"/{path.relative_to(ROOT).as_posix()}"
        for folder in ("guardtui", "scripts", "tests")
        for path in (ROOT / folder).rglob("*.py")
    ]
    named = set(re.findall(r"`(?:python )?([\w/]+\.py)[` :]", text))
    assert named
    assert [
        path for path in sorted(named) if not any(one.endswith(f"/{path}") for one in known)
    ] == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/pages/architecture.md"])
def test_classes_and_methods_named_for_contributors_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    source = "".join(path.read_text("utf-8") for path in (ROOT / "guardtui").rglob("*.py"))
    named = re.findall(r"`([A-Z][a-z]\w+)(?:\.(\w+))?(?:\([^`]*\))?`", text)
    assert named
    for owner, method in named:
        assert re.search(rf"^class {owner}\b", source, re.MULTILINE), owner
        assert not method or re.search(rf"^    (?:async )?def {method}\(", source, re.MULTILINE), (
            method
        )


def test_each_layer_of_the_architecture_is_a_package_and_each_package_a_layer() -> None:
    text = (ROOT / "docs" / "pages" / "architecture.md").read_text("utf-8")
    layers = {
        name
        for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        for name in re.findall(r"`([\w.]+)/?`", row)
    }
    packages = {path.parent.name for path in (ROOT / "guardtui").glob("*/__init__.py")}
    assert layers == packages | {"api.py", "config.py", "distributions.py"}


def test_each_invariant_has_a_test_that_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| (`tests/[^|]+) \|$", text, re.MULTILINE)
    assert len(rows) >= 20
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", "".join(rows)):
        assert re.search(
            rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE
        ), f"{file}::{name}"


def test_command_lines_parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tax.yaml", "tax-advice.yaml"):
        Path(name).touch()
    lines, wrong = _lines(), []
    for line in lines:
        try:
            words = shlex.split(line.partition(" > ")[0])[1:]
            _parse(["64" if word == "$AT_ONCE" else word for word in words])
        except click.ClickException as error:
            wrong.append(f"{line}: {error.format_message()}")
    assert len(lines) > 100
    assert wrong == []


@pytest.mark.parametrize("line", ["eval tax.yaml", "open --nonsense", "tax.yaml --prompt", "x y z"])
def test_an_invalid_command_line_is_detected(line: str) -> None:
    with pytest.raises(click.UsageError):
        _parse(shlex.split(line))


def _parse(words: list[str]) -> None:
    """Parse as the command line does, and run nothing; raises `click.UsageError`."""
    if len(words) == 1 and words[0] in COMMANDS:
        return  # a bare `guardtui eval` in a sentence names the command, and is no line to run
    if words == ["--help"]:
        return
    with click.Context(cli, info_name="guardtui") as context:
        rest = [*words] if words and words[0] in COMMANDS else ["open", *words]
        name, command, arguments = cli.resolve_command(context, rest)
        assert command is not None
        command.make_context(name, list(arguments), parent=context)


def test_figures_of_the_engine_are_those_of_the_benchmarks() -> None:
    measured = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    page = (ROOT / "docs" / "pages" / "engine.md").read_text("utf-8")
    figures = re.findall(r"\b0\.\d{3}\b|\d+\.\d+ ms|\b\d+(?:\.\d+)? s\b", page)
    assert len(figures) > 8
    for figure in set(figures) - {"0.500"}:  # the built-in threshold
        assert figure in measured, figure
