"""Evaluations of large prompt sets: one shard, all shards, the sum."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.cli.operating_point import (
    ShardsThreshold,
    fit_of_run,
    fitted_to_shards,
    keep_fit,
    threshold_for_merge,
)
from guardtui.cli.shard_options import ShardFlags
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import ThresholdFit, Wanted
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.topic_files import load_topic
from guardtui.reports import merged_report
from guardtui.reports.base import ReportInput
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.shards.executors import make_executor
from guardtui.shards.large_set import LargeSet, cut, is_large_set, open_set
from guardtui.shards.merge import Merged, merge
from guardtui.shards.parts import Manifest, Run, read_manifest, write_part
from guardtui.shards.shard import Shard, found_shard, parse_shard
from guardtui.shards.work import ShardJob


def find_shard(flags: ShardFlags) -> Shard | None:
    """Return the requested shard, by option or by the job array of this process; None for all.

    Raises `ShardError`.
    """
    if flags.shard_text is not None:
        return parse_shard(flags.shard_text, os.environ)
    if any(value is not None for value in (flags.jobs, flags.executor, flags.shard_count)):
        return None  # all shards, also in a job array
    return found_shard(os.environ)


def cut_prompts(flags: ShardFlags, prompts: Path, shard: Shard | None, topic: Path) -> LargeSet:
    """Return the prompts in shards, in the folder of --out, cut now if necessary.

    Raises `InputError`, `ShardError`, `PromptSetError` and FileError.
    """
    if str(prompts) == "-":
        raise InputError(
            "standard input cannot be cut into shards, of which several processes read it\n"
            "  save the prompts to a file and name that"
        )
    if is_large_set(prompts):
        large = open_set(prompts)
        if flags.out is not None and flags.out.resolve() != prompts.resolve():
            raise InputError(
                f"{prompts} is a folder of shards already: omit --out, or name the file"
            )
        count = shard.count if shard is not None else flags.shard_count
        if count is not None and count != large.shards:
            raise InputError(
                f"{prompts} is cut into {large.shards} shards, not {count}\n"
                f"  use {large.shards}, or cut the file again into another folder"
            )
        if not large.has_rows([shard] if shard is not None else large.all_shards()):
            raise InputError(
                f"{prompts}: not all shards are cut\n"
                "  name the file they are cut from as --prompts, and this folder as --out"
            )
        return large
    try:
        made = cut(
            prompts,
            flags.out or prompts,
            flags.shard_count,
            shard,
            intent=load_topic(topic).topic.intent,
            advance=lambda rows: diagnostics.progress(f"reading prompts: {rows}"),
        )
    finally:
        diagnostics.progress("")
    assert made is not None  # noqa: S101 - nothing stops it
    return made


def evaluate_locally(
    flags: ShardFlags,
    large: LargeSet,
    topic: Topic,
    encoder: str | None,
    threshold: ShardsThreshold,
    wanted: Wanted,
    shard: Shard | None,
) -> tuple[Merged | None, ThresholdFit | None]:
    """Evaluate with the embedded scanner: one shard (then None), or all, and merge them.

    A threshold to be fitted is fitted to the scores of all shards, which are then evaluated again
    from their stored vectors, quickly. Returns the sum, and the fit that the threshold is from, or
    None.

    Raises `ExecutorError`, `ShardError`, `OperatingPointError`, ScannerError and FileError.
    """
    job = ShardJob(large.folder, topic, encoder or ENCODERS[0], threshold.value, threshold.source)
    if shard is not None:
        for manifest in make_executor("serial").run(job, [shard]):
            diagnostics.note(shard_line(shard, manifest))
        run = job.worker().run
        run.claim()
        keep_fit(run, threshold.fit)
        return None, threshold.fit
    jobs = flags.jobs
    if jobs is None and flags.address is None:  # a cluster reports its cores itself
        jobs = min(os.cpu_count() or 1, large.shards)
    workers = _Workers(
        flags.executor or ("serial" if jobs == 1 else "processes"), jobs, flags.address
    )
    try:
        if threshold.unfitted:
            job.worker().run.begin_for_scores()
        run = workers.evaluate(job, large)
        if not threshold.unfitted:
            keep_fit(run, threshold.fit)
            return merged_run(run), threshold.fit
        scored = merge(run)
        fitted = fitted_to_shards(scored, wanted)
        if fitted is None:
            scored.write()
            return scored, None
        merged = _judged_anew(job, large, fitted, workers)
    finally:
        diagnostics.progress("")
    if merged.run.id != run.id:
        scored.discard()
    return merged, fitted.fit


def merge_locally(run: Run, wanted: Wanted) -> tuple[Merged, ThresholdFit | None]:
    """Merge the shards of a run; return the sum, and the fit that its threshold is from, or None.

    A run at the shipped threshold is evaluated again if `guardtui eval` would use another one, so
    that tasks with one shard each give the result of a single run. The run itself is unchanged.
    Raises `ShardError`, `OperatingPointError`, `ExecutorError`, ScannerError and FileError.
    """
    merged = merge(run)
    run.claim()
    settled = threshold_for_merge(merged, wanted)
    encoder = run.settings.guardrail.encoder
    if settled is not None and encoder in ENCODERS:
        large = run.large
        job = ShardJob(large.folder, run.topic, encoder)
        jobs = min(os.cpu_count() or 1, large.shards)
        if job.worker().run.id == run.id and large.has_rows(large.all_shards()):
            try:
                workers = _Workers("serial" if jobs == 1 else "processes", jobs)
                merged = _judged_anew(job, large, settled, workers)
            finally:
                diagnostics.progress("")
            diagnostics.note(
                f"run {run.id}, at the shipped threshold, judged anew: run {merged.run.id}, "
                f"threshold {settled.source}"
            )
            return merged, settled.fit
        diagnostics.warn(
            f"run {run.id} is at the shipped threshold, and cannot be judged by another one here: "
            "its rows or its engine are not at hand"
        )
    merged.write()
    return merged, fit_of_run(run)


def _judged_anew(
    job: ShardJob, large: LargeSet, settled: ShardsThreshold, workers: _Workers
) -> Merged:
    """Return the run evaluated again with another threshold, quickly, from its stored vectors."""
    job = replace(job, threshold=settled.value, threshold_source=settled.source)
    run = workers.evaluate(job, large)
    keep_fit(run, settled.fit)
    return merged_run(run)


def evaluate_by_others(
    large: LargeSet,
    topic: Topic,
    settings: ScannerSettings,
    shard: Shard | None,
    evaluate: Callable[[PromptSet, Shard], Evaluation],
    max_errors: int | None,
) -> tuple[Merged | None, Evaluation | None]:
    """Evaluate with a remote scanner, one shard after the other in this process.

    A shard with more prompts without a verdict than allowed, or with prompts not asked, is
    unfinished: its evaluation is returned second, and the run can be resumed. Raises `ShardError`,
    ScannerError and FileError.
    """
    run = Run(large, topic, settings)
    run.begin()
    category = large.category_column
    for part in [shard] if shard is not None else large.all_shards():
        manifest = read_manifest(run, part)
        if manifest is None:
            frame = large.read_rows(part)
            started = time.perf_counter()
            evaluation = evaluate(large.prompts(frame), part)
            if evaluation.metrics.open or evaluation.metrics.errors > (max_errors or 0):
                return None, evaluation
            whole = replace(evaluation, prompt_set=large.fingerprint)
            seconds = {"scan": time.perf_counter() - started}
            groups = frame[category] if category else None
            manifest = write_part(run, part, frame["row"].to_numpy(), groups, whole, seconds)
        diagnostics.note(shard_line(part, manifest))
    return (None if shard is not None else merged_run(run)), None


def merged_run(run: Run) -> Merged:
    """Return the sum of a run, stored beside its parts. Raises `ShardError` and FileError."""
    merged = merge(run)
    merged.write()
    return merged


@dataclass(frozen=True, slots=True)
class _Workers:
    """Workers that evaluate shards: the executor, their number, and the address of a cluster."""

    executor: str
    jobs: int | None
    address: str | None = None

    def evaluate(self, job: ShardJob, large: LargeSet) -> Run:
        """Evaluate the shards that have no part yet, with progress; return the run."""
        executor = make_executor(self.executor, self.jobs, self.address)
        run = job.worker().run
        left = [shard for shard in large.all_shards() if read_manifest(run, shard) is None]
        done = large.shards - len(left)
        if left:
            diagnostics.progress(f"evaluating: {done} of {large.shards} shards")
            for _ in executor.run(job, left):
                done += 1
                diagnostics.progress(f"evaluating: {done} of {large.shards} shards")
        return run


def shard_line(shard: Shard, manifest: Manifest) -> str:
    """Return the result of a shard in a line."""
    metrics = manifest.metrics
    seconds = sum(manifest.seconds.values())
    return (
        f"shard {shard}: {count_text(manifest.rows, 'prompt')}, {metrics.tp} TP, {metrics.tn} TN, "
        f"{metrics.fp} FP, {metrics.fn} FN, {metrics.errors} without a verdict ({seconds:.1f} s)"
    )


def report_of(
    merged: Merged, baseline: Evaluation | None, number: int | None, prompt_path: str = ""
) -> ReportInput:
    """Return the input of a merged run's reports; prints how much is listed. Raises FileError."""
    report = merged_report.report_of(merged, baseline, number, prompt_path)
    if report.listed is not None:
        diagnostics.note(
            f"of {merged.run.large.rows} prompts, {len(report.listed)} that are wrong or without a "
            "verdict are listed"
        )
    return report


def topic_for(path: Path, large: LargeSet) -> Topic:
    """Return the topic of a file; without an intent of its own it takes that of the prompts.

    Raises FileError, and `InputError` if the intents disagree.
    """
    file = load_topic(path)
    if not file.intent_given:
        return file.topic.model_copy(update={"intent": large.intent})
    if file.topic.intent is not large.intent:
        raise InputError(
            f"{path}: the topic's intent is {file.topic.intent}, that of the prompts in "
            f"{large.folder} is {large.intent}\n  make the two agree"
        )
    return file.topic


def refuse(scanner: str, unfit: Mapping[str, object]) -> None:
    """Raise a usage error for options that cannot be combined with shards."""
    if scanner == "airs":
        raise click.UsageError(
            "--scanner airs is not distributed: its rate limit is one for all, more workers only "
            "share it; leave out what speaks of shards"
        )
    for option, value in unfit.items():
        if value:
            raise click.UsageError(f"{option} does not fit prompts in shards: omit it")
