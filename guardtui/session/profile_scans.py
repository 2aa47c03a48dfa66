"""Scans of a whole profile by a live scanner: all its topics, or one that is being edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Companion, ScannerSettings
from guardtui.domain.operating_point import verdicts_at
from guardtui.domain.profile_evaluation import ProfileEvaluation, evaluate_scans
from guardtui.domain.profile_labels import ProfilePrompts, prompts_of_one
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.base import Progress, Report, Scanner
from guardtui.session.evaluator import evaluated

_NAME_CHARACTERS = 60


@dataclass
class ProfileScan:
    """Scans topic after topic of a profile; `progress` is the latest, for polling."""

    scanner: Scanner
    progress: Progress | None = field(default=None, init=False)

    async def evaluate(self, prompts: ProfilePrompts, *, closed: bool) -> ProfileEvaluation:
        """Scan all topics on all prompts. Raises `ScannerError`."""
        count = len(prompts.members)
        verdicts = [
            await self.scanner.scan(
                member.topic, prompts.prompts, self._reporting(number, count, len(prompts))
            )
            for number, member in enumerate(prompts.members, start=1)
        ]
        self.progress = None
        return evaluate_scans(prompts, verdicts, closed=closed)

    def _reporting(self, number: int, count: int, prompts: int) -> Report:
        def store(progress: Progress) -> None:
            phase = f"topic {number} of {count}: {progress.phase}"
            self.progress = replace(progress, phase=phase)

        # A scan by the engine reports only the embedding of prompts, for the first topic.
        store(Progress("scanning", 0, prompts))
        return store


class WithCompanions:
    """A live scanner that measures a topic together with further topics of its profile.

    The further topics are scanned once per prompt set by the inner scanner, and their verdicts are
    cached: while the definition is edited, only that is scanned. Scores are those of the
    definition. `closed` says whether the profile stops what no topic matches; with None it does if
    the topic under test is an allow topic.
    """

    def __init__(
        self, inner: Scanner, companions: Sequence[Topic] = (), closed: bool | None = None
    ) -> None:
        self.inner = inner
        self.companions, self.closed = tuple(companions), closed
        self._cached: dict[Topic, Verdicts] = {}
        self._cached_for: tuple[ScannerSettings, NDArray[np.uint64]] | None = None

    def use(self, companions: Sequence[Topic], closed: bool | None = None) -> None:
        """Set the companions for the next scan."""
        self.companions, self.closed = tuple(companions), closed

    @property
    def live(self) -> bool:
        return self.inner.live

    @property
    def settings(self) -> ScannerSettings:
        return self.together(self.inner.settings)

    def together(self, inner: ScannerSettings) -> ScannerSettings:
        """Return settings of the inner scanner with the companions."""
        if not self.companions:
            return inner
        # Sorted by name: the order does not make another profile.
        topics = sorted(
            Companion(
                display_start(topic.name, _NAME_CHARACTERS), topic.intent, topic.fingerprint[:8]
            )
            for topic in self.companions
        )
        otherwise = {None: "", True: "block", False: "allow"}[self.closed]
        guardrail = replace(inner.guardrail, companions=tuple(topics), otherwise=otherwise)
        return replace(inner, guardrail=guardrail)

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        return (await self.evaluate(topic, prompts, report)).verdicts

    async def evaluate(self, topic: Topic, prompts: PromptSet, report: Report) -> Evaluation:
        """Evaluate a topic; a fitted threshold is that of the topic under test, for all topics."""
        companions = self.companions
        closed = topic.intent is Intent.ALLOW if self.closed is None else self.closed
        others = await self._verdicts(companions, prompts, report)
        own = await evaluated(self.inner, topic, prompts, report)
        if not companions:
            return own
        threshold = own.settings.threshold
        if threshold is not None:
            others = [
                verdicts_at(verdicts, threshold, companion.intent)
                for companion, verdicts in zip(companions, others, strict=True)
            ]
        joint = evaluate_scans(
            prompts_of_one(topic, prompts, companions),
            [own.verdicts, *others],
            closed=closed,
            under_test=topic,
        )
        return replace(
            own,
            settings=self.together(own.settings),
            verdicts=joint.verdicts(own.verdicts),
        )

    async def _verdicts(
        self, companions: Sequence[Topic], prompts: PromptSet, report: Report
    ) -> list[Verdicts]:
        if not companions:
            return []
        # The definition is scanned last, so that the inner scanner ends with it.
        settings, cached_for = self.inner.settings, self._cached_for
        if (
            cached_for is None
            or cached_for[0] != settings
            or not np.array_equal(cached_for[1], prompts.keys)
        ):
            self._cached, self._cached_for = {}, (settings, prompts.keys)
        cached = self._cached
        for topic in cached.keys() - set(companions):
            del cached[topic]
        verdicts_of_all = []
        for topic in companions:
            verdicts = cached.get(topic)
            if verdicts is None:
                verdicts = cached[topic] = await self.inner.scan(topic, prompts, report)
            verdicts_of_all.append(verdicts)
        return verdicts_of_all
