"""`guardtui eval`: evaluate a topic on labelled prompts, with gates for automation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from guardtui.cli.epoch_options import EpochFlags, epoch_options
from guardtui.cli.expressions import own_metric_option
from guardtui.cli.gates import Gates, gate_options, gates_of
from guardtui.cli.options import (
    FILE,
    Fraction,
    profile_option,
    reading_options,
    require_fitting,
    scanner_options,
    values_of,
)
from guardtui.cli.output_options import format_option, outputs_option, variants_of
from guardtui.cli.plugins import plugin_option
from guardtui.domain.prompt_reading import Reading
from guardtui.scanners.options import SCANNERS, all_options


@dataclass(frozen=True)
class EvalRequest:
    """A parsed command line. `options` are values of all scanners, by their keys."""

    topic: Path
    prompts: Path
    scanner: str
    options: Mapping[str, Any]
    gates: Gates
    jobs: int | None
    ray: str | None
    repeats: EpochFlags
    companion_paths: tuple[Path, ...]
    profile: str
    format_name: str | None
    outputs: tuple[Path, ...]
    variants: frozenset[str]
    every_mistake: bool
    baseline: str | None
    metrics: tuple[str, ...]
    plugins: tuple[Path, ...]
    cluster: str | None
    thresholds: bool
    min_tpr: float | None
    min_tnr: float | None
    flips: bool
    within: float | None
    max_calls: int | None
    reading: Reading | None

    @classmethod
    def of(cls, values: dict[str, Any]) -> EvalRequest:
        """Parse the values of the command's options. Raises UsageError."""
        gates = gates_of(values)
        gates.check_usage(baseline=values["baseline"] is not None)
        repeats = EpochFlags(values.pop("epochs"), values.pop("reducer"), values.pop("repeat"))
        repeats.check_usage(baseline=values["baseline"] is not None)
        options = values_of(all_options(), values)
        require_fitting(values["scanner"], options)
        _check_workers(values["scanner"], values["jobs"], values["ray"])
        if values["flips"] and values["scanner"] == "engine":
            raise click.UsageError(
                "--flips needs a guardrail: add --scanner airs, judge or decision"
            )
        if not values["flips"] and (values["within"], values["max_calls"]) != (None, None):
            raise click.UsageError("--within and --max-calls are for --flips: add it")
        if values["within"] is not None and math.isnan(values["within"]):
            raise click.UsageError("--within is a number between 0 and 1, such as 0.02")
        if values["within"] is not None and repeats.repeat is not None:
            raise click.UsageError("--within uses all epochs: omit --repeat")
        companion_paths = options.pop("companion_paths")
        variants = variants_of(values)
        if not values["thresholds"] and (values["min_tpr"], values["min_tnr"]) != (None, None):
            raise click.UsageError("--min-tpr and --min-tnr are for --thresholds: add it")
        return cls(
            options=options,
            gates=gates,
            repeats=repeats,
            companion_paths=companion_paths,
            variants=variants,
            **values,
        )


def _check_workers(scanner: str, jobs: int | None, ray: str | None) -> None:
    """Raise a usage error for workers that do not fit."""
    if jobs is not None and ray is not None:
        raise click.UsageError("--jobs is for this machine alone: omit it, or --ray")
    for option, value in (("--jobs", jobs), ("--ray", ray)):
        if value is not None and scanner != SCANNERS[0]:
            raise click.UsageError(
                f"{option} is for the engine, whose prompts are embedded: a guardrail is limited "
                "by its service, which several workers would only share"
            )


@click.command("eval")
@click.argument("topic", type=FILE)
@click.option(
    "--prompts",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Labelled prompts (CSV, JSON, Parquet, Excel; - for standard input).",
)
@reading_options
@format_option("table", without=("tsv",))
@outputs_option
@click.option(
    "--all",
    "every_mistake",
    is_flag=True,
    help="List every mistake in the table (default: the first 20 of each kind).",
)
@click.option(
    "--baseline",
    metavar="last|N|FILE",
    help="Compare with the last kept iteration, iteration N (best, pinned), or a JSON report.",
)
@gate_options
@click.option(
    "--scanner",
    type=click.Choice(SCANNERS),
    default=SCANNERS[0],
    help="Guardrail to use: engine (default), airs, judge (language models), or decision (a "
    "decision model).",
)
@click.option(
    "--thresholds",
    is_flag=True,
    help="Report every threshold instead, with the best one (table, json or csv).",
)
@click.option(
    "--min-tpr",
    type=Fraction(),
    metavar="X",
    help="With --thresholds: minimum TPR of the best threshold.",
)
@click.option(
    "--min-tnr",
    type=Fraction(),
    metavar="X",
    help="With --thresholds: minimum TNR of the best threshold.",
)
@click.option(
    "--flips",
    is_flag=True,
    help="Scan only prompts whose verdict is in doubt after the edit, by the forecast from the "
    "session; the others stay open, so the exit code is 3.",
)
@click.option(
    "--within",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="X",
    help="With --flips: scan in rounds, the most informative prompts first, until the 95 % "
    "interval of coverage is at most ± X (such as 0.02).",
)
@click.option(
    "--max-calls",
    type=click.IntRange(1),
    metavar="N",
    help="With --flips: scan in rounds, with at most N calls.",
)
@profile_option
@scanner_options
@epoch_options
@click.option(
    "--jobs",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Embed prompts that are not cached with N processes (engine only).",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Embed them on a Ray cluster, as ray://HOST:10001 (default: Ray on this machine).",
)
@own_metric_option
@plugin_option
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Prompts with the same value in this column may depend on each other: standard errors are "
    "clustered.",
)
def command(**values: Any) -> int:
    """Evaluate a topic file against labelled prompts and report.

    With --thresholds the report is on the thresholds of the engine or of a decision model. The best
    one has the largest coverage of those that reach --min-tpr and --min-tnr; its coverage on the
    labels that chose it is optimistic, so the cross-validated coverage is reported too.

    Exit code 0: done. 1: a gate failed. 2: bad usage or input. 3: the scan could not be
    completed; with --max-errors a number of prompts without a verdict is allowed. 4: not enough
    evidence. 129, 130, 143: ended by a signal. Of several, 3 goes before 1, and 1 before 4.
    """
    request = EvalRequest.of(values)
    # Imported late, so that the help is quick.
    from guardtui.cli.evaluation import evaluate

    return evaluate(request)
