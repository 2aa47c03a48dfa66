"""`guardtui open`: the app on a topic, the same as `guardtui TOPIC`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import InputError
from guardtui.cli.expressions import (
    epoch_options,
    load_plugins,
    own_metric_option,
    own_metrics,
    parse_epochs,
    plugin_option,
)
from guardtui.cli.guardrail_options import (
    Function,
    GuardrailFlags,
    guardrail_option,
)
from guardtui.cli.main import require_topic
from guardtui.cli.options import (
    FILE,
    reading_options,
    threshold_option,
    writer_option,
)
from guardtui.tui.system.memory import prepare_memory

if TYPE_CHECKING:
    from guardtui.app.guardrails.remote import ModelOptions, RemoteOptions
    from guardtui.app.open_request import OpenRequest
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.prompt_reading import Reading
    from guardtui.scanners.configuration import AirsConfiguration, Configuration
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


@click.command(
    "open",
    cls=Command,
    examples=(
        ("guardtui open tax.yaml --prompts tax.csv", "A topic with its prompts"),
        ("guardtui tax.yaml", "The same, with the prompts used last"),
        ("guardtui open tax.yaml --guardrail airs:prod", "Scan with AIRS when asked to"),
    ),
)
@app_options
@click.option(
    "--plain",
    is_flag=True,
    help="Commands and answers as lines, for screen readers, pipes and slow links.",
)
def command(*, plain: bool, **values: Any) -> int:
    """Open the app on a topic file.

    With prompts alone, it opens the topic file beside them, or starts one. Without either, it opens
    the only topic file of this folder with prompts beside it, else the last topic, else a sample.
    """
    start = prepared(**values)
    if plain:
        from guardtui.cli.output import check_output
        from guardtui.cli.plain.run import run_plain

        check_output(None)
        return start(run_plain)
    if os.environ.get("TEXTUAL_DRIVER") != WEB_DRIVER:
        require_terminal()
    if os.environ.get("NO_COLOR") == "":
        # Empty counts as unset (no-color.org); Textual checks only whether it exists.
        del os.environ["NO_COLOR"]
    prepare_memory()
    from guardtui.tui.run import run_app

    return start(run_app)


def prepared(
    topic: Path | None,
    prompts: Path | None,
    reading: Reading | None,
    guardrail: GuardrailFlags,
    threshold: Wanted,
    sandbox: bool,
    fresh: bool,
    writer: str | None,
    epochs: int | None,
    reducer: str | None,
    metrics: tuple[str, ...],
    plugins: tuple[Path, ...],
) -> Callable[[Callable[[OpenRequest], int]], int]:
    """Check the values of all options; return what runs the app, on the screen or as lines.

    Raises UsageError and InputError.
    """
    if topic is not None:
        require_topic(str(topic))
    if str(prompts) == "-":
        raise InputError(
            "--prompts -: the app cannot read prompts from standard input\n"
            "  save them to a file and name that, or use 'guardtui eval'"
        )
    if prompts is not None and not prompts.exists():
        raise InputError(f"{prompts}: no such file\n  give the path of a file of labelled prompts")
    if topic is None:
        topic, prompts = prompts, None
    scans = _Scans(guardrail, fresh, writer, parse_epochs(epochs, reducer))
    remote, encoder = None, None
    if sandbox or scans != _Scans():  # else nothing is to be checked before the first screen
        remote, encoder = _remote_options(scans, topic, sandbox=sandbox)
    load_plugins(plugins)
    measures = own_metrics(metrics)
    from guardtui.config import load_config

    config = load_config(flags={"encoder": encoder} if encoder else None)

    def start(run: Callable[[OpenRequest], int]) -> int:
        from guardtui.app.open_request import OpenRequest

        request = OpenRequest(topic, prompts, encoder, threshold, config, remote, measures, reading)
        if not sandbox or remote is None:
            return run(request)
        from guardtui.app.guardrails.named import NamedGuardrail
        from guardtui.cli.sandbox import sandbox_process

        with sandbox_process() as environment:
            # No settings of the author's own account apply.
            practice = replace(
                remote,
                environment=environment,
                config=Path(os.devnull, "none"),
                # Not what was chosen for this topic before.
                guardrail=remote.guardrail or NamedGuardrail("", remote.airs),
            )
            return run(replace(request, remote=practice))

    return start


@dataclass(frozen=True)
class _Scans:
    """The options of scans."""

    guardrail: GuardrailFlags = field(default_factory=GuardrailFlags)
    fresh: bool = False
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
    allow_http = str(beside.get("allow-http")) == "true"
    model, writer = _models(chosen.configuration, scans.writer, allow_http=allow_http)
    remote = RemoteOptions(
        _profile(chosen.configuration, sandbox=sandbox),
        fresh=scans.fresh,
        guardrail=None if scans.guardrail.name is None else chosen,
        model=model,
        writer=writer,
        epochs=scans.epochs,
    )
    return remote, encoder


def _profile(configuration: Configuration, *, sandbox: bool) -> AirsConfiguration:
    """Return the profile of AIRS that a guardrail names, if any. Raises UsageError in a sandbox."""
    from guardtui.scanners.configuration import AirsConfiguration

    if not isinstance(configuration, AirsConfiguration):
        return AirsConfiguration.model_validate({})
    for key in ("region", "scan-endpoint", "tenant"):
        if sandbox and key in configuration.given():
            raise click.UsageError(f"{key} does not fit --sandbox: omit it")
    return configuration


def _models(
    configuration: Configuration, writer: str | None, *, allow_http: bool
) -> tuple[ModelOptions | None, JudgeOptions | None]:
    """Return the judge or decision model of scans and the writer of wordings, each if requested.

    Raises UsageError, InputError and GuardrailError.
    """
    from guardtui.scanners.configuration import DecisionConfiguration, JudgeConfiguration

    calls_models = isinstance(configuration, JudgeConfiguration | DecisionConfiguration)
    if not calls_models and writer is None:
        return None, None
    from guardtui.cli.scans.models import configured_model, models_and_writer

    models, writes = models_and_writer(
        getattr(configuration, "model", ()),
        writer,
        allow_http=getattr(configuration, "allow_http", allow_http),
        retries=getattr(configuration, "retries", None),
        max_tokens=getattr(configuration, "max_tokens", None),
    )
    return configured_model(configuration, models) if calls_models else None, writes


def require_terminal() -> None:
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
            "  run it in a terminal; 'guardtui open --plain' needs none, like 'guardtui eval'"
        )
