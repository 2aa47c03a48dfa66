"""`guardtui agent skill`: print the instructions for a coding agent that refines a topic."""

from __future__ import annotations

import click

from guardtui.cli.command_help import Command


@click.command("skill", cls=Command)
def command() -> None:
    """Print a skill: how a coding agent refines a topic with guardtui.

    Agents that know skills find it in the project's folder .agents/skills/guardtui, as SKILL.md.
    """
    from importlib.resources import files

    from guardtui.cli.output import write

    write(files("guardtui.cli.agent").joinpath("SKILL.md").read_text("utf-8"))
