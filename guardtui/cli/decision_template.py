"""`guardtui decision-template`: the question of a decision model, as a file to start from."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.options import output_option
from guardtui.cli.output import write
from guardtui.scanners.decision.template import default_template


@click.command("decision-template")
@output_option
def command(output: Path | None) -> int:
    """Print the question that a decision model is asked, to be edited.

    'guardtui eval … --scanner decision --template FILE' asks the edited one.
    """
    write(default_template().text, output)
    return Exit.DONE
