"""`guardtui open`: the app on a topic, the same as `guardtui TOPIC`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.expressions import (
    EpochFlags,
    epoch_options,
    load_plugins,
    own_metric_option,
    own_metrics,
    parse_epochs,
    plugin_option,
)
from guardtui.cli.guardrail_options import (
    DECISION,
    JUDGE,
    Function,
    GuardrailFlags,
    guardrail_option,
)
from guardtui.cli.main import require_topic
from guardtui.cli.options import (
    FILE,
    RunOptions,
    budget_options,
    reading_options,
    threshold_option,
    writer_option,
)
from guardtui.tui.system.garbage_collector import make_full_collections_rare

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail
    from guardtui.app.guardrails.remote import RemoteOptions
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.prompt_reading import Reading
    from guardtui.scanners.models.decision import DecisionOptions
    from guardtui.scanners.models.judge import JudgeOptions
    from guardtui.session.epochs import Epochs

WEB_DRIVER = "guardtui.tui.system.served_driver:ServedDriver"
"""Value of TEXTUAL_DRIVER in `guardtui serve`: the terminal is a browser behind two pipes."""

_HTTP = ("allow-http",)
"""Keys that hold for --writer without a guardrail that calls models."""


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
            guardrail_option(
                "Guardrail of scans: a name ('guardtui guardrails' lists them), engine, "
                "airs:PROFILE, judge:URL#MODEL[,MODEL] or decision:URL#MODEL (default: the one "
                "chosen for the topic)."
            ),
            threshold_option,
            click.option(
                "--sandbox",
                is_flag=True,
                help="Scan with an imitation of AIRS on this machine, for practice.",
            ),
            click.option("--fresh", is_flag=True, help="Ignore cached verdicts."),
            budget_options,
            writer_option(
                "A language model that proposes wordings; called only after you agree (default: "
                "the judge)."
            ),
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
    guardrail: GuardrailFlags,
    threshold: Wanted,
    sandbox: bool,
    fresh: bool,
    budget: float | None,
    max_tokens: int | None,
    writer: str | None,
    epochs: int | None,
    reducer: str | None,
    repeat: str | None,
    metrics: tuple[str, ...],
    plugins: tuple[Path, ...],
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
    scans = _Scans(guardrail, fresh, budget, max_tokens, writer, request)
    remote, encoder = None, None
    if sandbox or scans != _Scans():  # else nothing is to be checked before the first screen
        remote, encoder = _remote_options(scans, topic, sandbox=sandbox)
    load_plugins(plugins)
    measures = own_metrics(metrics)
    from guardtui.config import load_config

    config = load_config(flags={"encoder": encoder} if encoder else None)

    def start() -> int:
        from guardtui.tui.run import run_app

        if not sandbox or remote is None:
            return run_app(topic, prompts, encoder, threshold, config, remote, measures, reading)
        from guardtui.cli.sandbox import sandbox_process

        with sandbox_process() as environment:
            # No settings of the author's own account apply.
            practice = replace(remote, environment=environment, config=Path(os.devnull, "none"))
            return run_app(topic, prompts, encoder, threshold, config, practice, measures, reading)

    return start


@dataclass(frozen=True)
class _Scans:
    """The options of scans."""

    guardrail: GuardrailFlags = field(default_factory=GuardrailFlags)
    fresh: bool = False
    budget: float | None = None
    max_tokens: int | None = None
    writer: str | None = None
    epochs: Epochs | None = None


def _remote_options(
    scans: _Scans, topic: Path | None, *, sandbox: bool
) -> tuple[RemoteOptions, str | None]:
    """Return the options of remote guardrails, and the encoder of the engine, or None.

    Raises UsageError and InputError.
    """
    from guardtui.app.guardrails.remote import RemoteOptions

    chosen, encoder, beside = scans.guardrail.with_encoder(
        topic, others=() if scans.writer is None else _HTTP
    )
    limits = RunOptions(budget=scans.budget, max_tokens=scans.max_tokens)
    allow_http = str(beside.get("allow-http")) == "true"
    models = _models(chosen, limits, scans.writer, allow_http=allow_http)
    configuration = chosen.configuration
    remote = RemoteOptions(
        _airs_flags(chosen, sandbox=sandbox),
        rate=getattr(configuration, "rate", None),
        fresh=scans.fresh,
        batches=getattr(configuration, "batch", False),
        most_tokens=scans.max_tokens,
        most_cost=scans.budget,
        guardrail=None if scans.guardrail.name is None else chosen,
        judge=models.judge,
        decision=models.decision,
        writer=models.writer,
        epochs=scans.epochs,
    )
    return remote, encoder


def _airs_flags(guardrail: NamedGuardrail, *, sandbox: bool) -> dict[str, str | int | None]:
    """Return the settings of AIRS that a guardrail names. Raises UsageError in a sandbox."""
    from guardtui.scanners.configuration import AirsConfiguration

    configuration = guardrail.configuration
    if not isinstance(configuration, AirsConfiguration):
        return {}
    for key in ("region", "scan-endpoint", "tenant"):
        if sandbox and key in configuration.given():
            raise click.UsageError(f"{key} does not fit --sandbox: omit it")
    return configuration.flags


@dataclass(frozen=True)
class _Models:
    """The judge or decision model of scans, and the writer of wordings; each may be None."""

    judge: JudgeOptions | None = None
    decision: DecisionOptions | None = None
    writer: JudgeOptions | None = None


def _models(
    guardrail: NamedGuardrail, limits: RunOptions, writer: str | None, *, allow_http: bool
) -> _Models:
    """Return the requested models. Raises UsageError and InputError."""
    kind, configuration = guardrail.kind, guardrail.configuration
    if kind not in (JUDGE, DECISION):
        if limits != RunOptions():
            raise click.UsageError("--budget and --max-tokens need a judge or a decision model")
        if writer is None:
            return _Models()
    from guardtui.cli.writers import models_and_writer

    models, writes = models_and_writer(
        getattr(configuration, "model", ()),
        writer,
        allow_http=getattr(configuration, "allow_http", allow_http),
        retries=getattr(configuration, "retries", None),
        max_tokens=limits.max_tokens,
    )
    if kind == DECISION:
        from guardtui.cli.model_scans import decision_options

        return _Models(decision=decision_options(guardrail, limits, models), writer=writes)
    if kind == JUDGE:
        from guardtui.cli.model_scans import judge_options

        return _Models(judge=judge_options(guardrail, limits, models), writer=writes)
    return _Models(writer=writes)


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
