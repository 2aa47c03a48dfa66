"""`guardtui agent`: what a coding agent needs; each subcommand is loaded when it is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

import click

from guardtui.cli.command_help import Group

COMMANDS = {
    "spec": "Print commands, options, exit codes, formats and schemas as JSON.",
    "skill": "Print the loop of refining a topic as a skill.",
    "mcp": "Let a coding agent refine a topic, by the Model Context Protocol.",
}
"""Short help of each subcommand by its name, which is that of its module in this package."""


class _LazyGroup(Group):
    """A group that imports a subcommand's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"guardtui.cli.agent.{cmd_name}").command
        return command

    def command_sections(
        self, ctx: click.Context
    ) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
        yield "Commands", list(COMMANDS.items())


@click.group("agent", cls=_LazyGroup)
def command() -> None:
    """Describe guardtui to a coding agent."""
