"""`guardtui eval`: evaluate a topic on labelled prompts, with gates for automation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit
from guardtui.cli.expressions import epoch_options, own_metric_option, parse_epochs, plugin_option
from guardtui.cli.gates import Gates, gate_options, gates_of
from guardtui.cli.guardrail_options import guardrail_option
from guardtui.cli.options import (
    FILE,
    INSIDE,
    SHARE,
    RunOptions,
    exits,
    given_words,
    prompts_option,
    reading_options,
    threshold_option,
)
from guardtui.cli.output_options import format_option, outputs_option, page_options, variants_of
from guardtui.domain.prompt_reading import Reading
from guardtui.files.command_lines import path_word
from guardtui.reports.formats import OF_SESSIONS

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail
    from guardtui.session.epochs import Epochs


_UNFIT = {
    "--threshold": ("airs", "judge"),
    "--fresh": ("engine",),
    "--with": ("judge", "decision"),
}
"""Kinds of guardrails that do not have an option."""

_OF_THE_SAME = ("threshold", "companion_paths", "unlabelled", "sheet", "epochs", "reducer")
"""Parameters, besides the guardrail, without which an evaluation would be another one."""


@dataclass(frozen=True)
class EvalRequest:
    """A parsed command line."""

    topic: Path
    prompts: Path
    guardrail: NamedGuardrail
    options: RunOptions
    gates: Gates
    epochs: Epochs | None
    repeat: str | None
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
    record: bool | None
    more: str | None
    page: int | None
    guardrail_words: tuple[str, ...]
    more_words: tuple[str, ...]

    @property
    def again(self) -> tuple[str, ...]:
        """The words of a command that evaluates again; () if a secret is left out of them."""
        more = (*self.guardrail_words, *self.more_words)
        if any("?…" in word for word in more):
            return ()
        files = (path_word(self.topic), "--prompts", path_word(self.prompts))
        unrecorded = ("--no-record",) if self.record is False else ()
        return ("guardtui", "eval", *files, *more, *unrecorded, "--format", "brief")

    @property
    def records(self) -> bool:
        """Return whether the evaluation is recorded: by default that of a real guardrail."""
        return self.guardrail.kind != "engine" if self.record is None else self.record

    @classmethod
    def of(cls, values: dict[str, Any]) -> EvalRequest:
        """Parse the values of the command's options. Raises UsageError and `ConfigError`."""
        gates = gates_of(values)
        gates.check_usage(baseline=values["baseline"] is not None)
        repeat = values["repeat"]
        if repeat == "changed" and values["baseline"] is None:
            raise click.UsageError("--repeat changed needs --baseline")
        epochs = parse_epochs(values.pop("epochs"), values.pop("reducer"))
        if repeat is not None and epochs is None:
            raise click.UsageError("--repeat needs --epochs of at least 2")
        names = [field.name for field in fields(RunOptions)]
        options = RunOptions(**{name: values.pop(name) for name in names})
        flags = values.pop("guardrail")
        guardrail = flags.select(values["topic"])
        _require_fitting(guardrail, options)
        if values["flips"] and guardrail.kind == "engine":
            raise click.UsageError("--likely-changes needs a guardrail: add --guardrail NAME")
        if not values["flips"] and (values["within"], values["max_calls"]) != (None, None):
            raise click.UsageError("--within and --max-calls are for --likely-changes: add it")
        if values["within"] is not None and repeat is not None:
            raise click.UsageError("--within uses all epochs: omit --repeat")
        variants = variants_of(values)
        if not values["thresholds"] and (values["min_tpr"], values["min_tnr"]) != (None, None):
            raise click.UsageError("--min-tpr and --min-tnr are for --thresholds: add it")
        return cls(
            guardrail=guardrail,
            guardrail_words=tuple(flags.words_for(guardrail)),
            options=options,
            gates=gates,
            epochs=epochs,
            variants=variants,
            more_words=given_words(_OF_THE_SAME),
            **values,
        )


def _require_fitting(guardrail: NamedGuardrail, options: RunOptions) -> None:
    """Raise a usage error for an option that this kind of guardrail does not have."""
    given = {
        "--threshold": options.threshold is not None,
        "--fresh": options.fresh,
        "--with": bool(options.companion_paths),
    }
    for option, kinds in _UNFIT.items():
        if given[option] and guardrail.kind in kinds:
            raise click.UsageError(f"{option} does not fit {guardrail.title}: omit it")
    if options.jobs is not None and options.ray is not None:
        raise click.UsageError("--jobs is for this machine alone: omit it, or --ray")
    for option, value in (("--jobs", options.jobs), ("--ray", options.ray)):
        if value is not None and guardrail.kind != "engine":
            raise click.UsageError(
                f"{option} is for the engine, whose prompts are embedded: a guardrail is limited "
                "by its service, which several workers would only share"
            )


@click.command(
    "eval",
    cls=Command,
    examples=(
        ("guardtui eval tax.yaml --prompts tax.csv", "A table of the rates and the mistakes"),
        (
            "guardtui eval tax.yaml --prompts tax.csv --min-coverage 0.8 -o report.html",
            "A gate for CI, with a report",
        ),
        (
            "guardtui eval tax.yaml --prompts tax.csv --baseline last --max-regressions 0",
            "No prompt may get worse",
        ),
        ("guardtui eval tax.yaml --prompts tax.csv --guardrail airs:prod", "Ask AIRS"),
    ),
)
@click.argument("topic", type=FILE)
@prompts_option
@reading_options
@format_option("table", without=OF_SESSIONS)
@outputs_option
@page_options
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
@guardrail_option()
@threshold_option
@click.option(
    "--with",
    "companion_paths",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Another topic of the profile, or a profile file, to evaluate together with this topic "
    "(repeatable).",
)
@click.option("--fresh", is_flag=True, help="Ignore cached verdicts.")
@click.option(
    "--thresholds",
    is_flag=True,
    help="Report every threshold instead, with the best one (table, json or csv).",
)
@click.option(
    "--min-tpr",
    type=SHARE,
    metavar="X",
    help="With --thresholds: minimum TPR of the best threshold.",
)
@click.option(
    "--min-tnr",
    type=SHARE,
    metavar="X",
    help="With --thresholds: minimum TNR of the best threshold.",
)
@click.option(
    "--likely-changes",
    "flips",
    is_flag=True,
    help="Scan only prompts whose verdict is in doubt after the edit, by the forecast from the "
    "session; the others stay open, so the exit code is 3.",
)
@click.option(
    "--within",
    type=INSIDE,
    metavar="X",
    help="With --likely-changes: scan in rounds, the most informative prompts first, until "
    "coverage is known to ± X (such as 0.02).",
)
@click.option(
    "--max-calls",
    type=click.IntRange(1),
    metavar="N",
    help="With --likely-changes: scan in rounds, with at most N calls.",
)
@click.option(
    "--record/--no-record",
    default=None,
    help="Record an iteration in the topic's session, or not (default: what a guardrail was asked, "
    "unless it may have another definition; not what the engine computed).",
)
@epoch_options
@click.option(
    "--repeat",
    type=click.Choice(("all", "changed", "near")),
    help="With --epochs, the prompts to scan again: all (default), changed (since the baseline) "
    "or near (the engine's threshold).",
)
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
@exits(
    {
        Exit.GATE_FAILED: "a gate failed, or no threshold reaches the minimums",
        Exit.NOT_COMPLETED: "the scan could not be completed; with --max-errors a number of "
        "prompts without a verdict is allowed",
        Exit.NOT_ENOUGH_EVIDENCE: "not enough evidence; of several, 3 goes before 1, and 1 before "
        "4",
    }
)
def command(**values: Any) -> int:
    """Evaluate a topic file against labelled prompts and report.

    What a guardrail was asked is an iteration of the topic's session then ('guardtui history').

    With --thresholds the report is on the thresholds of the engine or of a decision model. The best
    one has the largest coverage of those that reach --min-tpr and --min-tnr; its coverage on the
    labels that chose it is optimistic; its interval is for new prompts.
    """
    request = EvalRequest.of(values)
    # Imported late, so that the help is quick.
    from guardtui.cli.eval.evaluation import evaluate

    return evaluate(request)
