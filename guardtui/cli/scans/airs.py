"""Scans by AIRS: credentials, profile, deployed definition, number of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.app.airs.revert_steps import command_line
from guardtui.cli import airs_service, diagnostics, signals
from guardtui.cli.airs_service import known_revisions
from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import RunOptions
from guardtui.cli.scans.run import ScanJob, evaluated
from guardtui.cli.scans.services import open_verdicts, say_incomplete
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import ThresholdFit
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
from guardtui.session.caches import SqliteVerdicts

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail

SAFE_CONCURRENCY = 5
"""Maximum concurrent requests without throttling, by the default of the vendor's own tool."""


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> AirsRun:
    """Return the run of a profile of AIRS. Raises `InputError` naming missing settings."""
    configuration = guardrail.configuration
    assert isinstance(configuration, AirsConfiguration)  # noqa: S101 - by its kind
    access = airs_service.load_settings(**configuration.flags)
    with airs_service.failures_told():
        AirsConnection(access)
    return AirsRun(access, configuration.rate, options.fresh, configuration.batch)


@dataclass
class AirsRun:
    """AIRS with the options of the command line, and its profile as deployed."""

    access: AirsSettings
    rate: float | None
    fresh: bool
    batches: bool
    other_definition: bool = field(default=False, init=False)
    remote = True
    template = ""
    stored_template = None

    @property
    def guardrail(self) -> Guardrail:
        """The profile."""
        return AirsConnection(self.access).scanner(None).settings.guardrail

    def evaluate(self, job: ScanJob) -> tuple[Evaluation, ThresholdFit | None]:
        """Evaluate a topic with the profile, which has no threshold.

        Raises `InputError` and ScannerError.
        """
        require_sendable(job.topic)
        with open_verdicts() as cache:

            async def evaluate() -> Evaluation:
                scanner = await self._scanner(job, cache)
                if job.begin is None:
                    self._say_work(scanner, job)
                return await evaluated(scanner, job)

            return signals.run(evaluate()), None

    async def _scanner(self, job: ScanJob, cache: SqliteVerdicts) -> AirsScanner:
        """Return a scanner of the profile as deployed, if that can be looked up.

        Warns if the deployed definition differs. Raises `InputError` and ScannerError.
        """
        connection = AirsConnection(
            self.access, rate=self.rate, batches=self.batches, revisions=known_revisions()
        )
        profile = inert(self.access.profile, characters=60)
        try:
            try:
                plan = await connection.look(job.topic)
            except PolicyError as problem:
                # The scan can still run: only the changes that applying would make are unknown.
                diagnostics.warn(
                    f"whether profile {profile} has this definition is unknown: {problem}"
                )
                now = await connection.active()
            else:
                now = connection.in_effect(job.topic, plan)
                if plan is not None and plan.changes:
                    self.other_definition = plan.unknown is None
                    diagnostics.warn(_difference(job.topic_path, connection, plan))
        except ServiceError as error:
            raise AirsError(
                f"the profile {profile} could not be looked up: {error.message}\n"
                "  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret no "
                "profile is looked up"
            ) from error
        except AirsError as error:
            raise InputError(str(error)) from error
        companions = [topic.name for topic in job.companions.topics]
        return connection.scanner(now, cache=cache, fresh=self.fresh, companions=companions)

    def _say_work(self, scanner: AirsScanner, job: ScanJob) -> None:
        """Report the number of calls, their duration if known, and the risk of throttling."""
        texts = job.scanned.prompts.to_list()
        known = scanner.known(job.topic, job.scanned).tolist()
        calls = len({text for text, cached in zip(texts, known, strict=True) if not cached})
        count = count_text(len(texts), "prompt")
        if not calls:
            diagnostics.note(f"no calls: the verdicts on {count} are in the cache")
            return
        message = f"{count_text(calls, 'call')} for {count}"
        if self.batches:
            batches = count_text(-(-calls // BATCH_AT_MOST), "batch", "batches")
            message = f"{batches} of up to {BATCH_AT_MOST} for {count}"
        if not scanner.settings.revision and not self.fresh:
            message = f"up to {message}: the first shows what is cached"
        elif kept := sum(known):
            message += f", {kept} of them from the cache"
        if self.rate is not None and not self.batches:
            message += f", about {_duration(calls / self.rate)} at {self.rate:g} a second"
        diagnostics.note(message)
        if scanner.concurrency > SAFE_CONCURRENCY:
            diagnostics.note(
                f"{scanner.concurrency} concurrent requests: above {SAFE_CONCURRENCY} AIRS may "
                "throttle (429); throttled requests are retried, with less concurrency"
            )

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy."""
        say_incomplete(evaluation, fresh=self.fresh, allowed=allowed)


def require_sendable(topic: Topic) -> None:
    """Raise `InputError` for a definition that AIRS would reject."""
    if broken := violations(topic):
        limits = "\n".join(f"  {violation.message}" for violation in broken)
        raise InputError(f"AIRS would reject this definition: fix it first\n{limits}")


def _difference(path: Path, connection: AirsConnection, plan: Plan) -> str:
    """Return how the deployed definition differs from this one, and how to deploy this one."""
    profile = inert(connection.profile, characters=60)
    line = command_line("apply", path, connection)
    remedy = f"\n  '{line}' deploys it: {'; '.join(plan.changes)}"
    if plan.unknown is not None:
        return (
            f"whether profile {profile} has this definition is unknown: it pins revision "
            f"{plan.unknown} of the topic, whose text AIRS does not show{remedy}"
        )
    return (
        f"profile {profile} does not have this definition: the verdicts are on what it has{remedy}"
    )


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
