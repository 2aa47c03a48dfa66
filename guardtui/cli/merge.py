"""`guardtui merge`: merge the shards of an evaluation and report on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import click

from guardtui.cli import diagnostics
from guardtui.cli.delivery import deliver
from guardtui.cli.diagnostics import InputError
from guardtui.cli.gates import gate_options, gates_of
from guardtui.cli.options import FILE
from guardtui.cli.output_options import (
    check_outputs,
    choose,
    format_option,
    outputs_option,
    variants_of,
    with_variants,
)
from guardtui.cli.shards import merge_locally, report_of
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import FITTED, SHIPPED
from guardtui.reports.formats import load_writer
from guardtui.session.evaluation_refs import find_baseline, is_of_session
from guardtui.session.report_reader import RecordedError
from guardtui.shards.large_set import LargeSet, open_set
from guardtui.shards.merge import merge
from guardtui.shards.parts import Run, runs_of


@click.command("merge")
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    help="The run to report on, by its id in DIR/runs (default: the latest); each definition has "
    "one.",
)
@format_option("table", without=("tsv",))
@outputs_option
@click.option(
    "--baseline",
    metavar="ID|FILE",
    help="Compare with another run in DIR, or with a JSON report.",
)
@click.option(
    "--threshold",
    type=click.Choice([SHIPPED, FITTED]),
    help="Threshold for a run that was evaluated at the shipped one, as by a job array: shipped or "
    "fitted to the labels (default: fitted, if each class has 10 labels).",
)
@gate_options
def command(
    folder: Path,
    run_id: str | None,
    threshold: Literal["shipped", "fitted"] | None,
    format_name: str | None,
    outputs: tuple[Path, ...],
    baseline: str | None,
    **others: Any,
) -> int:
    """Merge the shards of an evaluation and report on it.

    DIR is the folder of 'guardtui eval --out'. Exit codes are those of 'guardtui eval'; 3 if
    shards are missing, which are named.
    """
    gates = gates_of(others)
    gates.check_usage(baseline=baseline is not None)
    chosen = with_variants(choose(format_name, outputs, "table"), variants_of(others))
    if baseline is None and any(
        output.variant and output.format_name == "junit" for output in chosen
    ):
        raise click.UsageError("--only-regressions needs --baseline")
    for output in chosen:
        load_writer(output.format_name)  # an unknown format fails before the work
    large = open_set(folder)
    check_outputs(outputs, folder / "set.json")
    run = _chosen(large, run_id)
    before = _baseline(large, baseline) if baseline is not None else None
    merged, fit = merge_locally(run, threshold)
    report = replace(report_of(merged, before, None), fit=fit)
    return deliver(report, chosen, gates, (folder,))


def _chosen(large: LargeSet, name: str | None) -> Run:
    runs = runs_of(large)
    if not runs:
        raise InputError(
            f"{large.folder}: nothing was evaluated here yet\n"
            f"  guardtui eval TOPIC --prompts {quote(str(large.folder))}"
        )
    if name is None:
        if len(runs) > 1:
            others = ", ".join(run.id for run in runs[:-1])
            diagnostics.note(f"run {runs[-1].id}, worked on last; others: {others}")
        return runs[-1]
    for run in runs:
        if run.id == name:
            return run
    raise InputError(
        f"{large.folder}: there is no run {name!r}\n"
        f"  there are: {', '.join(run.id for run in runs)}"
    )


def _baseline(large: LargeSet, word: str) -> Evaluation:
    for run in runs_of(large):
        if run.id == word:
            return merge(run).evaluation
    if is_of_session(word):
        raise InputError(
            f"--baseline {word}: a folder of shards has no session\n"
            "  name another run by its id, or a JSON report"
        )
    try:
        return find_baseline(word, large.folder).evaluation
    except RecordedError as error:
        raise InputError(str(error)) from error
