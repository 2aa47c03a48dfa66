"""Scans by AIRS: credentials, profile, deployed definition, number of calls."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.app.airs.revert_steps import former_topic
from guardtui.cli import airs_service, diagnostics, signals
from guardtui.cli.airs_service import known_revisions
from guardtui.cli.diagnostics import InputError
from guardtui.cli.options import RunOptions
from guardtui.cli.scans.run import Doubt, ScanJob, evaluated
from guardtui.cli.scans.services import open_verdicts, say_incomplete
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.topic import Topic, violations
from guardtui.files.command_lines import command_line
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
    doubt: Doubt | None = field(default=None, init=False)
    remote = True
    template = ""
    engine = None
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
        """Return a scanner of the profile, which has this definition unless there is a `doubt`.

        Raises `InputError` if it has another one, and ScannerError.
        """
        connection = AirsConnection(
            self.access, rate=self.rate, batches=self.batches, revisions=known_revisions()
        )
        profile = inert(self.access.profile, characters=60)
        plan = None
        try:
            try:
                plan = await connection.look(job.topic)
            except PolicyError as problem:
                # The scan can still run: only the changes that applying would make are unknown.
                self.doubt = Doubt(f"{_UNKNOWN}: {problem}")
                now = await connection.active()
            else:
                self.doubt = _doubt(plan) or _renamed(plan, connection, job)
                now = connection.in_effect(job.topic, plan)
        except ServiceError as error:
            raise AirsError(
                f"the profile {profile} could not be looked up: {error.message}\n"
                "  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret no "
                "profile is looked up"
            ) from error
        except AirsError as error:
            raise InputError(str(error)) from error
        if plan is not None and plan.difference:
            raise InputError(_refusal(profile, plan, job))
        if self.doubt is not None:
            diagnostics.warn(f"profile {profile}: {self.doubt.text}")
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


_UNKNOWN = "whether the profile has this definition is unknown"


def _doubt(plan: Plan | None) -> Doubt | None:
    """Return why it is unknown whether the profile has the definition; None if it is known.

    Without a service account nothing can be looked up, and verdicts are recorded as in the app.
    """
    if plan is None:
        return Doubt(f"{_UNKNOWN}: no service account is set, so it is not looked up", False)
    if plan.unknown is None:
        return None
    revision = f"revision {plan.unknown} of the topic, whose text AIRS does not show"
    return Doubt(f"{_UNKNOWN}: it has {revision}")


def _renamed(plan: Plan | None, connection: AirsConnection, job: ScanJob) -> Doubt | None:
    """Return that the profile has the topic under its former name too, or None."""
    if plan is None:
        return None
    former = former_topic(job.topic_path, connection, job.topic, plan.profile)
    return None if former is None else Doubt(former.text, False, former.remedy)


def _refusal(profile: str, plan: Plan, job: ScanJob) -> str:
    """Return why verdicts of the profile would not be about this definition, and remedies."""
    words = job.guardrail_words
    deploy = command_line("guardtui", "topics", "apply", job.topic_path, *words)
    get = shlex.join(["guardtui", "topics", "get", job.topic.name, *words])
    source = job.prompts.source
    prompts = source if Path(source).exists() else "-"
    measure = shlex.join(["guardtui", "eval", "deployed.yaml", "--prompts", prompts])
    remedies = [f"to deploy this one: {deploy}"]
    if plan.is_newest:
        remedies.append(
            f"to measure that of the profile: {get} > deployed.yaml && "
            f"{measure} {shlex.join(words)}".rstrip()
        )
    lines = (f"profile {profile} has another definition: {plan.difference}", "nothing was scanned")
    return "\n  ".join((*lines, *remedies))


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
