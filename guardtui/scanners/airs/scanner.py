"""The AIRS scanner: each prompt is sent once per definition and profile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdict, Verdicts
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.http.pool import run_all
from guardtui.scanners.airs.answers import no_verdict
from guardtui.scanners.airs.batches import scan_in_batches
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.scans import ScanClient
from guardtui.scanners.base import (
    Report,
    ScannerError,
    VerdictCache,
    verdict_key,
)
from guardtui.scanners.remote import RemoteRun, Results

OTHER_REVISION = "another revision of the profile judged; a change may not be in effect everywhere"


@dataclass(frozen=True, slots=True)
class ActiveRevision:
    """A profile revision that judges scans, and its fingerprint (`fingerprint_of`)."""

    profile: SecurityProfile
    fingerprint: str = ""


@dataclass(slots=True)
class _ScanContext:
    """Definition, revision and epoch of one scan; `revision` is empty until it is known."""

    topic: Topic
    revision: str
    epoch: int


class AirsScanner:
    """Scans prompts with AIRS, by the active revision of a security profile.

    The definition is not applied to the profile here. `now` is the profile's newest revision, if it
    was looked up; verdicts of other revisions are then rejected. Without it, the first prompt is
    sent alone to learn the revision. Verdicts are cached under its fingerprint, so that pinning the
    same definition again costs nothing.

    `rate` is scans per second; a `limit` is shared with other scanners. Unless `fresh`, the `cache`
    is read before requests are sent; each verdict is cached as soon as it arrives, errors are not.
    `companions` are names of other topics that may stop a prompt. `timeout` is in seconds per
    attempt. With `batches`, prompts are submitted 20 at a time and their results are queried later,
    which is slower and needs fewer requests; rows of a batch in an unknown state get an error and
    are not sent again in this scan.

    Raises AirsError without a credential or profile, ValueError for an invalid rate.
    """

    live = False

    def __init__(
        self,
        airs: AirsSettings,
        now: ActiveRevision | None = None,
        *,
        rate: float | None = None,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        companions: Collection[str] = (),
        batches: bool = False,
        limit: AdaptiveLimit | None = None,
        timeout: float = 60.0,
        clock: Clock = CLOCK,
    ) -> None:
        airs.scan_credential()  # a missing credential fails here, not during a scan
        self._airs, self._now, self._profile = airs, now, airs.required_profile
        self._revision = "" if now is None else now.profile.profile_id.lower()
        self._rate = None if rate is None else Rate.per_second(rate)
        self._cache, self._fresh, self._clock = cache, fresh, clock
        self._companions = frozenset(companions)
        self._batches, self._timeout = batches, timeout
        self._shared, self._limit = limit, limit
        self._held = False

    @property
    def settings(self) -> ScannerSettings:
        revision = ""
        if self._now is not None and self._revision:
            revision = f"{self._now.profile.revision} ({inert(self._revision)})"
        return ScannerSettings(self._airs.guardrail, revision=revision)

    @property
    def concurrency(self) -> int:
        """Maximum concurrent requests while AIRS does not throttle."""
        return self._airs.concurrency

    def hold(self, held: bool) -> None:
        """Pause or resume sending; requests in flight are completed."""
        self._held = held
        if self._limit is not None:
            self._limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet) -> NDArray[np.bool_]:
        """Return which prompts have a cached verdict, bool [N]; none if the revision is unknown."""
        known = np.zeros(len(prompts), bool)
        if self._cache is None or self._fresh or not self._revision:
            return known
        for row, text in enumerate(prompts.prompts.to_list()):
            known[row] = self._cache.find(self._key(topic, text, self._revision)) is not None
        return known

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
        settled: Callable[[int, Verdict], None] | None = None,
    ) -> Verdicts:
        """Scan as `RemoteScanner.scan`; `settled` gets each row with its verdict at once."""
        limit = self._limit = self._shared or AdaptiveLimit(
            self._airs.concurrency, rate=self._rate, clock=self._clock
        )
        if self._held:
            limit.hold(True)

        def note(verdict: Verdict) -> str:
            return self._note(topic, verdict)

        run = RemoteRun(prompts, rows, report, limit, note=note, settled=settled)
        context = _ScanContext(topic, self._revision, epoch)
        async with ScanClient(
            self._airs, limit=limit, timeout=self._timeout, clock=self._clock
        ) as client:
            while run.waiting and not (context.revision or run.verdicts or run.given_up):
                first = [run.waiting.pop(0)]
                await self._collect(run, first, self._one_by_one(client, run, context, first))
            if self._cache is not None and not self._fresh and context.revision:
                cache, revision = self._cache, context.revision
                await run.take_known(
                    lambda text: cache.find(self._key(topic, text, revision, epoch))
                )
            send = self._in_batches if self._batches else self._one_by_one
            await self._collect(run, run.waiting, send(client, run, context, run.waiting))
        return run.finished()

    async def _collect(self, run: RemoteRun, texts: Sequence[str], results: Results) -> None:
        try:
            await run.collect(texts, results)
        except ScannerError as error:
            raise AirsError(str(error)) from error

    def _note(self, topic: Topic, verdict: Verdict) -> str:
        """Return a note for the author; with companions, another matched topic is expected."""
        other = verdict.topics and topic.name not in verdict.topics
        if not other or self._companions:
            return verdict.note
        names = ", ".join(inert(name, characters=60) for name in verdict.topics[:3])
        return "; ".join(filter(None, (f"stopped by another topic: {names}", verdict.note)))

    def _one_by_one(
        self, client: ScanClient, run: RemoteRun, context: _ScanContext, texts: Sequence[str]
    ) -> Results:
        async def call(text: str) -> Verdict:
            verdict = await client.scan(text)
            # Cached here and not by the reader of the results: a cancelled run must not lose it.
            return self._judged(context, text, verdict)

        return run_all(texts, call, client.limit, counters=run.counters)

    async def _in_batches(
        self, client: ScanClient, run: RemoteRun, context: _ScanContext, texts: Sequence[str]
    ) -> Results:
        async with contextlib.aclosing(scan_in_batches(client, list(enumerate(texts)))) as outcomes:
            async for index, outcome in outcomes:
                run.counters.count(isinstance(outcome, ServiceError))
                if isinstance(outcome, ServiceError):
                    yield index, outcome
                else:
                    yield index, self._judged(context, texts[index], outcome)

    def _judged(self, context: _ScanContext, text: str, answer: Verdict) -> Verdict:
        """Return the verdict on the topic, which is cached at once."""
        revision = answer.revision
        context.revision = context.revision or revision
        if not answer.decided:
            return answer
        verdict = self._counted(answer)
        if revision and self._cache is not None:
            self._cache.keep(self._key(context.topic, text, revision, context.epoch), verdict)
        other = revision and revision != context.revision
        return no_verdict(OTHER_REVISION) if other else verdict

    def _counted(self, answer: Verdict) -> Verdict:
        """Return the verdict on one topic: only topics that stopped the prompt count."""
        return answer if answer.triggered is Triggered.YES else replace(answer, topics=())

    def _key(self, topic: Topic, text: str, revision: str, epoch: int = 1) -> bytes:
        """Return the cache key of a verdict: profile revision, definition, prompt and epoch."""
        now = self._now
        fingerprint = now.fingerprint if now is not None and revision == self._revision else ""
        return verdict_key(
            "airs",
            str(self._airs.scan_endpoint),
            self._profile,
            fingerprint or revision,
            topic.fingerprint,
            topic.intent.value,
            text,
            *([str(epoch)] if epoch > 1 else []),
        )
