"""Scans of `eval` by the embedded scanner."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from guardtui.cli import signals
from guardtui.cli.operating_point import settled_engine
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import ThresholdFit, Wanted, own_fit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.large_sets.workers import Workers, make_workers
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import encode_chunks
from guardtui.session.companions import ALONE, Companions
from guardtui.session.profile_scans import WithCompanions


@dataclass(frozen=True)
class LocalRun:
    """The embedded scanner with the options of the command line; `profile` is only a label."""

    encoder: str | None
    threshold: Wanted
    profile: str
    scanner: LocalScanner | None = None
    workers: Workers | None = None
    remote = False

    @classmethod
    def of(cls, values: Mapping[str, Any], profile: str) -> LocalRun:
        """Create it from values of declared options."""
        return cls(values["encoder"], values["threshold"], profile)

    def with_workers(self, jobs: int | None, ray: str | None) -> LocalRun:
        """Return it with other processes that embed prompts; `ray` is an address, "" for none.

        Raises `WorkersError` if their package is not installed.
        """
        if ray is None and (jobs is None or jobs == 1):
            return self
        return replace(self, workers=make_workers(jobs, ray))

    def settled(self, topic: Topic, prompts: PromptSet) -> LocalRun:
        """Return it with the threshold for these prompts. Raises `OperatingPointError`."""
        encode = encode_chunks if self.workers is None else self.workers.encode_chunks
        engine = settled_engine(self.encoder, self.threshold, topic, prompts, encode)
        return replace(self, scanner=engine)

    def fit_of(self, evaluation: Evaluation) -> ThresholdFit | None:
        """Return the fit behind the threshold of an evaluation by this engine, or None."""
        assert self.scanner is not None  # noqa: S101 - it has evaluated
        return own_fit(evaluation, self.scanner.shipped_threshold)

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
        if self.scanner is None:
            raise RuntimeError("the threshold is not settled")
        together = WithCompanions(self.scanner, companions.topics, companions.closed)
        with self.workers or contextlib.nullcontext():
            return signals.run(evaluated(together, topic, prompts, repetition))

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Do nothing: every prompt has a verdict."""
