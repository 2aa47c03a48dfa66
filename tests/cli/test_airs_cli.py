"""Commands of airs-cli that are typed here, and the table of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.cli.airs_cli import AIRS_CLI, AIRS_CLI_COMMANDS, airs_cli_explained

TABLE = [
    line
    for line in (Path(__file__).parents[2] / "docs/pages/airs.md").read_text("utf-8").splitlines()
    if line.startswith(f"| `{AIRS_CLI} ")
]


@pytest.mark.parametrize("name", AIRS_CLI_COMMANDS)
def test_equivalent_is_that_of_the_documentation(name: str) -> None:
    group, _, command = name.partition(" ")
    row = next(
        line
        for line in TABLE
        if (f"{AIRS_CLI} {group}" in line or f"`{name}`" in line) and command in line.split("|")[1]
    )
    assert f"`{AIRS_CLI_COMMANDS[name]}" in row
    assert f"'{AIRS_CLI_COMMANDS[name]}'" in airs_cli_explained(
        [*name.split(), "--guardrail", "airs:x"]
    )
