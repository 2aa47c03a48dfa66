"""`guardtui eval --thresholds`: every threshold of an evaluation with scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from guardtui.cli import diagnostics
from guardtui.cli.delivery import write_all
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import Gates
from guardtui.cli.output_options import ReportOutput, choose
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.sweep import Sweep, sweep
from guardtui.reports.formats import render
from guardtui.reports.thresholds import (
    Floors,
    Thresholds,
    thresholds_csv,
    thresholds_document,
    thresholds_json,
)

if TYPE_CHECKING:
    from guardtui.cli.eval.command import EvalRequest

FORMATS = ("table", "json", "csv")

_WITH_SCORES = ("engine", "decision")


def threshold_outputs(request: EvalRequest) -> list[ReportOutput]:
    """Return the outputs of a report on thresholds. Raises UsageError and `InputError`.

    Options of other reports are refused.
    """
    guardrail = request.guardrail
    if guardrail.kind not in _WITH_SCORES:
        raise click.UsageError(
            f"--thresholds needs scores, which {guardrail.title} does not give: use the engine or "
            "a decision model"
        )
    others = {
        "a gate": request.gates != Gates(),
        "--baseline": request.baseline,
        "--likely-changes": request.flips,
        "--epochs": request.epochs,
        "--with": request.options.companion_paths,
        "--metric": request.metrics,
        "--cluster": request.cluster,
        "--all": request.every_mistake,
        "--excel or --only-regressions": request.variants,
    }
    for name, value in others.items():
        if value:
            raise click.UsageError(f"{name} does not fit --thresholds: omit it")
    if request.format_name not in (None, *FORMATS):
        raise click.UsageError(f"--thresholds has the formats {', '.join(FORMATS)}")
    return choose(request.format_name, request.outputs, "table", FORMATS)


def sweep_of(evaluation: Evaluation) -> Sweep:
    """Return every threshold of an evaluation; prompts without a score are ignored."""
    verdicts, intent = evaluation.verdicts, evaluation.topic.intent
    return sweep(verdicts.score, evaluation.should_trigger, intent, evaluation.keys)


def report_thresholds(
    request: EvalRequest, curve: Sweep, evaluation: Evaluation, outputs: Sequence[ReportOutput]
) -> int:
    """Write the report and return the exit code: 1 if no threshold reaches the minimums.

    Prompts without a verdict have precedence: 3.
    """
    floors = Floors(request.min_tpr or 0.0, request.min_tnr or 0.0)
    thresholds = Thresholds(curve, evaluation.settings, str(request.prompts), floors)
    failed = write_all((output, _text(thresholds, output.format_name)) for output in outputs)
    code: int = Exit.NOT_COMPLETED if evaluation.metrics.missing else Exit.DONE
    if thresholds.best is None:
        diagnostics.warn(
            f"no threshold reaches a TPR of {floors.tpr:g} and a TNR of {floors.tnr:g}: lower a "
            "floor, or change the definition"
        )
        code = code or Exit.GATE_FAILED
    return failed or code


def _text(thresholds: Thresholds, format_name: str) -> str:
    if format_name == "json":
        return thresholds_json(thresholds)
    if format_name == "csv":
        return thresholds_csv(thresholds)
    return render(thresholds_document(thresholds), format_name)
