"""`guardtui judge-template`: the judge's instructions, as a file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.options import output_option
from guardtui.cli.output import write
from guardtui.scanners.judge.template import default_template


@click.command("judge-template")
@output_option
def command(output: Path | None) -> int:
    """Print the template that the judge is asked by, to be edited and given back.

    'guardtui eval … --scanner judge --judge-template FILE' takes what came of it.
    """
    write(default_template().text, output)
    return Exit.DONE
