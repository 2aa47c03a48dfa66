"""`guardtui compare`: two evaluations held against each other, prompt by prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import InputError, warn
from guardtui.cli.outputs import check_outputs, choose, outputs_option

if TYPE_CHECKING:
    from guardtui.session.named import Mistakes, Named

_ENDINGS = {"txt": "table", "md": "md", "markdown": "md", "json": "json", "html": "html"}


@click.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "md", "json", "html"]),
    help="Form of the comparison on the screen, or in a single file (default: table).",
)
@outputs_option
def command(before: str, after: str, format_name: str | None, outputs: tuple[Path, ...]) -> int:
    """Tell what changed from A to B: metrics, definition, regressions and fixes.

    A and B are each a JSON report, the JSON of 'airs runtime topics eval', or TOPIC.yaml for the
    best kept iteration of its session; TOPIC.yaml@3, @last, @kept, @pinned for another one.
    """
    from guardtui.reports.compared.base import hold, load_form
    from guardtui.session.named import Named, read_files

    read = [path for word in (before, after) for path in read_files(word)]
    check_outputs(outputs, *read)
    chosen = choose(format_name, outputs, _form_of_name, "table")
    found = _find(before), _find(after)
    texts = [side.prompts for side in found if isinstance(side, Named)]
    check_outputs(outputs, *(Path(one.source) for one in texts if one is not None))
    for note in dict.fromkeys(note for side in found for note in side.notes):
        warn(note)
    compared = hold(*found)
    return write_all((one, load_form(one.format_name)(compared)) for one in chosen)


def _find(word: str) -> Named | Mistakes:
    from guardtui.session.named import find_evaluation
    from guardtui.session.recorded import RecordedError

    try:
        return find_evaluation(word)
    except RecordedError as error:
        raise InputError(str(error)) from error


def _form_of_name(name: str) -> str | None:
    return _ENDINGS.get(name.lower().rpartition(".")[2]) if "." in name else None
