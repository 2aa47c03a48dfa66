"""`guardtui agent spec`: what it says of the commands, against the commands themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import click
import pytest

from guardtui.cli.diagnostics import Exit
from guardtui.cli.main import COMMANDS, cli
from guardtui.reports.formats import FORMATS

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
        {"names": ["topic"], "type": "path", "required": True},
        {
            "names": ["number"],
            "type": "integer range",
            "metavar": "N",
            "least": 0,
            "required": True,
        },
    ]
    options = {one["names"][0]: one for one in described["eval"]["options"]}
    assert options["--prompts"]["required"]
    assert options["--metric"]["repeatable"]
    assert options["--record"]["names"] == ["--record", "--no-record"]
    assert options["--repeat"]["choices"] == ["all", "changed", "near"]
    assert options["--fresh"] == {
        "names": ["--fresh"],
        "type": "flag",
        "help": "Ignore cached verdicts.",
    }
    hidden = {
        spelling for one in described["sandbox"]["options"] for spelling in one["names"]
    } - click_names("sandbox")
    assert hidden == set()


def test_exit_codes_are_those_of_the_help(spec: dict[str, Any], command: Run) -> None:
    assert spec["exit_codes"]["4"] == "not enough evidence"
    assert set(spec["exit_codes"]) == {str(int(code)) for code in Exit}
    described = {one["command"]: one["exit_codes"] for one in spec["commands"]}
    assert set(described["eval"]) == {"1", "3", "4"}
    assert described["history keep"]["3"] == "verdicts are missing"
    assert described["topics apply"] == described["topics get"]
    assert described["sample"] == {}
    for name in ("eval", "history keep", "score", "doctor"):
        said = " ".join(command(*name.split(), "--help").out.split())
        for code, meaning in described[name].items():
            assert f" {code} {meaning}" in said, name


def test_formats_and_variables_are_those_of_the_code(spec: dict[str, Any]) -> None:
    formats = {one["name"]: one for one in spec["formats"]}
    assert set(formats) >= set(FORMATS)
    assert formats["junit"]["ending"] == "junit.xml"
    assert list(formats["csv"]["variants"]) == ["--excel"]
    described = {one["command"]: one["formats"] for one in spec["commands"]}
    assert "tsv" in described["export"]
    assert "tsv" not in described["eval"]
    assert described["history list"] == ["table", "json"]
    assert described["doctor"] == ["json"]
    assert described["sample"] == []
    assert {"GUARDTUI_THEME", "PANW_AI_SEC_API_KEY", "GUARDTUI_MODEL_KEY"} <= set(
        spec["environment"]
    )


def test_a_schema_is_printed_alone_as_its_file_is(spec: dict[str, Any], command: Run) -> None:
    assert {"topic", "settings", "guardrails", "report"} <= set(spec["schemas"])
    result = command("agent", "spec", "--schema", "topic")
    assert (result.code, json.loads(result.out)) == (0, spec["schemas"]["topic"])


def test_a_command_or_a_group_is_described_alone(spec: dict[str, Any], command: Run) -> None:
    result = command("agent", "spec", "--command", "eval")
    assert len(result.out) < 8000
    assert [one["command"] for one in json.loads(result.out)["commands"]] == ["eval"]
    of_group = json.loads(command("agent", "spec", "--command", "history").out)["commands"]
    assert of_group == [one for one in spec["commands"] if one["command"].startswith("history ")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--schema", "topc"], "'topc' does not exist; did you mean 'topic'?"),
        (["--schema", ""], "'' does not exist"),
        (["--command", "hist"], "'hist' does not exist; did you mean 'history'?"),
        (["--command", "nope"], "'nope' does not exist\n"),
        (["--command", "eval", "--schema", "topic"], "exclude each other"),
    ],
)
def test_an_unknown_name_is_bad_input(words: list[str], said: str, command: Run) -> None:
    result = command("agent", "spec", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert len(words) > 2 or "  choose one of " in result.err


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
