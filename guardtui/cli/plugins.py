"""`--plugin FILE.py`: scorers, metrics and reducers of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import FILE


def plugin_option(function: Function) -> Function:
    """Add --plugin, which may be given several times."""
    return click.option(
        "--plugin",
        "plugins",
        type=FILE,
        multiple=True,
        metavar="FILE.py",
        help="Run this Python file, and use the scorers, metrics and reducers it registers "
        "(repeatable).",
    )(function)


def load_plugins(plugins: Sequence[Path]) -> None:
    """Run each file. Raises InputError naming the file, the line and the problem."""
    if not plugins:
        return
    from guardtui.scorer.plugins import PluginError, load_plugin

    for path in plugins:
        try:
            plugin = load_plugin(path)
        except PluginError as error:
            remedy = "correct the file, or leave out --plugin"
            raise InputError(f"--plugin {error}\n  {remedy}") from error
        if not plugin.names:
            diagnostics.warn(
                f"--plugin {path}: it registers nothing\n"
                "  decorate what is to be used: @scorer, @metric or @score_reducer of "
                "guardtui.scorer"
            )
