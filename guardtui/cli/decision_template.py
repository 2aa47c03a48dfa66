"""`guardtui decision-template`: the question of a decision model, as a template to edit."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.diagnostics import Exit
from guardtui.cli.options import output_option
from guardtui.cli.output import write
from guardtui.cli.output_options import TEMPLATES, format_for
from guardtui.scanners.decision.template import default_template


@click.command("decision-template")
@output_option
def command(output: Path | None) -> int:
    """Print the question for a decision model, as a template to edit.

    'guardtui eval … --scanner decision --template FILE' uses the edited file.
    """
    format_for(None, output, "md", TEMPLATES)
    write(default_template().text, output)
    return Exit.DONE
