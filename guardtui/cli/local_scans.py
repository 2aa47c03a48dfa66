"""Scans of `eval` by the embedded engine."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.cli import signals
from guardtui.cli.operating_point import settled_engine
from guardtui.cli.options import RunOptions
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import ThresholdFit, Wanted, own_fit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.large_sets.workers import Workers, make_workers
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import encode_chunks
from guardtui.session.companions import ALONE, Companions
from guardtui.session.profile_scans import WithCompanions

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> LocalRun:
    """Return the run of the embedded engine, with the processes that embed prompts.

    Raises `WorkersError` if their package is not installed.
    """
    encoder = getattr(guardrail.configuration, "encoder", None)
    alone = options.ray is None and options.jobs in (None, 1)
    workers = None if alone else make_workers(options.jobs, options.ray)
    return LocalRun(encoder, options.threshold, workers=workers)


@dataclass(frozen=True)
class LocalRun:
    """The embedded engine with the options of the command line."""

    encoder: str | None
    threshold: Wanted
    scanner: LocalScanner | None = None
    workers: Workers | None = None
    remote = False
    profile = template = ""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the engine."""
        return self._settled.settings

    @property
    def _settled(self) -> LocalScanner:
        """The engine. Raises RuntimeError before the threshold is `settled`."""
        if self.scanner is None:
            raise RuntimeError("the threshold is not settled")
        return self.scanner

    def settled(
        self, topic_path: Path, topic: Topic, prompts: PromptSet, baseline: Evaluation | None
    ) -> LocalRun:
        """Return a copy that uses the threshold for these prompts. Raises `OperatingPointError`."""
        encode = encode_chunks if self.workers is None else self.workers.encode_chunks
        engine = settled_engine(self.encoder, self.threshold, topic, prompts, encode)
        return replace(self, scanner=engine)

    def fitted(self, evaluation: Evaluation) -> tuple[Evaluation, ThresholdFit | None]:
        """Return the evaluation, and the fit behind its threshold, or None."""
        return evaluation, own_fit(evaluation, self._settled.shipped_threshold)

    def evaluate(
        self,
        topic: Topic,
        prompts: PromptSet,
        companions: Companions = ALONE,
        repetition: Repetition = ONCE,
    ) -> Evaluation:
        """Evaluate a topic together with its companions. Raises ScannerError and `WorkersError`.

        Raises RuntimeError before the threshold is `settled`.
        """
        together = WithCompanions(self._settled, companions.topics, companions.closed)
        with self.workers or contextlib.nullcontext():
            return signals.run(evaluated(together, topic, prompts, repetition))

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Do nothing: every prompt has a verdict."""
