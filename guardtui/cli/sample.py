"""`guardtui sample`: a small prompt set to start from."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.command_help import Command
from guardtui.cli.options import output_option
from guardtui.cli.output import write
from guardtui.cli.output_options import format_for
from guardtui.files.prompt_files import sample_csv


@click.command(
    "sample",
    cls=Command,
    examples=(("guardtui sample -o prompts.csv", "A file to change"),),
)
@output_option
def command(output: Path | None) -> None:
    """Print a small prompt set as CSV, in the format that guardtui and airs read."""
    format_for(None, output, "csv", ("csv",))
    write(sample_csv(), output)
