"""`guardtui open`: the app on a topic, the same as `guardtui TOPIC`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.epoch_options import EpochFlags, epoch_options
from guardtui.cli.epochs import parse_epochs
from guardtui.cli.expressions import own_metric_option, own_metrics
from guardtui.cli.main import require_topic
from guardtui.cli.options import (
    FILE,
    Function,
    PerSecond,
    declared,
    engine_options,
    reading_options,
    require_fitting,
    tenant_option,
)
from guardtui.cli.plugins import load_plugins, plugin_option
from guardtui.scanners.airs.command_options import REGIONS
from guardtui.scanners.decision.command_options import OWN as DECISION
from guardtui.scanners.judge.command_options import BUDGET, MODELS
from guardtui.scanners.model_options import ALLOW_HTTP, WRITER
from guardtui.tui.system.garbage_collector import make_full_collections_rare

if TYPE_CHECKING:
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.prompt_reading import Reading
    from guardtui.scanners.decision.options import DecisionOptions
    from guardtui.scanners.judge.options import JudgeOptions

WEB_DRIVER = "guardtui.tui.system.served_driver:ServedDriver"
"""Value of TEXTUAL_DRIVER in `guardtui serve`: the terminal is a browser behind two pipes."""


def app_options(function: Function) -> Function:
    """Add the topic and the options of the app; `prepared` takes their values."""
    for add in reversed(
        (
            click.argument("topic", type=FILE, required=False),
            click.option(
                "--prompts",
                type=FILE,
                metavar="FILE",
                help="Labelled prompts (CSV, JSON, Parquet, Excel).",
            ),
            reading_options,
            engine_options,
            click.option(
                "--sandbox",
                is_flag=True,
                help="Scan with an imitation of AIRS on this machine, for practice.",
            ),
            click.option(
                "--profile", metavar="NAME", help="Security profile of AIRS to scan with."
            ),
            click.option(
                "--region", type=click.Choice(REGIONS), help="Region of AIRS (default: us)."
            ),
            tenant_option,
            click.option(
                "--concurrency",
                type=click.IntRange(1, 512),
                metavar="N",
                help="Maximum concurrent requests (default: 5).",
            ),
            click.option(
                "--rate", type=PerSecond(), metavar="R", help="Maximum requests per second."
            ),
            click.option("--fresh", is_flag=True, help="Ignore cached verdicts."),
            click.option(
                "--scanner",
                type=click.Choice(["judge", "decision"]),
                help="What --model is: a judge (default), or a decision model.",
            ),
            declared(*MODELS, *DECISION, *BUDGET, WRITER),
            epoch_options,
            own_metric_option,
            plugin_option,
        )
    ):
        function = add(function)
    return function


@click.command("open")
@app_options
def command(**values: Any) -> int:
    """Open the app on a topic file.

    Without one, it opens the only topic file of this folder with prompts beside it, else the last
    topic, else a sample.
    """
    start = prepared(**values)
    if os.environ.get("TEXTUAL_DRIVER") != WEB_DRIVER:
        _require_terminal()
    if os.environ.get("NO_COLOR") == "":
        # Empty counts as unset (no-color.org); Textual checks only whether it exists.
        del os.environ["NO_COLOR"]
    make_full_collections_rare()
    return start()


def prepared(
    topic: Path | None,
    prompts: Path | None,
    reading: Reading | None,
    encoder: str | None,
    threshold: Wanted,
    sandbox: bool,
    profile: str | None,
    region: str | None,
    tenant: str | None,
    concurrency: int | None,
    rate: float | None,
    fresh: bool,
    epochs: int | None,
    reducer: str | None,
    repeat: str | None,
    metrics: tuple[str, ...],
    plugins: tuple[Path, ...],
    scanner: str | None,
    **of_models: Any,
) -> Callable[[], int]:
    """Check the values of all options, and return what runs the app with them.

    Raises UsageError and InputError.
    """
    if topic is not None:
        require_topic(str(topic))
    if str(prompts) == "-":
        from guardtui.cli.inputs import refuse_standard_input

        refuse_standard_input(Path("-"))
    if prompts is not None and not prompts.exists():
        raise InputError(f"{prompts}: no such file\n  give the path of a file of labelled prompts")
    if repeat is not None:
        raise click.UsageError(
            "--repeat is for 'guardtui eval'; in the app use Check the likely flips"
        )
    request = parse_epochs(EpochFlags(epochs, reducer))
    models = _models(scanner, of_models, concurrency, rate)
    if not models.scans and (concurrency or 0) > 20:
        raise click.UsageError("--concurrency: at most 20 concurrent requests to AIRS")
    if sandbox and (region is not None or tenant is not None):
        raise click.UsageError("--region and --tenant do not fit --sandbox: omit them")
    load_plugins(plugins)
    measures = own_metrics(metrics)
    from guardtui.config import load_config

    config = load_config(flags={"encoder": encoder} if encoder else None)
    flags: dict[str, str | int | None] = {
        "profile": profile,
        "region": region,
        "tenant": tenant,
        "concurrency": None if models.scans else concurrency,
    }

    def start() -> int:
        from guardtui.app.remote import RemoteOptions
        from guardtui.tui.run import run_app

        remote = RemoteOptions(
            flags,
            rate=rate,
            fresh=fresh,
            judge=models.judge,
            decision=models.decision,
            writer=models.writer,
            epochs=request,
        )
        if not sandbox:
            return run_app(topic, prompts, encoder, threshold, config, remote, measures, reading)
        from guardtui.cli.sandbox_process import sandbox_process

        with sandbox_process() as environment:
            # No settings of the author's own account apply.
            practice = replace(remote, environment=environment, config=Path(os.devnull, "none"))
            return run_app(topic, prompts, encoder, threshold, config, practice, measures, reading)

    return start


@dataclass(frozen=True)
class _Models:
    """The judge or decision model of scans, and the writer of wordings; each may be None."""

    judge: JudgeOptions | None = None
    decision: DecisionOptions | None = None
    writer: JudgeOptions | None = None

    @property
    def scans(self) -> bool:
        """Whether a model scans the prompts."""
        return self.judge is not None or self.decision is not None


def _models(
    scanner: str | None, given: Mapping[str, Any], concurrency: int | None, rate: float | None
) -> _Models:
    """Return the requested models. Raises UsageError and InputError."""
    writes = given["writer"] is not None
    if not given["models"]:
        if scanner is not None:
            raise click.UsageError(f"--scanner {scanner} needs --model URL#NAME")
        for option in (*MODELS, *DECISION, *BUDGET):
            if option.is_given(given) and not (writes and option is ALLOW_HTTP):
                raise click.UsageError(f"{option.name} needs --model URL#NAME")
        if not writes:
            return _Models()
    from guardtui.cli.writers import models_and_writer

    values = {**given, "concurrency": concurrency, "rate": rate}
    models, writer = models_and_writer(values, "a scan", "http://localhost:11434/v1#qwen3")
    if not models:
        return _Models(writer=writer)
    require_fitting(scanner or "judge", given)
    if scanner == "decision":
        from guardtui.cli.decision_scans import decision_options

        return _Models(decision=decision_options(values, models), writer=writer)
    from guardtui.cli.judge_scans import judge_options

    return _Models(judge=judge_options(values, models), writer=writer)


def _require_terminal() -> None:
    """Raise InputError unless the terminal can show the app."""
    terminal = sys.stdout and sys.stdout.isatty() and sys.stdin and sys.stdin.isatty()
    kind = os.environ.get("TERM", "")
    reason = ""
    if kind in ("dumb", "unknown"):
        reason = f"TERM={kind} names one that cannot show it"
    elif not terminal:
        reason = "standard input or output is redirected"
    elif not (sys.stderr and sys.stderr.isatty()):
        reason = "standard error, on which it draws, is redirected"
    if reason:
        raise InputError(
            f"the app needs a terminal: {reason}\n"
            "  run it in a terminal, or use a command that needs none, such as 'guardtui eval'"
        )
