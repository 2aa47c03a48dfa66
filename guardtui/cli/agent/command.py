"""`guardtui agent`: what a coding agent needs; each subcommand is loaded when it is run."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "spec": "Print commands, options, exit codes, formats and schemas as JSON.",
    "skill": "Print the loop of refining a topic as a skill.",
    "mcp": "Let a coding agent refine a topic, by the Model Context Protocol.",
}
"""Short help of each subcommand by its name, which is that of its module in this package."""


class _LazyGroup(click.Group):
    """A group that imports a subcommand's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"guardtui.cli.agent.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("agent", cls=_LazyGroup)
def command() -> None:
    """Describe guardtui to a coding agent."""
