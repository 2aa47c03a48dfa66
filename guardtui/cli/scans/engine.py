"""Scans by the engine, whose prompts may be embedded by several processes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from guardtui.cli import signals
from guardtui.cli.operating_point import settled_engine
from guardtui.cli.options import RunOptions
from guardtui.cli.scans.run import ScanJob, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import ThresholdFit, Wanted, own_fit
from guardtui.large_sets.workers import make_workers
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import EncodeChunks, encode_chunks
from guardtui.session.profile_scans import WithCompanions

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> EngineRun:
    """Return the run of the engine, with the processes that embed prompts.

    Raises `WorkersError` if their package is not installed.
    """
    encoder = getattr(guardrail.configuration, "encoder", None)
    workers: AbstractContextManager[EncodeChunks] = nullcontext(encode_chunks)
    if options.ray is not None or options.jobs not in (None, 1):
        workers = make_workers(options.jobs, options.ray)
    return EngineRun(guardrail.guardrail, encoder, options.threshold, workers)


@dataclass
class EngineRun:
    """The engine with the options of the command line."""

    guardrail: Guardrail
    encoder: str | None
    threshold: Wanted
    workers: AbstractContextManager[EncodeChunks]
    remote = False
    doubt = None
    template = ""
    stored_template = None
    engine: LocalScanner | None = field(init=False, default=None)

    def evaluate(self, job: ScanJob) -> tuple[Evaluation, ThresholdFit | None]:
        """Evaluate a topic with its companions, at the threshold for these prompts.

        Raises `OperatingPointError`, ScannerError and `WorkersError`.
        """
        with self.workers as encode:
            engine = settled_engine(self.encoder, self.threshold, job.topic, job.prompts, encode)
            self.engine = engine
            together = WithCompanions(engine, job.companions.topics, job.companions.closed)
            evaluation = signals.run(evaluated(together, job))
        return evaluation, own_fit(evaluation, engine.built_in_threshold)

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Do nothing: every prompt has a verdict."""
