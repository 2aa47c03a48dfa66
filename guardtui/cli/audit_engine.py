"""The embedded engine in an audit: one threshold for all topics, or one fitted for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guardtui.cli.audit_inputs import Found
from guardtui.cli.operating_point import settled_engine
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.figures import threshold_text
from guardtui.domain.operating_point import FITTED, Wanted
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.base import Report, Scanner
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

_NAME_CHARACTERS = 60


class EachAtItsOwn:
    """The embedded engine with a threshold for each topic, by the topic's name."""

    live = True

    def __init__(self, engine: LocalScanner, thresholds: Mapping[str, float]) -> None:
        self._engine, self._thresholds = engine, thresholds

    @property
    def settings(self) -> ScannerSettings:
        """Those of the engine, without a threshold: there are several."""
        own = self._engine.settings
        return ScannerSettings(own.name, own.identity)

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        """Scan with the threshold of this topic."""
        self._engine.use_threshold(self._thresholds[topic.name])
        return await self._engine.scan(topic, prompts, report)


def audit_engine(
    found: Sequence[Found], encoder: str | None, wanted: Wanted
) -> tuple[Scanner, tuple[str, ...]]:
    """Return what judges in an audit, and a notice on the threshold of each topic.

    `fitted` takes for each topic that of its session, else one fitted to its labels, else the
    shipped one; otherwise one threshold is for all, and there are no notices. Raises ScannerError.
    """
    engine = LocalScanner(encoder or ENCODERS[0])
    if wanted != FITTED:
        if isinstance(wanted, float):
            engine.use_threshold(wanted)
        return engine, ()
    thresholds: dict[str, float] = {}
    notices = []
    for one in found:
        settings = engine.settings
        if one.prompts is not None:
            settings = settled_engine(encoder, None, one.path, one.topic, one.prompts)[0].settings
        thresholds[one.topic.name] = settings.threshold or engine.shipped_threshold
        name = display_start(one.topic.name, _NAME_CHARACTERS)
        threshold = threshold_text(thresholds[one.topic.name])
        notices.append(f"{name}: threshold {threshold} ({settings.threshold_source})")
    return EachAtItsOwn(engine, thresholds), tuple(notices)
