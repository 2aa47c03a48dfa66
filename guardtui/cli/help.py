"""`guardtui help`: the help of a command, also of one in a group."""

from __future__ import annotations

import click

from guardtui.cli.command_help import Command
from guardtui.cli.output import write
from guardtui.domain.text import display_start, nearest


def _found(root: click.Context, names: tuple[str, ...]) -> click.Context:
    """Return the context of the command that is called by these names.

    Raises UsageError, which suggests the nearest name.
    """
    context = root
    for name in names:
        group = context.command
        commands = group.list_commands(context) if isinstance(group, click.Group) else []
        found = group.get_command(context, name) if isinstance(group, click.Group) else None
        if found is None:
            near = nearest(name, commands)
            remedy = (
                f"did you mean '{context.command_path} {near}'?"
                if near
                else (f"'{root.info_name} help' lists the commands")
            )
            raise click.UsageError(f"no command '{display_start(name, 200)}'; {remedy}")
        context = click.Context(found, parent=context, info_name=name)
    return context


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of commands that begin like this."""
    context = _found(context.find_root(), context.params.get(parameter.name or "") or ())
    group = context.command
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@click.command(
    "help",
    cls=Command,
    examples=(("guardtui help eval", "a command"), ("guardtui help inbox add", "one of a group")),
)
@click.argument("names", nargs=-1, metavar="[COMMAND]…", shell_complete=_complete)
@click.pass_context
def command(context: click.Context, names: tuple[str, ...]) -> None:
    """Explain a command; without one, list all of them."""
    write(f"{_found(context.find_root(), names).get_help()}\n")
