"""AIRS as a session uses it: what a profile has, a definition put into effect, a scanner for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from guardtui.domain.topic import Topic
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import inert
from guardtui.http.limits import AdaptiveLimit
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.effect import effect_of
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Applied, Before, Journal, Plan, Reverted
from guardtui.scanners.airs.live import Live, Told, canary, wait_until_live
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.places import Place
from guardtui.scanners.airs.scanner import AirsScanner
from guardtui.scanners.airs.scans import ProfileChoice, ScanClient
from guardtui.scanners.airs.topic_revisions import SeenRevisions, TopicRevisions
from guardtui.scanners.base import VerdictCache


@dataclass(frozen=True, slots=True)
class InEffect:
    """A profile revision that is to judge, and what it does (`effect_of`)."""

    profile: SecurityProfile
    effect: str


class AirsConnection:
    """One security profile of one tenant, by the settings of this moment. Opens connections only
    for the length of a call. `revisions` remembers the texts of topic revisions, by default for as
    long as the connection exists. Raises AirsError without a profile, and without a credential for
    scans, unless there are to be none (`scans`).
    """

    def __init__(
        self,
        settings: AirsSettings,
        *,
        rate: float | None = None,
        scans: bool = True,
        clock: Clock = CLOCK,
        revisions: TopicRevisions | None = None,
    ) -> None:
        if scans:
            settings.scan_credential()
        if not settings.profile:
            raise AirsError(
                "no security profile is named: give --profile NAME, or set PANW_AI_SEC_PROFILE_NAME"
            )
        self._choice = ProfileChoice(settings.profile)
        self.settings = settings
        self.rate = rate
        self._clock = clock
        self._revisions = SeenRevisions() if revisions is None else revisions

    @property
    def profile(self) -> str:
        """The profile's name, as it was given: not inert."""
        return self.settings.profile

    @property
    def place(self) -> str:
        """Where this is, in a few words that may be shown anywhere."""
        return f"{inert(self.profile)[:60]} at {self.settings.scan_endpoint.host}"

    @property
    def key(self) -> str:
        """What names this profile among others, for what a session remembers of it."""
        settings = self.settings
        # Tenants may have profiles of one name.
        tenant = f"{settings.tsg_id} " if settings.tenant else ""
        return f"{settings.management_endpoint} {tenant}{self.profile}"

    @property
    def manages(self) -> bool:
        """Whether there is any credential to change topics with."""
        return bool(self.settings.client_id or self.settings.client_secret)

    def management(self) -> ManagementClient:
        """A client for topics and profiles; close it. Raises AirsError naming what is missing."""
        return ManagementClient(self.settings.management(), revisions=self._revisions)

    async def look(
        self, topic: Topic, *, place: Place | None = None, set_default: bool = False
    ) -> Plan | None:
        """What applying this definition would do now; None without a service account.

        Raises AirsError and ServiceError.
        """
        if not self.manages:
            return None
        async with self.management() as client:
            return await lifecycle.plan(
                client, topic, self.profile, place=place, set_default=set_default
            )

    async def apply(
        self,
        topic: Topic,
        shown: Plan | None = None,
        *,
        place: Place | None = None,
        set_default: bool = False,
        journal: Journal | None = None,
    ) -> Applied:
        """Put the definition into effect. Raises AirsError and ServiceError."""
        async with self.management() as client:
            return await lifecycle.apply(
                client,
                topic,
                self.profile,
                shown=shown,
                place=place,
                set_default=set_default,
                journal=journal,
            )

    async def look_back(self, before: Before) -> Reverted:
        """What going back would do now; nothing is sent. Raises AirsError and ServiceError."""
        async with self.management() as client:
            return await lifecycle.plan_back(client, before)

    async def revert(self, before: Before) -> Reverted:
        """Go back to what was before a change. Raises AirsError and ServiceError."""
        async with self.management() as client:
            return await lifecycle.revert(client, before)

    async def seen(self) -> InEffect | None:
        """What is in effect, of whatever topic; None without a service account.

        Raises AirsError and ServiceError.
        """
        if not self.manages:
            return None
        async with self.management() as client:
            row = await lifecycle.newest(client, self.profile)
        return InEffect(row, effect_of(row, ""))

    async def wait(
        self,
        topic: Topic,
        profile: SecurityProfile,
        *,
        limit: float = 60.0,
        as_expected: bool = True,
        told: Told | None = None,
    ) -> Live:
        """Probe until scans are judged by this revision of the profile. Raises ServiceError.

        With `as_expected` the probe must be stopped as well, where the topic says that it is.
        """
        prompt, expected = canary(topic)
        allowed = AdaptiveLimit(1, clock=self._clock)
        async with ScanClient(
            self.settings, self._choice, limit=allowed, clock=self._clock
        ) as client:
            return await wait_until_live(
                client,
                prompt,
                profile_id=profile.profile_id,
                expected=expected if as_expected else None,
                limit=limit,
                told=told,
                clock=self._clock,
            )

    def planned(self, topic: Topic, plan: Plan) -> InEffect:
        """What would be in effect once a plan is carried out, with the revision of now."""
        topic_id = plan.topic.topic_id if plan.topic is not None else ""
        there = plan.profile.model_copy(update={"policy": plan.policy})
        return InEffect(plan.profile, effect_of(there, topic_id, topic))

    def in_effect(self, topic: Topic, state: Plan | Applied | None) -> InEffect | None:
        """The revision that judges by what was looked up or done; None where nothing was."""
        if state is None:
            return None
        known = state.topic
        if known is None:
            return InEffect(state.profile, effect_of(state.profile, ""))
        # What is planned is not in effect: the pin then counts as it is.
        same = isinstance(state, Applied) or not state.changes
        effect = effect_of(state.profile, known.topic_id, topic if same else None)
        return InEffect(state.profile, effect)

    def scanner(
        self,
        now: InEffect | None,
        *,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        companions: Collection[str] = (),
        batches: bool = False,
    ) -> AirsScanner:
        """A scanner that asks by the revision in effect; where it is not known, by any."""
        return AirsScanner(
            self.profile,
            airs=self.settings,
            revision="" if now is None else now.profile.profile_id,
            number=None if now is None else now.profile.revision,
            effect="" if now is None else now.effect,
            rate=self.rate,
            cache=cache,
            fresh=fresh,
            companions=companions,
            batches=batches,
            clock=self._clock,
        )
