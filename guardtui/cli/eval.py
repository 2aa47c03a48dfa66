"""`guardtui eval`: a topic held against labelled prompts, with gates for automation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from guardtui.cli import diagnostics
from guardtui.cli.delivery import deliver
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.epochs import EpochFlags, epoch_options
from guardtui.cli.expressions import own_metric_option, own_metrics
from guardtui.cli.gates import Gates, gate_options, gates_of
from guardtui.cli.options import (
    FILE,
    PerSecond,
    budget_options,
    model_options,
    profile_option,
    require_fitting,
    scanner_options,
    sending_options,
)
from guardtui.cli.outputs import (
    Output,
    check_outputs,
    choose,
    format_of_name,
    format_option,
    outputs_option,
)
from guardtui.cli.plugins import load_plugins, plugin_option
from guardtui.cli.shards import ShardFlags, refuse, shard_flags, shard_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.cli.judge_scans import JudgeFlags
    from guardtui.domain.evaluation import Evaluation, ScannerSettings
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.base import RemoteScanner, Scanner
    from guardtui.session.epochs import Epochs
    from guardtui.shards.shard import Shard


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often prompts are asked, and what says which are asked again."""

    epochs: Epochs | None = None
    repeated: Callable[[Evaluation], NDArray[np.intp]] | None = None


SCANNERS = ("local", "airs", "judge")
"""What `--scanner` takes: the scanners whose options are known here."""

_POLL_SECONDS = 0.1
_AIRS_CONCURRENCY = 20


@click.command("eval")
@click.argument("topic", type=FILE)
@click.option(
    "--prompts",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Labelled prompts (CSV, JSON, Parquet, Excel; - for standard input).",
)
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
    "scanner_name",
    type=click.Choice(SCANNERS),
    default=SCANNERS[0],
    help="What judges: local (the default), airs, or judge, which asks language models.",
)
@scanner_options
@profile_option
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Requests at once, 20 at most to AIRS, which may throttle above 5 (default: 5; for AIRS "
    "SCAN_CONCURRENCY).",
)
@click.option(
    "--rate",
    type=PerSecond(),
    metavar="R",
    help="Requests a second that AIRS or the models are sent at most.",
)
@sending_options
@click.option(
    "--with",
    "companion_paths",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Another topic of the profile, measured together with this one (repeatable).",
)
@model_options
@budget_options
@epoch_options
@shard_options
@own_metric_option
@plugin_option
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="Prompts with one value in this column may depend on each other: standard errors say so.",
)
def command(
    topic: Path,
    prompts: Path,
    format_name: str | None,
    outputs: tuple[Path, ...],
    every_mistake: bool,
    baseline: str | None,
    scanner_name: str,
    encoder: str | None,
    threshold: float | None,
    profile: str,
    concurrency: int | None,
    rate: float | None,
    retries: int | None,
    batch: bool,
    fresh: bool,
    region: str | None,
    scan_endpoint: str | None,
    tenant: str | None,
    companion_paths: tuple[Path, ...],
    epochs: int | None,
    reducer: str | None,
    repeat: str | None,
    cluster: str | None,
    metrics: tuple[str, ...],
    plugins: tuple[Path, ...],
    **others: Any,
) -> int:
    """Evaluate a topic file against labelled prompts and report.

    Exit code 0: done. 1: a gate failed. 2: bad usage or input. 3: the scan could not be
    completed; with --max-errors a number of prompts without a verdict is allowed. 4: not enough
    evidence. 129, 130, 143: ended by a signal. Of several, 3 goes before 1, and 1 before 4.
    """
    gates, shards = gates_of(others), shard_flags(others)
    gates.check_usage(baseline=baseline is not None)
    from guardtui.cli import airs_scans, judge_scans

    repeats = EpochFlags(epochs, reducer, repeat)
    asked = repeats.parsed()
    if repeat == "flipped" and baseline is None:
        raise click.UsageError("--repeat flipped needs --baseline: flipped since what?")
    flags = judge_scans.JudgeFlags(**others)
    remote, judged = scanner_name == "airs", scanner_name == "judge"
    local = {"--encoder": encoder, "--threshold": threshold}
    shared = {
        "--concurrency": concurrency,
        "--rate": rate,
        "--retries": retries,
        "--fresh": fresh or None,
    }
    of_airs = {
        "--batch": batch or None,
        "--region": region,
        "--scan-endpoint": scan_endpoint,
        "--tenant": tenant,
    }
    unfit: dict[str, dict[str, object]] = {
        "local": {**shared, **of_airs, **flags.given()},
        "airs": {**local, **flags.given()},
        "judge": {**local, **of_airs, "--with": companion_paths or None},
    }
    require_fitting(scanner_name, unfit[scanner_name])
    if remote and (concurrency or 0) > _AIRS_CONCURRENCY:
        raise click.UsageError(f"--concurrency: AIRS is asked {_AIRS_CONCURRENCY} at once at most")
    from guardtui.cli.inputs import (
        load_inputs,
        path_from_here,
        say_blank_texts,
        say_findings,
    )
    from guardtui.domain.comparison import compare
    from guardtui.domain.text import display_text
    from guardtui.domain.topic import describe_changes
    from guardtui.reports.base import ReportInput, load_writer
    from guardtui.session.named import is_of_session, read_files
    from guardtui.session.own_metrics import own_figures
    from guardtui.session.recorded import session_file

    compared = () if baseline is None or is_of_session(baseline) else read_files(baseline)
    named = filter(None, [flags.judge_template, flags.endpoints])
    read = [*compared, *companion_paths, *named]
    check_outputs(outputs, topic, prompts, session_file(topic), *read)
    chosen = choose(format_name, outputs, format_of_name, "table")
    if baseline is None and any(one.format_name == "junit-regressions" for one in chosen):
        raise click.UsageError("junit-regressions needs --baseline: a regression from what?")
    for one in chosen:
        load_writer(one.format_name)  # an unknown format fails before the work, not after it
    load_plugins(plugins)
    measures = own_metrics(metrics)
    # What is wrong with it is told before the files are read.
    judge = judge_scans.make_judge(flags) if judged else None
    if shards.wanted(prompts):
        refuse(
            scanner_name,
            {
                "--with": companion_paths,
                "--epochs": epochs,
                "--cluster": cluster,
                "--profile": profile,
                "--metric": metrics,
                "--all": every_mistake or None,
            },
        )
        return _evaluate_in_shards(
            topic,
            prompts,
            shards,
            chosen,
            gates,
            read,
            baseline=baseline,
            encoder=encoder,
            threshold=threshold,
            by_judge=partial(
                _evaluate_by_judge,
                flags=flags,
                concurrency=concurrency,
                rate=rate,
                retries=retries,
                fresh=fresh,
                repetition=Repetition(),
            )
            if judged
            else None,
            settings=judge.settings if judge is not None else None,
        )
    definition, prompt_set = load_inputs(topic, prompts)
    companions = _load_companions(topic, definition, companion_paths)
    before, number = _baseline(baseline, topic)
    say_findings(prompt_set)
    say_blank_texts(topic, definition)
    if cluster is not None and cluster not in prompt_set.extra_columns:
        there = ", ".join(map(display_text, prompt_set.extra_columns)) or "none"
        raise InputError(
            f"{prompts}: there is no column {display_text(cluster)!r} to cluster by\n"
            f"  columns besides prompt, expected and intent: {there}"
        )
    repetition = Repetition(asked, repeats.chooser(before, lambda: _scores(definition, prompt_set)))
    if remote:
        settings = airs_scans.load_settings(
            profile,
            concurrency=concurrency,
            retries=retries,
            region=region,
            scan_endpoint=scan_endpoint,
            tenant=tenant,
        )
        profile = settings.profile
        evaluation = _evaluate_remotely(
            definition,
            prompt_set,
            settings,
            rate=rate,
            fresh=fresh,
            batches=batch,
            companions=companions,
            repetition=repetition,
        )
    elif judged:
        evaluation = _evaluate_by_judge(
            definition,
            prompt_set,
            flags,
            concurrency=concurrency,
            rate=rate,
            retries=retries,
            fresh=fresh,
            repetition=repetition,
        )
    else:
        evaluation = _evaluate(
            definition, prompt_set, encoder, threshold, companions, repetition=repetition
        )
    airs_scans.say_notes(prompt_set, evaluation)
    comparison = compare(before, evaluation) if before else None
    report = ReportInput(
        topic=definition,
        evaluation=evaluation,
        prompts=prompt_set,
        baseline=before,
        comparison=comparison,
        figures=own_figures(measures, evaluation, prompt_set, comparison),
        changes=describe_changes(before.topic, definition) if before else (),
        profile=profile,
        baseline_number=number,
        companions=companions,
        cluster=cluster or "",
        reducer=asked.name if asked else "",
        prompt_path=path_from_here(Path(prompt_set.source)),
        every_mistake=every_mistake,
    )
    incomplete = None
    if remote or judged:
        incomplete = partial(
            (judge_scans if judged else airs_scans).say_incomplete,
            evaluation,
            fresh=fresh,
            allowed=gates.max_errors is not None,
        )
    files = (prompts, topic, *read)
    return deliver(report, chosen, gates, files, encoder=encoder, say_incomplete=incomplete)


def _baseline(word: str | None, topic: Path) -> tuple[Evaluation | None, int | None]:
    """What is compared with, and the number of its iteration. Raises `InputError`."""
    from guardtui.session.named import find_baseline
    from guardtui.session.recorded import RecordedError

    if word is None:
        return None, None
    try:
        found = find_baseline(word, topic)
    except RecordedError as error:
        raise InputError(str(error)) from error
    return found.evaluation, found.number


def _evaluate_in_shards(
    topic_path: Path,
    prompts: Path,
    shards: ShardFlags,
    chosen: Sequence[Output],
    gates: Gates,
    read: Sequence[Path],
    *,
    baseline: str | None,
    encoder: str | None,
    threshold: float | None,
    by_judge: Callable[..., Evaluation] | None,
    settings: ScannerSettings | None,
) -> int:
    """Evaluate one shard, of which is told in a line, or all, and report on their sum."""
    from guardtui.cli.inputs import path_from_here
    from guardtui.cli.shards import (
        cut_prompts,
        evaluate_by_others,
        evaluate_locally,
        find_shard,
        report_of,
        topic_for,
    )

    shard = find_shard(shards)
    if shard is not None and (baseline is not None or gates != Gates(max_errors=gates.max_errors)):
        raise click.UsageError("gates and --baseline are for all shards together: guardtui merge")
    before, number = _baseline(baseline, topic_path)
    large = cut_prompts(shards, prompts, shard, topic_path)
    definition = topic_for(topic_path, large)
    if by_judge is not None and settings is not None:
        judge = by_judge

        def evaluate(prompt_set: PromptSet, one: Shard) -> Evaluation:
            journal = large.folder / "journals" / one.name
            return judge(definition, prompt_set, journal=journal)

        merged, unfinished = evaluate_by_others(
            large, definition, settings, shard, evaluate, gates.max_errors
        )
        if unfinished is not None:
            from guardtui.cli.judge_scans import say_incomplete

            say_incomplete(unfinished, fresh=False, allowed=False)
            return Exit.NOT_COMPLETED
    else:
        merged = evaluate_locally(shards, large, definition, encoder, threshold, shard)
    if merged is None:
        return Exit.DONE
    report = report_of(merged, before, number, path_from_here(prompts))
    return deliver(report, chosen, gates, (prompts, topic_path, *read))


def _load_companions(path: Path, topic: Topic, others: Sequence[Path]) -> tuple[Topic, ...]:
    """The other topics of the profile. Raises `InputError` telling all that is wrong with them."""
    from guardtui.session.companions import kept_path, load_companions

    found = load_companions(path, [kept_path(path, one) for one in others], topic)
    if found.problems:
        raise InputError("\n".join(map(str, found.problems)))
    return found.topics


def _evaluate(
    topic: Topic,
    prompts: PromptSet,
    encoder: str | None,
    threshold: float | None,
    companions: Sequence[Topic],
    *,
    repetition: Repetition,
) -> Evaluation:
    import asyncio

    from guardtui.scanners.local.encoder import ENCODERS
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.companions import WithCompanions

    scanner = LocalScanner(encoder=encoder or ENCODERS[0], threshold=threshold)
    together = WithCompanions(scanner, companions)
    return asyncio.run(_evaluated(together, topic, prompts, repetition))


def _scores(topic: Topic, prompts: PromptSet) -> tuple[NDArray[np.float32], float]:
    """Scores of the embedded engine, float32 [N], and its threshold."""
    from guardtui.scanners.local.scanner import LocalScanner

    scanner = LocalScanner()
    verdicts = scanner.scan_now(topic, prompts, lambda progress: None)
    assert verdicts is not None  # noqa: S101 - nothing stops it
    return verdicts.score, scanner.settings.threshold or 0.5


def _evaluate_remotely(
    topic: Topic,
    prompts: PromptSet,
    settings: AirsSettings,
    *,
    rate: float | None,
    fresh: bool,
    batches: bool,
    companions: Sequence[Topic],
    repetition: Repetition,
) -> Evaluation:
    import asyncio

    from guardtui.cli.airs_scans import make_scanner, open_verdicts, require_sendable, say_work

    require_sendable(topic)
    with open_verdicts() as cache:

        async def evaluate() -> Evaluation:
            scanner = await make_scanner(
                settings,
                topic,
                rate=rate,
                cache=cache,
                fresh=fresh,
                batches=batches,
                companions=[one.name for one in companions],
            )
            say_work(scanner, topic, prompts, rate=rate, fresh=fresh, batches=batches)
            return await _evaluated(scanner, topic, prompts, repetition)

        return asyncio.run(evaluate())


def _evaluate_by_judge(
    topic: Topic,
    prompts: PromptSet,
    flags: JudgeFlags,
    *,
    concurrency: int | None,
    rate: float | None,
    retries: int | None,
    fresh: bool,
    repetition: Repetition,
    journal: Path | None = None,
) -> Evaluation:
    import asyncio

    from guardtui.cli.airs_scans import open_verdicts
    from guardtui.cli.judge_scans import make_judge, say_endpoints, say_work

    with open_verdicts(journal) as cache:
        scanner = make_judge(
            flags, concurrency=concurrency, rate=rate, retries=retries, fresh=fresh, cache=cache
        )
        count = 1 if repetition.epochs is None else repetition.epochs.count
        say_work(scanner, topic, prompts, len(set(flags.models)), epochs=count)
        try:
            return asyncio.run(_evaluated(scanner, topic, prompts, repetition))
        finally:
            say_endpoints(scanner)


async def _evaluated(
    scanner: Scanner | RemoteScanner, topic: Topic, prompts: PromptSet, repetition: Repetition
) -> Evaluation:
    """An evaluation with its progress shown."""
    import asyncio

    from guardtui.cli.judge_scans import progress_text
    from guardtui.session.evaluator import Evaluator, RemoteEvaluator

    evaluator: Evaluator
    if scanner.live:
        evaluator = Evaluator(scanner)
        task = asyncio.create_task(evaluator.evaluate(topic, prompts))
    else:
        evaluator = remote = RemoteEvaluator(cast("RemoteScanner", scanner))
        task = asyncio.create_task(
            remote.evaluate_rows(
                topic, prompts, epochs=repetition.epochs, repeated=repetition.repeated
            )
        )
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if (now := evaluator.progress) is not None:
                diagnostics.progress(progress_text(now))
    finally:
        diagnostics.progress("")
    evaluation = task.result()
    if scanner.live and repetition.epochs is not None:
        # The embedded engine always says the same.
        same = [evaluation.verdicts] * repetition.epochs.count
        return replace(evaluation, verdicts=repetition.epochs.combine(same))
    return evaluation
