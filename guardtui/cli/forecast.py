"""`guardtui forecast`: forecast the real guardrail's verdicts from its recorded ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from guardtui.cli.command_help import Command
from guardtui.cli.guardrail_options import GuardrailFlags, guardrail_option
from guardtui.cli.options import FILE, prompts_option, reading_options
from guardtui.cli.output_options import check_outputs, choose, format_choice, outputs_option
from guardtui.reports.formats import DOCUMENT_FORMATS

if TYPE_CHECKING:
    from guardtui.domain.prompt_reading import Reading
    from guardtui.reports.forecast import RecordedForecast, RecordedTrust


@click.command(
    "forecast",
    cls=Command,
    examples=(
        ("guardtui forecast tax.yaml --prompts tax.csv", "The guardrail that was scanned last"),
        ("guardtui forecast tax.yaml --prompts tax.csv --trust", "How good earlier forecasts were"),
    ),
)
@click.argument("topic", type=FILE)
@prompts_option
@reading_options
@guardrail_option(
    "Guardrail to forecast: a name, airs:PROFILE, judge:URL#MODEL or decision:URL#MODEL "
    "(default: the one that was scanned last)."
)
@click.option(
    "--trust",
    is_flag=True,
    help="Compare every recorded scan after the first with the forecast from those before it.",
)
@format_choice(DOCUMENT_FORMATS)
@outputs_option
def command(
    topic: Path,
    prompts: Path,
    reading: Reading | None,
    guardrail: GuardrailFlags,
    trust: bool,
    format_name: str | None,
    outputs: tuple[Path, ...],
) -> int:
    """Forecast the verdicts of AIRS, a judge or a decision model on the definition of a topic file.

    The forecast is computed from this guardrail's verdicts on earlier definitions, which 'guardtui
    eval' and the app have recorded. No service is called and nothing is recorded. Gates, and the
    decision to keep a definition, need a full scan. --trust compares earlier scans with their
    forecasts.
    """
    # Imported late, so that the help is quick.
    from guardtui.app.scan.recorded_forecast import (
        check_recorded,
        forecast_recorded,
        names_of,
        recorded_guardrail,
    )
    from guardtui.cli.delivery import write_all
    from guardtui.cli.diagnostics import progress, warn
    from guardtui.cli.inputs import say_findings
    from guardtui.cli.operating_point import settled_engine, show_progress
    from guardtui.files.inputs import load_inputs
    from guardtui.reports.forecast import render
    from guardtui.scanners.local.encoder import ENCODERS
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.session_file import session_file

    check_outputs(outputs, topic, prompts, session_file(topic))
    chosen = choose(format_name, outputs, "table", DOCUMENT_FORMATS)
    definition, prompt_set = load_inputs(topic, prompts, reading)
    say_findings(prompt_set)
    wanted, encoder, _ = guardrail.with_encoder(topic)
    stated = None if guardrail.name is None else wanted.guardrail
    recorded = recorded_guardrail(topic, stated)
    report: RecordedForecast | RecordedTrust
    try:
        if trust:
            engine = settled_engine(encoder, None, definition, prompt_set)
            report = check_recorded(topic, prompt_set, recorded, engine, show_progress)
        else:
            engine = LocalScanner(encoder or ENCODERS[0])
            report = forecast_recorded(
                topic, definition, prompt_set, recorded, engine, show_progress
            )
    finally:
        progress("")
    if recorded.others:
        chooses = " (--guardrail chooses)" if stated is None else ""
        warn(
            f"only {names_of([recorded.settings])}; not verdicts of {names_of(recorded.others)}"
            f"{chooses}"
        )
    return write_all((output, render(report, output.format_name)) for output in chosen)
