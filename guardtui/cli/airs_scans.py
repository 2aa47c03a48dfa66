"""Scans of `eval` by AIRS: credentials, profile, cache, deployed definition, number of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.cli import airs_service, diagnostics, signals
from guardtui.cli.airs_service import known_revisions
from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import RunOptions
from guardtui.cli.scan_run import ONCE, Repetition, evaluated
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Plan
from guardtui.scanners.airs.policy_paths import PolicyError
from guardtui.scanners.airs.scanner import AirsScanner
from guardtui.scanners.airs.scans import BATCH_AT_MOST
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.companions import ALONE, Companions

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail

SAFE_CONCURRENCY = 5
"""Maximum concurrent requests without throttling, by the default of the vendor's own tool."""


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> AirsRun:
    """Return the run of a profile of AIRS. Raises `InputError` naming missing settings."""
    configuration = guardrail.configuration
    assert isinstance(configuration, AirsConfiguration)  # noqa: S101 - by its kind
    return AirsRun(
        load_settings(**configuration.flags),
        configuration.rate,
        options.fresh,
        configuration.batch,
    )


@dataclass(frozen=True)
class AirsRun:
    """AIRS with the options of the command line, and its profile as deployed."""

    access: AirsSettings
    rate: float | None
    fresh: bool
    batches: bool
    remote = True
    template = ""

    @property
    def profile(self) -> str:
        """The security profile."""
        return self.access.profile

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the profile, without the revision, which is known once it is looked up."""
        return AirsConnection(self.access).scanner(None).settings

    def settled(
        self, topic_path: Path, topic: Topic, prompts: PromptSet, baseline: Evaluation | None
    ) -> AirsRun:
        """Return it unchanged: AIRS has no threshold."""
        return self

    def fitted(self, evaluation: Evaluation) -> tuple[Evaluation, ThresholdFit | None]:
        """Return the evaluation, which has no threshold."""
        return evaluation, None

    def evaluate(
        self,
        topic: Topic,
        prompts: PromptSet,
        companions: Companions = ALONE,
        repetition: Repetition = ONCE,
    ) -> Evaluation:
        """Evaluate a topic with the profile. Raises `InputError` and ScannerError."""
        require_sendable(topic)
        with open_verdicts() as cache:

            async def evaluate() -> Evaluation:
                scanner = await self._scanner(
                    topic, cache, [topic.name for topic in companions.topics]
                )
                if repetition.begin is None:
                    say_work(
                        scanner,
                        topic,
                        repetition.prompts_of(prompts),
                        rate=self.rate,
                        fresh=self.fresh,
                        batches=self.batches,
                    )
                return await evaluated(scanner, topic, prompts, repetition)

            return signals.run(evaluate())

    async def _scanner(
        self, topic: Topic, cache: SqliteVerdicts, companions: Collection[str]
    ) -> AirsScanner:
        """Return a scanner of the profile as deployed, if that can be looked up.

        Warns if the deployed definition differs. Raises `InputError` and ScannerError.
        """
        connection = AirsConnection(self.access, rate=self.rate, revisions=known_revisions())
        profile = inert(self.profile, characters=60)
        try:
            try:
                plan = await connection.look(topic)
            except PolicyError as problem:
                # The scan can still run: only the changes that applying would make are unknown.
                diagnostics.warn(
                    f"whether profile {profile} has this definition is unknown: {problem}"
                )
                now = await connection.active()
            else:
                now = connection.in_effect(topic, plan)
                if plan is not None and plan.changes:
                    diagnostics.warn(_difference(profile, plan))
        except ServiceError as error:
            raise AirsError(
                f"the profile {profile} could not be looked up: {error.message}\n"
                "  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret no "
                "profile is looked up"
            ) from error
        except AirsError as error:
            raise InputError(str(error)) from error
        return connection.scanner(
            now, cache=cache, fresh=self.fresh, companions=companions, batches=self.batches
        )

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy."""
        say_incomplete(evaluation, fresh=self.fresh, allowed=allowed)


def load_settings(**flags: str | int | None) -> AirsSettings:
    """Return settings that suffice for a scan. Raises `InputError` naming missing settings."""

    settings = airs_service.load_settings(**flags)
    with airs_service.failures_told():
        AirsConnection(settings)
    return settings


def require_sendable(topic: Topic) -> None:
    """Raise `InputError` for a definition that AIRS would reject."""

    if broken := violations(topic):
        limits = "\n".join(f"  {violation.message}" for violation in broken)
        raise InputError(f"AIRS would reject this definition: fix it first\n{limits}")


@contextmanager
def open_verdicts() -> Iterator[SqliteVerdicts]:
    """Open the cache of verdicts, and close it at the end.

    Warns if it cannot store verdicts, or no longer can.
    """

    def warn() -> None:
        diagnostics.warn(
            f"{cache.path}: cannot be used, so verdicts are not cached\n"
            "  free some space, make the folder writable, or name another with GUARDTUI_CACHE"
        )

    cache = SqliteVerdicts(cache_folder())
    worked = cache.works
    if not worked:
        warn()
    try:
        yield cache
        if worked and not cache.works:
            warn()
    finally:
        cache.close()


def _difference(profile: str, plan: Plan) -> str:
    """Return how the deployed definition differs from this one."""
    remedy = "\n  to deploy it: " + "; ".join(plan.changes)
    if plan.unknown is not None:
        return (
            f"whether profile {profile} has this definition is unknown: it pins revision "
            f"{plan.unknown} of the topic, whose text AIRS does not show{remedy}"
        )
    return (
        f"profile {profile} does not have this definition: the verdicts are on what it has{remedy}"
    )


def say_work(
    scanner: AirsScanner,
    topic: Topic,
    prompts: PromptSet,
    *,
    rate: float | None,
    fresh: bool,
    batches: bool,
) -> None:
    """Report the number of calls of a scan, its duration if known, and the risk of throttling."""
    texts = prompts.prompts.to_list()
    known = scanner.known(topic, prompts).tolist()
    calls = len({text for text, cached in zip(texts, known, strict=True) if not cached})
    count = f"{len(texts)} prompt{'s' * (len(texts) != 1)}"
    if not calls:
        diagnostics.note(f"no calls: the verdicts on {count} are in the cache")
        return
    message = f"{_calls(calls, batches)} for {count}"
    if not scanner.settings.revision and not fresh:
        message = f"up to {message}: the first shows what is cached"
    elif kept := sum(known):
        message += f", {kept} of them from the cache"
    if rate is not None and not batches:
        message += f", about {_duration(calls / rate)} at {rate:g} a second"
    diagnostics.note(message)
    if scanner.concurrency > SAFE_CONCURRENCY:
        diagnostics.note(
            f"{scanner.concurrency} concurrent requests: above {SAFE_CONCURRENCY} AIRS may "
            "throttle (429); throttled requests are retried, with less concurrency"
        )


def _calls(count: int, batches: bool) -> str:

    if batches:
        count = -(-count // BATCH_AT_MOST)
        return f"{count} batch{'es' * (count != 1)} of up to {BATCH_AT_MOST}"
    return f"{count} call{'s' * (count != 1)}"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def say_incomplete(evaluation: Evaluation, *, fresh: bool, allowed: bool) -> None:
    """Report the number of prompts without a verdict, the most frequent reason, and a remedy.

    A warning if errors are `allowed`, an error otherwise; prompts not asked are always an error.
    """
    metrics, errors = evaluation.metrics, evaluation.verdicts.errors
    remedy = "run the same command again" + (" without --fresh" if fresh else "")
    say = diagnostics.warn if allowed and not metrics.open else diagnostics.error
    message = f"{metrics.missing} of {metrics.prompts} prompts have no verdict"
    if metrics.open:
        message += f", {metrics.open} of them {'was' if metrics.open == 1 else 'were'} not asked"
    for reason, count in Counter(errors.values()).most_common(1):
        message += f"; {count} of them: {reason}"
    say(f"{message}\n  verdicts received are cached: {remedy} to scan only the others")
