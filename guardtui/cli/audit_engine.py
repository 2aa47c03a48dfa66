"""The embedded engine in an audit: one threshold for all topics, or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guardtui.cli.audit_inputs import AuditTopic
from guardtui.cli.operating_point import settled_engine
from guardtui.domain.figures import threshold_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import FITTED, Wanted
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.base import Report, Scanner
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

_NAME_CHARACTERS = 60


class OwnThresholds:
    """The embedded engine with a threshold for each topic, by the topic's name."""

    live = True

    def __init__(self, engine: LocalScanner, thresholds: Mapping[str, float]) -> None:
        self._engine, self._thresholds = engine, thresholds

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the engine, without a threshold: there are several."""
        engine = self._engine.settings
        return ScannerSettings(engine.guardrail)

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        """Scan with the threshold of this topic."""
        self._engine.use_threshold(self._thresholds[topic.name])
        return await self._engine.scan(topic, prompts, report)


def audit_engine(
    topics: Sequence[AuditTopic], encoder: str | None, wanted: Wanted
) -> tuple[Scanner, tuple[str, ...]]:
    """Return the scanner of an audit, and a notice on the threshold of each topic.

    With `fitted`, each topic has the threshold fitted to its labels, or, with too few of them, the
    shipped one. Otherwise all have the same, and there are no notices. Raises ScannerError.
    """
    engine = LocalScanner(encoder or ENCODERS[0])
    if wanted != FITTED:
        if isinstance(wanted, float):
            engine.use_threshold(wanted)
        return engine, ()
    thresholds: dict[str, float] = {}
    notices = []
    for topic in topics:
        settings = engine.settings
        if topic.prompts is not None:
            fitted = settled_engine(encoder, None, topic.topic, topic.prompts)
            evaluation = fitted.evaluate_now(topic.topic, topic.prompts)
            assert evaluation is not None  # noqa: S101 - nothing stops it
            settings = evaluation.settings
        threshold = settings.threshold or engine.shipped_threshold
        thresholds[topic.topic.name] = threshold
        name = display_start(topic.topic.name, _NAME_CHARACTERS)
        notices.append(
            f"{name}: threshold {threshold_text(threshold)} ({settings.threshold_source})"
        )
    return OwnThresholds(engine, thresholds), tuple(notices)
