"""One profile of AIRS as a session uses it: lookup, deployment of a definition, a scanner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from guardtui.domain.guardrail import Guardrail
from guardtui.domain.topic import Topic
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import inert
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.policy_paths import PolicyPath, guardrails, is_topic, members
from guardtui.scanners.airs.propagation import (
    ProbeReport,
    PropagationResult,
    canary,
    wait_until_live,
)
from guardtui.scanners.airs.scanner import ActiveRevision, AirsScanner
from guardtui.scanners.airs.scans import ScanClient
from guardtui.scanners.airs.topic_revisions import SeenRevisions, TopicRevisions
from guardtui.scanners.airs.undo_journal import Journal, Reverted, UndoRecord
from guardtui.scanners.base import VerdictCache


class AirsConnection:
    """One security profile of one tenant, by its current settings.

    Connections are open only during a call. `revisions` remembers the texts of topic revisions, by
    default for the lifetime of this object. Scans use at most `rate` requests a second, or with
    `batches` the asynchronous API. Raises AirsError without a profile, and, if `scans`,
    without a credential for scans.
    """

    def __init__(
        self,
        settings: AirsSettings,
        *,
        rate: float | None = None,
        batches: bool = False,
        scans: bool = True,
        clock: Clock = CLOCK,
        revisions: TopicRevisions | None = None,
    ) -> None:
        if scans:
            settings.scan_credential()
        self.profile = settings.required_profile
        """Name of the profile as given; not inert."""
        self.settings = settings
        self.rate, self.batches = rate, batches
        self._clock = clock
        self._revisions = SeenRevisions() if revisions is None else revisions

    @property
    def guardrail(self) -> Guardrail:
        """The profile as a guardrail."""
        return self.settings.guardrail

    @property
    def title(self) -> str:
        """Profile and host in a few words; safe to show anywhere."""
        return f"{inert(self.profile, characters=60)} at {self.settings.scan_endpoint.host}"

    @property
    def key(self) -> str:
        """Identifies this profile among others in a session."""
        settings = self.settings
        # Tenants may have profiles with the same name.
        tenant = f"{settings.tsg_id} " if settings.tenant else ""
        return f"{settings.management_endpoint} {tenant}{self.profile}"

    @property
    def manages(self) -> bool:
        """Return whether a credential for changing topics is set."""
        return bool(self.settings.client_id or self.settings.client_secret)

    def management(self) -> ManagementClient:
        """Return a client for topics and profiles, to be closed.

        Raises AirsError naming missing settings.
        """
        return ManagementClient(self.settings.management(), revisions=self._revisions)

    async def look(
        self, topic: Topic, *, path: PolicyPath | None = None, set_default: bool = False
    ) -> Plan | None:
        """Return what applying this definition would do now; None without a service account.

        Raises AirsError and ServiceError.
        """
        if not self.manages:
            return None
        async with self.management() as client:
            return await lifecycle.plan(
                client, topic, self.profile, path=path, set_default=set_default
            )

    async def apply(
        self,
        topic: Topic,
        shown: Plan | None = None,
        *,
        path: PolicyPath | None = None,
        set_default: bool = False,
        journal: Journal | None = None,
        reuse: bool = False,
    ) -> Applied:
        """Apply the definition as `lifecycle.apply`. Raises AirsError and ServiceError."""
        async with self.management() as client:
            return await lifecycle.apply(
                client,
                topic,
                self.profile,
                shown=shown,
                path=path,
                set_default=set_default,
                journal=journal,
                reuse=reuse,
            )

    async def revert(self, before: UndoRecord, *, send: bool = True) -> Reverted:
        """Restore the state before a change; unless `send`, only plan it.

        Raises AirsError and ServiceError.
        """
        async with self.management() as client:
            return await lifecycle.revert(client, before, send=send)

    async def active(self) -> ActiveRevision | None:
        """Return the active revision, of whatever topics; None without a service account.

        Raises AirsError and ServiceError.
        """
        if not self.manages:
            return None
        async with self.management() as client:
            row = await lifecycle.newest(client, self.profile)
        return ActiveRevision(row, fingerprint_of(row, ""))

    async def wait(
        self,
        topic: Topic,
        profile: SecurityProfile,
        *,
        limit: float = 60.0,
        as_expected: bool = True,
        report: ProbeReport | None = None,
    ) -> PropagationResult:
        """Probe until scans are judged by this revision of the profile. Raises ServiceError.

        With `as_expected`, a topic to block must also stop the probe.
        """
        prompt, expected = canary(topic)
        one_at_a_time = AdaptiveLimit(1, clock=self._clock)
        async with ScanClient(self.settings, limit=one_at_a_time, clock=self._clock) as client:
            return await wait_until_live(
                client,
                prompt,
                profile_id=profile.profile_id,
                expected=expected if as_expected else None,
                limit=limit,
                report=report,
                clock=self._clock,
            )

    def planned(self, topic: Topic, plan: Plan) -> ActiveRevision:
        """Return the state after a plan is carried out, with the current revision."""
        topic_id = plan.topic.topic_id if plan.topic is not None else ""
        profile = plan.profile.model_copy(update={"policy": plan.policy})
        return ActiveRevision(plan.profile, fingerprint_of(profile, topic_id, topic))

    def in_effect(self, topic: Topic, state: Plan | Applied | None) -> ActiveRevision | None:
        """Return the active revision according to a plan or its result; None without either."""
        if state is None:
            return None
        known = state.topic
        if known is None:
            return ActiveRevision(state.profile, fingerprint_of(state.profile, ""))
        # A plan with changes is not carried out: its pin counts as it is.
        same = isinstance(state, Applied) or not state.changes
        fingerprint = fingerprint_of(state.profile, known.topic_id, topic if same else None)
        return ActiveRevision(state.profile, fingerprint)

    def limit(self) -> AdaptiveLimit:
        """Return a limit for the scans of several scanners."""
        rate = None if self.rate is None else Rate.per_second(self.rate)
        return AdaptiveLimit(self.settings.concurrency, rate=rate, clock=self._clock)

    def scanner(
        self,
        now: ActiveRevision | None,
        *,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        companions: Collection[str] = (),
        limit: AdaptiveLimit | None = None,
    ) -> AirsScanner:
        """Return a scanner that uses the active revision, or any if it is unknown."""
        return AirsScanner(
            self.settings,
            now,
            rate=self.rate,
            cache=cache,
            fresh=fresh,
            companions=companions,
            batches=self.batches,
            limit=limit,
            clock=self._clock,
        )


def fingerprint_of(profile: SecurityProfile, topic_id: str, topic: Topic | None = None) -> str:
    """Return 64 hex digits that identify the whole policy of a profile revision.

    `topic` is the definition of the pinned revision, if known. It replaces the pin, so that a
    profile revision that only pins another revision with the same text has the same fingerprint.
    Every other topic counts by its id and revision.
    """
    policy = json.loads(json.dumps(profile.policy))
    if topic is not None:
        for _, item in guardrails(policy):
            for _, member in members(item):
                if is_topic(member, topic_id):
                    member["revision"] = topic.fingerprint
    content = json.dumps([profile.active, policy], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
