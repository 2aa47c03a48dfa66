"""`guardtui config`: what is set, where it comes from, whether it is right; and setting it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.diagnostics import InputError, note
from guardtui.cli.options import tenant_option
from guardtui.cli.output import write

if TYPE_CHECKING:
    from guardtui.config import Config, Setting
    from guardtui.files.problems import FileProblem


@click.group("config", invoke_without_command=True)
@click.option("--path", "show_path", is_flag=True, help="Print where the settings are kept.")
@click.pass_context
def command(context: click.Context, show_path: bool) -> None:
    """List all settings: key, value and where it comes from.

    Flags win over environment variables (GUARDTUI_THEME, …), those over the file, it over the
    defaults. To a pipe, the three columns are kept apart by tabs.
    """
    if context.invoked_subcommand is not None:
        if show_path:
            raise click.UsageError("--path stands alone")
        return
    from guardtui.config import SETTINGS, config_path, load_config

    if show_path:
        write(f"{config_path()}\n")
        return
    config = load_config()
    rows = [
        (setting.key, setting.show(config.value(setting.key)), config.source(setting.key).value)
        for setting in SETTINGS
    ]
    write(_table(rows))


def _table(rows: list[tuple[str, str, str]]) -> str:
    if sys.stdout is not None and sys.stdout.isatty():
        widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
        lines = [
            f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}" for key, value, source in rows
        ]
    else:
        lines = ["\t".join(row) for row in rows]
    return "\n".join(lines) + "\n"


@command.command("show")
@tenant_option
def show(tenant: str | None) -> None:
    """List the settings of guardtui and of AIRS, with where each value comes from.

    Keys and secrets are masked. AIRS is set by variables, and by a tenant of airs-cli or the file
    of the older `airs`.
    """
    from guardtui.cli.airs_service import load_settings
    from guardtui.config import SETTINGS, load_config
    from guardtui.domain.text import display_text

    config = load_config()
    rows = [
        (setting.key, setting.show(config.value(setting.key)), config.source(setting.key).value)
        for setting in SETTINGS
    ]
    airs = load_settings(tenant=tenant)
    if airs.tenant:
        rows.append(("airs.tenant", display_text(airs.tenant), display_text(airs.tenant_file)))
    rows += [(f"airs.{name}", text, origin) for name, (text, origin) in airs.shown().items()]
    write(_table(rows))


@command.command("check")
def check() -> None:
    """Look for mistakes: unknown settings, values, themes and keys. Exit code 2 when there are."""
    from guardtui.config import ConfigProblem, load_config

    config = load_config()
    if problems := list(_problems(config)):
        raise ConfigProblem(problems)
    found = "" if config.path is not None and config.path.exists() else " (there is no such file)"
    write(f"{config.path}: nothing is wrong{found}\n")


@command.command("set")
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Write a setting to the file; comments and other lines stay."""
    from guardtui.config import Config, config_path

    setting = _setting(key)
    try:
        parsed = setting.parse(value)
    except ValueError as error:
        raise InputError(f"{key}: {error}\n  {setting.documentation}") from error
    path = config_path()
    config = Config(path, file={key: parsed})
    if problems := list(_problems(config)):
        raise InputError("\n".join(f"{one.problem}\n  {one.remedy}" for one in problems))
    config.set_value(key, parsed)
    _tell(setting, path)


@command.command("unset")
@click.argument("key")
def unset(key: str) -> None:
    """Take a setting out of the file, so that the default holds."""
    from guardtui.config import Config, config_path

    setting = _setting(key)
    path = config_path()
    Config(path).reset(key)
    _tell(setting, path)


def _setting(key: str) -> Setting:
    from guardtui.config import find_setting

    try:
        return find_setting(key)
    except KeyError as error:
        raise InputError(f"{error.args[0]}\n  'guardtui config' lists them all") from error


def _tell(setting: Setting, path: Path) -> None:
    import os

    note(f"written: {path}" if path.exists() else f"{path}: there is no such file")
    if os.environ.get(setting.variable):
        note(f"{setting.variable} is set, and wins over the file")


def _problems(config: Config) -> Iterable[FileProblem]:
    """What only the screen knows to be wrong: themes and keys that it does not have."""
    from guardtui.config import Source, find_setting
    from guardtui.files.problems import FileProblem

    def problem(key: str, line: int | None, said: str, remedy: str) -> FileProblem:
        in_file = config.source(key) is Source.FILE
        place = config.path if in_file and config.path else Path(find_setting(key).variable)
        return FileProblem(place, said, remedy, line if in_file else None)

    if config.source("theme") is not Source.DEFAULT:
        from guardtui.tui.theme import near_theme, theme_names

        if config.theme not in theme_names():
            said = f"theme: there is no theme '{config.theme}'"
            yield problem("theme", config.line("theme"), said, near_theme(config.theme))
    if config.keys:
        from guardtui.tui.keymap import check_keymap

        for one in check_keymap(config.keys):
            line = config.line(f"keys.{one.binding}") or config.line("keys")
            yield problem("keys", line, f"keys: {one.binding}: {one.problem}", one.remedy)
