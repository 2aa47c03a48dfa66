"""`guardtui agent spec`: what guardtui offers to programs, as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, Literal, Required, TypedDict, cast

import click

from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import exits_of
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
    """A command that can be run, such as `eval` or `history keep`.

    `formats` are those of its output besides text. `exit_codes` are those with a meaning of its
    own.
    """

    command: str
    help: str
    arguments: list[ParameterSpec]
    options: list[ParameterSpec]
    formats: list[str]
    exit_codes: dict[int, str]


class FormatSpec(TypedDict):
    """A format of reports: the ending of its files, what it is for, and its variants by option."""

    name: str
    ending: str
    about: str
    variants: dict[str, str]


class Spec(TypedDict, total=False):
    """What guardtui offers to programs. Only `commands` and `exit_codes` for one command.

    `environment` has the title of each variable that sets something, `schemas` the JSON Schemas of
    the files that an author writes, and of the JSON that commands print.
    """

    exit_codes: Required[dict[int, str]]
    commands: Required[list[CommandSpec]]
    formats: list[FormatSpec]
    environment: dict[str, str]
    schemas: dict[str, dict[str, Any]]


@click.command("spec")
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
    from guardtui.reports.json_data import encode

    root = context.find_root()
    commands = list(_commands(root, root.command))
    if only is not None:
        known = [one["command"] for one in commands]
        commands = [one for one in commands if f"{one['command']} ".startswith(f"{only} ")]
        if not commands:
            raise _unknown("--command", only, known)
    spec: Spec = {
        "exit_codes": {int(code): code.meaning for code in Exit},
        "commands": commands,
    }
    if only is None:
        schemas = {name: json.loads(path.read_text("utf-8")) for name, path in _schemas().items()}
        spec |= {"formats": _formats(), "environment": _environment(), "schemas": schemas}
    write(encode("spec", spec))


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
        {
            "name": name,
            "ending": known.ending,
            "about": known.about,
            "variants": {known.variant.option: known.variant.about} if known.variant else {},
        }
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
        | {one.variable: f"AIRS: {one.name}" for one in AIRS_SETTINGS if one.variable}
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
        shown = [one for one in command.params if not getattr(one, "hidden", False)]
        yield {
            "command": name,
            "help": cleandoc(command.help or "").replace("\b\n", ""),
            "arguments": [_parameter(one) for one in shown if isinstance(one, click.Argument)],
            "options": [_parameter(one) for one in shown if isinstance(one, click.Option)],
            "formats": [
                name
                for one in shown
                for name in {"format_name": _choices(one), "as_json": ["json"]}.get(
                    one.name or "", []
                )
            ],
            "exit_codes": {int(code): meaning for code, meaning in exits.items()},
        }
    if isinstance(command, click.Group):
        from guardtui.cli.main import COMMANDS

        for subcommand in command.list_commands(context) if name else COMMANDS:
            found = command.get_command(context, subcommand)
            assert found is not None, subcommand  # noqa: S101 - the group has listed it
            yield from _commands(context, found, f"{name} {subcommand}".lstrip(), exits)


def _choices(parameter: click.Parameter) -> list[str]:
    return list(getattr(parameter.type, "choices", ()))


def _parameter(parameter: click.Parameter) -> ParameterSpec:
    kind, known = parameter.type, parameter.to_info_dict()
    default = known.get("default")
    values = {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "type": "flag" if known.get("is_flag") else kind.name,
        "metavar": parameter.metavar,
        "choices": _choices(parameter),
        "least": getattr(kind, "min", None),
        "most": getattr(kind, "max", None),
        "default": default if isinstance(default, str | int | float) else None,
        "required": parameter.required,
        "repeatable": parameter.multiple or parameter.nargs == -1,
        "help": known.get("help"),
    }
    given = {key: value for key, value in values.items() if value or type(value) in (int, float)}
    return cast("ParameterSpec", given)
