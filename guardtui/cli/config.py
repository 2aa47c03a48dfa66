"""`guardtui config`: list, check and change the settings."""

from __future__ import annotations

import os

import click

from guardtui.cli.command_help import Group
from guardtui.cli.diagnostics import Exit, InputError, note
from guardtui.cli.guardrail_options import GuardrailFlags, guardrail_option
from guardtui.cli.options import exits
from guardtui.cli.output import table, write
from guardtui.config import SETTINGS, Config, ConfigError, config_path, find_setting, load_config
from guardtui.domain.text import display_text
from guardtui.files.problems import FileError

_HEADER = ("key", "value", "source")


@click.group(
    "config",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("guardtui config", "All settings and where they come from"),
        ("guardtui config set theme guardtui-light", "Change one"),
    ),
)
@click.option("--path", "show_path", is_flag=True, help="Print the path of the settings file.")
@click.pass_context
def command(context: click.Context, show_path: bool) -> None:
    """List all settings: key, value and where it comes from.

    Flags take precedence over environment variables (GUARDTUI_THEME, …), these over the file, and
    the file over the defaults. In a pipe the three columns are separated by tabs.
    """
    if context.invoked_subcommand is None:
        write(f"{config_path()}\n" if show_path else table(_rows(load_config()), _HEADER))
    elif show_path:
        raise click.UsageError("--path cannot be combined with a command")


def _rows(config: Config) -> list[tuple[str, str, str]]:
    """Return key, value and source of every setting."""
    return [
        (setting.key, setting.show(config.value(setting.key)), config.source(setting.key).value)
        for setting in SETTINGS
    ]


@command.command("show")
@guardrail_option("Settings for this profile: airs:PROFILE, or the name of a guardrail.")
def show(guardrail: GuardrailFlags) -> None:
    """List the settings of guardtui and of AIRS, with where each value comes from.

    Keys and secrets are masked. AIRS is set by variables, and by a tenant of airs-cli or the file
    of the older `airs`.
    """
    from guardtui.cli.airs_service import settings_of  # an HTTP client, for this command only

    rows = _rows(load_config())
    airs = settings_of(guardrail)
    if airs.tenant:
        rows.append(("airs.tenant", display_text(airs.tenant), display_text(airs.tenant_file)))
    rows += [(f"airs.{name}", text, origin) for name, (text, origin) in airs.shown().items()]
    write(table(rows, _HEADER))


@command.command("check")
@exits({Exit.BAD_INPUT: "bad usage, or something is invalid"})
def check() -> None:
    """Report unknown or invalid settings, themes and keys."""
    from guardtui.app.guardrails.named import load_guardrails

    config = load_config()
    load_guardrails()
    if problems := _problems(config):
        raise ConfigError(problems)
    missing = "" if config_path().exists() else " (no such file)"
    write(f"{config.path}: nothing is wrong{missing}\n")


@command.command("set")
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Write a setting to the file; comments and other lines stay."""
    _change(key, value)


@command.command("unset")
@click.argument("key")
def unset(key: str) -> None:
    """Remove a setting from the file, so that the default applies."""
    _change(key, None)


def _change(key: str, text: str | None) -> None:
    try:
        setting = find_setting(key)
        value = None if text is None else setting.parse(text)
    except ValueError as error:
        raise InputError(f"{key}: {error}\n  'guardtui config' lists all settings") from error
    if value is not None and (problems := _problems(Config(file={key: value}))):
        raise InputError(
            "\n".join(f"{problem.problem}\n  {problem.remedy}" for problem in problems)
        )
    path = config_path()
    Config(path).set_value(key, value)
    note(f"written: {path}" if path.exists() else f"{path}: no such file")
    if os.environ.get(setting.variable):
        note(f"{setting.variable} is set, and takes precedence over the file")


def _problems(config: Config) -> list[FileError]:
    """Return problems that only the screen can detect; other settings do not load its library."""
    if all(
        config.value(setting.key) == setting.default for setting in SETTINGS if setting.on_screen
    ):
        return []
    from guardtui.tui.registry.keymap import check_config

    return check_config(config)
