"""Evaluation of a whole large set on request: repeated, stored as parts, compared."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.operating_point import is_fitted
from guardtui.domain.significance import Pairs, Significance
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.verdicts import Outcome, outcomes
from guardtui.files.problems import FileError
from guardtui.scanners.base import Progress
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import LargeSet, Stopped, read_frame
from guardtui.shards.mapped_evaluator import MappedEvaluator, WholeEvaluation
from guardtui.shards.merge import Merged, merge
from guardtui.shards.parts import Counts, Run, metrics_of_counts, runs_of

EMBEDDING, EVALUATING, WRITING = "embedding prompts", "evaluating", "writing the parts"
"""Phases of the reported progress."""

_REMEMBERED = 3

Report = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class WholeOutcomes:
    """Outcomes of every prompt under a definition: codes, int8 [n] for each shard."""

    run: Run
    counts: Counts
    codes: tuple[NDArray[np.int8], ...]

    @classmethod
    def of_whole(cls, large: LargeSet, whole: WholeEvaluation) -> WholeOutcomes:
        """Return the outcomes of an evaluation in memory."""
        run = Run(large, whole.topic, whole.settings)
        return cls(run, whole.counts, tuple(evaluation.codes for evaluation in whole.evaluations))

    @classmethod
    def of_merged(cls, merged: Merged) -> WholeOutcomes:
        """Return the outcomes of parts, which are read. Raises FileError."""
        run = merged.run
        codes = []
        for shard in run.large.all_shards():
            frame = read_frame(run.path(shard, ".parquet"), ["expected", "triggered"])
            duty = should_trigger(frame["expected"].to_numpy(), run.topic.intent)
            codes.append(outcomes(duty, frame["triggered"].to_numpy()))
        return cls(run, merged.counts, tuple(codes))

    @property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of_counts(self.counts)


@dataclass(frozen=True, eq=False)
class WholeChange:
    """Changes over all prompts from one definition or threshold to another."""

    before: WholeOutcomes
    now: WholeOutcomes

    @cached_property
    def pairs(self) -> Pairs:
        """Prompts with a verdict in both, counted by class."""
        width = len(Outcome)
        table = np.zeros((width, width), np.int64)
        for before_codes, now_codes in zip(self.before.codes, self.now.codes, strict=True):
            index = before_codes.astype(np.int16) * width + now_codes
            table += np.bincount(index, minlength=width * width).reshape(width, width)

        def cells(right: Outcome, wrong: Outcome) -> tuple[int, int, int, int]:
            both, broken = int(table[right, right]), int(table[right, wrong])
            return both, broken, int(table[wrong, right]), int(table[wrong, wrong])

        return Pairs(cells(Outcome.TP, Outcome.FN), cells(Outcome.TN, Outcome.FP))

    @cached_property
    def significance(self) -> Significance:
        """Significance of the difference."""
        pairs = self.pairs
        regressions = pairs.positive[1] + pairs.negative[1]
        fixes = pairs.positive[2] + pairs.negative[2]
        return Significance(fixes, regressions, pairs.total, pairs)

    @property
    def deltas(self) -> dict[str, float | None]:
        """Differences of rates, None if one is undefined."""
        deltas: dict[str, float | None] = {}
        for name in RATES:
            old: float | None = getattr(self.before.metrics, name)
            new: float | None = getattr(self.now.metrics, name)
            deltas[name] = None if old is None or new is None else new - old
        return deltas

    @property
    def edits(self) -> tuple[str, ...]:
        """Descriptions of the differences between the two definitions."""
        return tuple(describe_changes(self.before.run.topic, self.now.run.topic))

    @property
    def caveats(self) -> tuple[str, ...]:
        """Reasons why the two are not fully comparable."""
        caveats = []
        old, new = self.before.run, self.now.run
        fitted = is_fitted(old.settings) and is_fitted(new.settings)
        if old.settings.threshold != new.settings.threshold and not fitted:
            before, now = (
                "none" if threshold is None else f"{threshold:.3f}"
                for threshold in (old.settings.threshold, new.settings.threshold)
            )
            caveats.append(f"different thresholds: {before} then, {now} now")
        if old.topic.intent is not new.topic.intent:
            caveats.append(f"different intents: {old.topic.intent} then, {new.topic.intent} now")
        return tuple(caveats)


class WholeSet:
    """Evaluates all prompts of a large set repeatedly, quickly from the second time on.

    All methods block and may be called from any thread; they are serialised.
    """

    def __init__(self, large: LargeSet) -> None:
        self.large = large
        self._lock = threading.Lock()
        self._evaluator: MappedEvaluator | None = None
        self._scanner: LocalScanner | None = None
        self._seen: list[WholeOutcomes] = []

    def finished(self, topic: Topic, scanner: LocalScanner) -> Merged | None:
        """Return the finished run of exactly this definition and scanner, from its manifests.

        None if it does not exist or is not valid. Raises ScannerError.
        """
        try:
            return merge(Run(self.large, topic, scanner.settings))
        except GuardtuiError:
            return None  # writing it again will report the problem

    def evaluate(
        self,
        topic: Topic,
        scanner: LocalScanner,
        report: Report = lambda progress: None,
        stopped: Stopped = lambda: False,
    ) -> WholeEvaluation | None:
        """Evaluate all prompts under a definition; None if stopped.

        Prompts without vectors are embedded first. If stopped, vectors of finished shards stay on
        disk. Raises FileError and ScannerError.
        """
        with self._lock:
            if stopped():
                return None
            if (
                self._evaluator is None
                or self._scanner is None
                or self._scanner.encoder_name != scanner.encoder_name
            ):
                self._evaluator, self._scanner = MappedEvaluator(self.large, scanner), scanner
            self._scanner.follow(scanner)
            total = self.large.rows
            ready = self._evaluator.prepare(
                lambda done: report(Progress(EMBEDDING, done, total)), stopped
            )
            if not ready:
                return None
            return self._evaluator.evaluate(
                topic, lambda done: report(Progress(EVALUATING, done, total)), stopped
            )

    def keep(
        self,
        whole: WholeEvaluation,
        report: Report = lambda progress: None,
        stopped: Stopped = lambda: False,
    ) -> Merged | None:
        """Write the parts of an evaluation, and their totals; None if stopped.

        If stopped, nothing of it stays on disk. Raises FileError and ShardError.
        """
        with self._lock:
            if stopped() or self._evaluator is None:
                return None
            total = self.large.rows
            run = self._evaluator.write(
                whole, lambda done: report(Progress(WRITING, done, total)), stopped
            )
            if run is None:
                return None
            merged = merge(run)
            merged.write()
            return merged

    def since(self, now: WholeOutcomes) -> WholeChange | None:
        """Return the changes since the previous whole evaluation, or None.

        That is the last one of this session, else the last finished run in the folder, with the
        same scanner. `now` is remembered for the next call. Raises FileError.
        """
        with self._lock:
            before = next(
                (
                    outcomes_before
                    for outcomes_before in reversed(self._seen)
                    if _comparable(outcomes_before.run, now.run)
                ),
                None,
            )
            self._seen = [
                outcomes_before
                for outcomes_before in self._seen
                if outcomes_before.run.id != now.run.id
            ]
            self._seen = [*self._seen, now][-_REMEMBERED:]
            if before is None:
                before = self._last_finished(now.run)
            return WholeChange(before, now) if before is not None else None

    def _last_finished(self, now: Run) -> WholeOutcomes | None:
        try:
            runs = runs_of(self.large)
        except FileError:
            return None
        for run in reversed(runs):
            if _comparable(run, now):
                try:
                    return WholeOutcomes.of_merged(merge(run))
                except GuardtuiError:
                    continue
        return None

    @staticmethod
    def baseline(change: WholeChange | None) -> Evaluation | None:
        """Return the baseline of a change, for a report; None if its parts are missing."""
        if change is None:
            return None
        try:
            return merge(change.before.run).evaluation
        except GuardtuiError:
            return None


def _comparable(before: Run, now: Run) -> bool:
    return before.id != now.id and before.settings.guardrail == now.settings.guardrail
