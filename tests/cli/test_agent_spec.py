"""`guardtui agent spec`: what it says of the commands, against the commands themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import click
import pytest

from guardtui.cli.main import COMMANDS, cli

from .conftest import Run


@pytest.fixture
def spec(command: Run) -> dict[str, Any]:
    result = command("agent", "spec")
    assert (result.code, result.err) == (0, "")
    document: dict[str, Any] = json.loads(result.out)
    return document


def test_every_command_is_described(spec: dict[str, Any]) -> None:
    names = [one["command"] for one in spec["commands"]]
    assert len(names) == len(set(names))
    assert {name.split()[0] for name in names} == set(COMMANDS)
    assert {"eval", "history keep", "completion", "agent spec", "guardrails"} <= set(names)
    assert "history" not in names
    assert all(one["help"] for one in spec["commands"])


def test_options_have_names_types_choices_and_bounds(spec: dict[str, Any]) -> None:
    described = {one["command"]: one for one in spec["commands"]}
    assert described["history restore"]["arguments"] == [
        {
            "names": ["number"],
            "type": "integer range",
            "metavar": "N",
            "least": 0,
            "required": True,
        },
        {"names": ["topic"], "type": "path", "required": True},
    ]
    options = {one["names"][0]: one for one in described["eval"]["options"]}
    assert options["--prompts"]["required"]
    assert options["--metric"]["repeatable"]
    assert options["--record"]["names"] == ["--record", "--no-record"]
    assert options["--repeat"]["choices"] == ["all", "flipped", "near"]
    assert options["--fresh"] == {
        "names": ["--fresh"],
        "type": "flag",
        "help": "Ignore cached verdicts.",
    }
    hidden = {
        spelling for one in described["sandbox"]["options"] for spelling in one["names"]
    } - click_names("sandbox")
    assert hidden == set()


def click_names(name: str) -> set[str]:
    """The spellings of a command's options that its help shows."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    assert len(shown) < len(command.params)
    return {spelling for one in shown for spelling in one.opts}


@pytest.mark.process
@pytest.mark.parametrize("words", [["--help"], ["agent", "--help"]])
def test_help_imports_no_large_library(words: list[str]) -> None:
    code = (
        "import sys\nfrom guardtui.cli.main import main\n"
        f"try: main({words!r})\n"
        "finally: print(*{'textual', 'polars', 'numpy'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.strip() == b""
