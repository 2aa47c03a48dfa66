"""`guardtui sweep`: every threshold of the embedded engine, and the best one."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import Exit
from guardtui.cli.inputs import load_inputs, say_findings
from guardtui.cli.operating_point import settled_engine, show_progress, threshold_for_shards
from guardtui.cli.options import FILE, Fraction, engine_options, output_option, reading_options
from guardtui.cli.output import check_output, write
from guardtui.cli.output_options import format_for
from guardtui.cli.shard_options import ShardFlags
from guardtui.cli.shards import cut_prompts, evaluate_locally, topic_for
from guardtui.cli.sweep_report import SweepResult, render
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.sweep import Sweep, best_threshold, sweep

_FORMATS = ("table", "json", "csv")


@click.command("sweep")
@click.argument("topic", type=FILE)
@click.option(
    "--prompts",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Labelled prompts (CSV, JSON, Parquet, Excel; - for standard input) or a folder of "
    "shards.",
)
@reading_options
@click.option(
    "--min-tpr",
    type=Fraction(),
    default=0.0,
    metavar="X",
    help="Minimum TPR of the best threshold.",
)
@click.option(
    "--min-tnr",
    type=Fraction(),
    default=0.0,
    metavar="X",
    help="Minimum TNR of the best threshold.",
)
@engine_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(_FORMATS),
    help="Format of the result (default: that of the file's ending, or table); csv has every "
    "threshold.",
)
@output_option
def command(
    topic: Path,
    prompts: Path,
    reading: Reading | None,
    min_tpr: float,
    min_tnr: float,
    encoder: str | None,
    threshold: Wanted,
    format_name: str | None,
    output: Path | None,
) -> int:
    """Measure every threshold of the embedded engine, and find the best one.

    The best threshold has the largest coverage of those that reach --min-tpr and --min-tnr. Its
    coverage on the labels that chose it is optimistic, so the cross-validated coverage is reported
    too. --threshold is the one to compare with (default: that of 'guardtui eval'). Exit code 1 if
    no threshold reaches the minimums.
    """
    check_output(output, topic, prompts)
    format_name = format_for(format_name, output, "table", _FORMATS)
    if not ShardFlags().wanted(prompts):
        curve, settings, source = _of_file(topic, prompts, reading, encoder, threshold)
    elif reading is None:
        curve, settings, source = _of_large_set(topic, prompts, encoder, threshold)
    else:
        raise click.UsageError("--unlabelled and --sheet do not fit shards: omit them")
    best = best_threshold(curve, min_tpr=min_tpr, min_tnr=min_tnr)
    result = SweepResult(curve, best, settings, source, min_tpr, min_tnr)
    write(render(result, format_name), output)
    if best is None:
        diagnostics.warn(
            f"no threshold reaches a TPR of {min_tpr:g} and a TNR of {min_tnr:g}: lower a floor, "
            "or change the definition"
        )
        return Exit.GATE_FAILED
    return Exit.DONE


def _of_file(
    topic: Path, prompts: Path, reading: Reading | None, encoder: str | None, threshold: Wanted
) -> tuple[Sweep, ScannerSettings, str]:
    """Return the sweep over a prompt file, its settings, and the file's name."""
    definition, prompt_set = load_inputs(topic, prompts, reading)
    say_findings(prompt_set)
    scanner = settled_engine(encoder, threshold, definition, prompt_set)
    evaluation = scanner.evaluate_now(definition, prompt_set, show_progress)
    diagnostics.progress("")
    assert evaluation is not None  # noqa: S101 - nothing stops it
    curve = sweep(
        evaluation.verdicts.score,
        evaluation.should_trigger,
        definition.intent,
        prompt_set.keys,
    )
    return curve, evaluation.settings, prompt_set.source


def _of_large_set(
    topic: Path, prompts: Path, encoder: str | None, threshold: Wanted
) -> tuple[Sweep, ScannerSettings, str]:
    """Return the same for a folder of shards, after evaluating missing ones."""
    flags = ShardFlags()
    large = cut_prompts(flags, prompts, None, topic)
    definition = topic_for(topic, large)
    settled = threshold_for_shards(threshold)
    merged, _ = evaluate_locally(flags, large, definition, encoder, settled, threshold, None)
    assert merged is not None  # noqa: S101 - all shards were asked for
    should, other = merged.sorted_scores()
    duty = np.arange(len(should) + len(other)) < len(should)
    curve = sweep(np.concatenate([should, other]), duty, definition.intent)
    return curve, merged.run.settings, str(prompts)
