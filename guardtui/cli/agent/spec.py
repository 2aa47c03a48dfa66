"""`guardtui agent spec`: what guardtui offers to programs, as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from inspect import cleandoc
from types import MappingProxyType
from typing import Annotated, Any

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import exits_of
from guardtui.cli.output import write
from guardtui.reports.json_data import Omitted, encode


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """An argument or option: `names` are its spellings, `least` and `most` bound a number.

    An option without a value has the type `flag`.
    """

    names: list[str]
    type: str
    metavar: Annotated[str | None, Omitted]
    choices: Annotated[list[str] | None, Omitted]
    least: Annotated[int | float | None, Omitted]
    most: Annotated[int | float | None, Omitted]
    default: Annotated[str | int | float | None, Omitted]
    required: Annotated[bool, Omitted]
    repeatable: Annotated[bool, Omitted]
    help: Annotated[str | None, Omitted]

    @classmethod
    def of(cls, parameter: click.Parameter) -> ParameterSpec:
        """Return the description of a parameter."""
        kind, known = parameter.type, parameter.to_info_dict()
        default = known.get("default")
        return cls(
            names=[*parameter.opts, *parameter.secondary_opts],
            type="flag" if known.get("is_flag") else kind.name,
            metavar=parameter.metavar,
            choices=_choices(parameter) or None,
            least=getattr(kind, "min", None),
            most=getattr(kind, "max", None),
            default=default if isinstance(default, str | int | float) else None,
            required=parameter.required,
            repeatable=parameter.multiple or parameter.nargs == -1,
            help=known.get("help"),
        )


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command that can be run, such as `eval` or `history keep`.

    `formats` are those of its reports, `exit_codes` those with a meaning of its own.
    """

    command: str
    help: str
    arguments: list[ParameterSpec]
    options: list[ParameterSpec]
    formats: list[str]
    exit_codes: dict[int, str]

    @classmethod
    def of(cls, name: str, command: click.Command, exits: Mapping[Exit, str]) -> CommandSpec:
        """Return the description of a command; options that its help hides are left out."""
        shown = [
            parameter for parameter in command.params if not getattr(parameter, "hidden", False)
        ]
        formats: list[str] = []
        for parameter in shown:
            if parameter.name == "format_name":
                formats = _choices(parameter)
            elif parameter.name == "as_json":
                formats = ["json"]
        return cls(
            command=name,
            help=cleandoc(command.help or "").replace("\b\n", ""),
            arguments=[
                ParameterSpec.of(parameter)
                for parameter in shown
                if isinstance(parameter, click.Argument)
            ],
            options=[
                ParameterSpec.of(parameter)
                for parameter in shown
                if isinstance(parameter, click.Option)
            ],
            formats=formats,
            exit_codes={int(code): meaning for code, meaning in exits.items()},
        )


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """A format of reports: the ending of its files, what it is for, and its variants by option."""

    name: str
    ending: str
    about: str
    variants: dict[str, str]


@dataclass(frozen=True, slots=True)
class Spec:
    """What guardtui offers to programs. Only commands and exit codes for one command.

    `environment` has what each variable sets, `schemas` the JSON Schemas of the files that an
    author writes and of the JSON that commands print.
    """

    exit_codes: dict[int, str]
    commands: list[CommandSpec]
    formats: Annotated[list[FormatSpec] | None, Omitted] = None
    environment: Annotated[dict[str, str] | None, Omitted] = None
    schemas: Annotated[dict[str, dict[str, Any]] | None, Omitted] = None


@click.command("spec", cls=Command)
@click.option("--command", "only", metavar="NAME", help="Only this command or group, such as eval.")
@click.option("--schema", metavar="NAME", help="Only this JSON Schema, such as topic.")
@click.pass_context
def command(context: click.Context, only: str | None, schema: str | None) -> None:
    """Print every command, option, exit code, format and JSON Schema as one JSON document."""
    if only is not None and schema is not None:
        raise click.UsageError("--command and --schema exclude each other")
    if schema is not None:
        paths = _schemas()
        if schema not in paths:
            raise _unknown("--schema", schema, paths)
        write(paths[schema].read_text("utf-8"))
        return
    root = context.find_root()
    commands = list(_commands(root, root.command))
    spec = Spec({int(code): code.meaning for code in Exit}, commands)
    if only is not None:
        chosen = [
            described for described in commands if f"{described.command} ".startswith(f"{only} ")
        ]
        if not chosen:
            names = [known.command for known in commands]
            groups = [name.split()[0] for name in names]
            raise _unknown("--command", only, list(dict.fromkeys((*groups, *names))))
        spec = replace(spec, commands=chosen)
    else:
        schemas = {name: json.loads(path.read_text("utf-8")) for name, path in _schemas().items()}
        spec = replace(spec, formats=_formats(), environment=_environment(), schemas=schemas)
    write(encode("spec", spec, compact=True))


def _unknown(option: str, name: str, known: Collection[str]) -> InputError:
    from guardtui.domain.text import did_you_mean, display_start

    return InputError(
        f"{option}: '{display_start(name, 60)}' does not exist{did_you_mean(name, known)}\n"
        f"  choose one of {', '.join(known)}"
    )


def _schemas() -> dict[str, Traversable]:
    """Return the files of the schemas, by name."""
    folder, ending = files("guardtui") / "schemas", ".schema.json"
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(ending): path for path in paths if path.name.endswith(ending)}


def _formats() -> list[FormatSpec]:
    from guardtui.reports.formats import format_of, report_formats

    return [
        FormatSpec(
            name,
            known.ending,
            known.about,
            {known.variant.option: known.variant.about} if known.variant else {},
        )
        for name in report_formats()
        for known in [format_of(name)]
    ]


def _environment() -> dict[str, str]:
    """Return what variables set: settings, AIRS, and keys of models."""
    from guardtui.config import SETTINGS
    from guardtui.http.model_keys import KEY_VARIABLE, KEYS_VARIABLE
    from guardtui.scanners.airs.credentials import AIRS_SETTINGS

    return (
        {setting.variable: f"setting {setting.key}" for setting in SETTINGS}
        | {
            setting.variable: f"AIRS: {setting.name}"
            for setting in AIRS_SETTINGS
            if setting.variable
        }
        | {KEY_VARIABLE: "key of the models", KEYS_VARIABLE: "keys of models at several addresses"}
    )


def _commands(
    context: click.Context,
    command: click.Command,
    name: str = "",
    exits: Mapping[Exit, str] = MappingProxyType({}),
) -> Iterator[CommandSpec]:
    """Yield the descriptions of a command, if it can be run, and of its subcommands.

    `exits` are the exit codes of its group.
    """
    exits = {**exits, **exits_of(command)}
    if not isinstance(command, click.Group) or (name and command.invoke_without_command):
        yield CommandSpec.of(name, command, exits)
    if isinstance(command, click.Group):
        from guardtui.cli.main import COMMANDS

        for subcommand in command.list_commands(context) if name else COMMANDS:
            found = command.get_command(context, subcommand)
            assert found is not None, subcommand  # noqa: S101 - the group has listed it
            yield from _commands(context, found, f"{name} {subcommand}".lstrip(), exits)


def _choices(parameter: click.Parameter) -> list[str]:
    return list(getattr(parameter.type, "choices", ()))
