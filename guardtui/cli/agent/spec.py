"""`guardtui agent spec`: every command and its options as one JSON document, for programs."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Literal, Required, TypedDict, cast

import click

from guardtui.cli.output import write


class ParameterSpec(TypedDict, total=False):
    """An argument or option: `names` are its spellings, `least` and `most` bound a number.

    Keys are omitted where they do not apply. An option without a value has the type `flag`.
    """

    names: Required[list[str]]
    type: Required[str]
    metavar: str
    choices: list[str]
    least: float
    most: float
    default: str | int | float
    required: Literal[True]
    repeatable: Literal[True]
    help: str


class CommandSpec(TypedDict):
    """A command that can be run, such as `eval` or `history keep`."""

    command: str
    help: str
    arguments: list[ParameterSpec]
    options: list[ParameterSpec]


@click.command("spec")
@click.pass_context
def command(context: click.Context) -> None:
    """Print every command with its arguments and options, as JSON."""
    from guardtui.reports.json_data import encode

    root = context.find_root()
    write(encode("spec", {"commands": list(_commands(root, root.command))}))


def _commands(
    context: click.Context, command: click.Command, name: str = ""
) -> Iterator[CommandSpec]:
    """Yield the descriptions of a command, if it can be run, and of its subcommands."""
    if not isinstance(command, click.Group) or (name and command.invoke_without_command):
        shown = [one for one in command.params if not getattr(one, "hidden", False)]
        yield {
            "command": name,
            "help": cleandoc(command.help or "").replace("\b\n", ""),
            "arguments": [_parameter(one) for one in shown if isinstance(one, click.Argument)],
            "options": [_parameter(one) for one in shown if isinstance(one, click.Option)],
        }
    if isinstance(command, click.Group):
        from guardtui.cli.main import COMMANDS

        for subcommand in command.list_commands(context) if name else COMMANDS:
            found = command.get_command(context, subcommand)
            assert found is not None, subcommand  # noqa: S101 - the group has listed it
            yield from _commands(context, found, f"{name} {subcommand}".lstrip())


def _parameter(parameter: click.Parameter) -> ParameterSpec:
    kind, known = parameter.type, parameter.to_info_dict()
    default = known.get("default")
    values = {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "type": "flag" if known.get("is_flag") else kind.name,
        "metavar": parameter.metavar,
        "choices": list(getattr(kind, "choices", ())),
        "least": getattr(kind, "min", None),
        "most": getattr(kind, "max", None),
        "default": default if isinstance(default, str | int | float) else None,
        "required": parameter.required,
        "repeatable": parameter.multiple or parameter.nargs == -1,
        "help": known.get("help"),
    }
    given = {key: value for key, value in values.items() if value or type(value) in (int, float)}
    return cast("ParameterSpec", given)
