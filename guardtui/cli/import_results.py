"""`guardtui import-results`: import another tool's log of iterations into the history."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.diagnostics import note
from guardtui.cli.options import FILE
from guardtui.files.topic_files import load_topic
from guardtui.session.imported import add_imported
from guardtui.session.results_log import read_results
from guardtui.session.store import SessionStore


@click.command("import-results")
@click.argument("file", type=FILE)
@click.argument("topic", type=FILE)
def command(file: Path, topic: Path) -> None:
    """Import the iterations of a results.tsv FILE into the history of a TOPIC.

    Imported iterations have rates and definitions, but no verdicts; the history marks them. Those
    of a file of the same name, imported earlier, are replaced.
    """
    load_topic(topic)  # it exists and can be read
    rows = read_results(file)
    add_imported(SessionStore(topic), rows)
    count = f"{len(rows)} iteration{'s' * (len(rows) != 1)}"
    note(f"{count} imported; the history of 'guardtui {topic}' shows them")
