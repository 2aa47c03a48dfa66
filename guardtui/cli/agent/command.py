"""`guardtui agent`: what a coding agent needs; each subcommand is loaded when it is run."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = ("spec", "skill", "mcp")
"""Names of the subcommands, which are those of their modules in this package."""


class _LazyGroup(click.Group):
    """A group that imports a subcommand's module only to run or list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"guardtui.cli.agent.{cmd_name}").command
        return command


@click.group("agent", cls=_LazyGroup)
def command() -> None:
    """Describe guardtui to a coding agent."""
