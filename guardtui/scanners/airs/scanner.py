"""The scanner that asks Prisma AIRS: a prompt is sent once for a definition and its profile."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import ScannerSettings
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
from guardtui.scanners.airs.scans import ProfileChoice, ScanClient
from guardtui.scanners.base import (
    Report,
    ScannerError,
    VerdictCache,
    verdict_key,
)
from guardtui.scanners.remote import RemoteRun, Results

OTHER_REVISION = "another revision of the profile judged; a change may not be in effect everywhere"


@dataclass(slots=True)
class _Judging:
    """What judges in one scan; `revision` is empty until it is known."""

    topic: Topic
    revision: str
    epoch: int


class AirsScanner:
    """Asks AIRS for verdicts on prompts, by what a security profile has in effect now.

    The definition is not put into the profile here. `profile` is its name, by default that of the
    settings. `revision` is the id of the profile's newest revision and `number` its count, where
    they were looked up: verdicts of another revision do not count then. Where they were not, the
    first prompt is sent to learn it. `effect` names what that revision does (`effect_of`): where
    it is given, verdicts are kept under it, so that the same definition, pinned again, is not paid
    for again. `rate` is scans a second. A `cache` is asked before the service unless `fresh`, and
    keeps each verdict as soon as it comes, errors never. `companions` are names of topics that may
    stop a prompt as well. `timeout` is for one attempt, in seconds. With `batches` prompts are
    submitted five at a time and asked for later, which is slower and counts fewer requests; rows of
    a batch whose fate is unknown have an error, and are not sent again in this scan. Raises
    AirsError without a credential or profile, ValueError for a rate that is none.
    """

    live = False

    def __init__(
        self,
        profile: str = "",
        *,
        airs: AirsSettings | None = None,
        revision: str = "",
        number: int | None = None,
        effect: str = "",
        rate: float | None = None,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        companions: Collection[str] = (),
        batches: bool = False,
        timeout: float = 60.0,
        clock: Clock = CLOCK,
    ) -> None:
        self._airs = airs if airs is not None else AirsSettings.load()
        self._airs.scan_credential()  # without one it fails here, not after the work has begun
        self._choice = ProfileChoice(profile or self._airs.profile)
        self._revision, self._number = revision.lower(), number
        self._effect = effect if revision else ""
        self._rate = None if rate is None else Rate.per_second(rate)
        self._cache, self._fresh, self._clock = cache, fresh, clock
        self._companions = frozenset(companions)
        self._batches, self._timeout = batches, timeout
        self._limit: AdaptiveLimit | None = None
        self._held = False

    @property
    def settings(self) -> ScannerSettings:
        number = "" if self._number is None else f"{self._number} "
        revision = f"{number}({inert(self._revision)})" if self._revision else ""
        # A service on this machine is the sandbox, which must not pass for AIRS.
        where = " on this machine" if self._airs.scan_endpoint.loopback else ""
        identity = f"airs{where}, profile {inert(self._choice.name)}"
        return ScannerSettings("airs", identity, revision=revision)

    @property
    def concurrency(self) -> int:
        """How many requests are sent at once, as long as AIRS does not throttle."""
        return self._airs.concurrency

    def hold(self, held: bool) -> None:
        """Send nothing more for now, or go on; what is under way is finished."""
        self._held = held
        if self._limit is not None:
            self._limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet) -> NDArray[np.bool_]:
        """Which prompts the cache answers, bool [N]; none while the revision is not known."""
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
    ) -> Verdicts:
        limit = AdaptiveLimit(self._airs.concurrency, rate=self._rate, clock=self._clock)
        self._limit = limit
        limit.hold(self._held)

        def note(verdict: Verdict) -> str:
            return self._note(topic, verdict)

        run = RemoteRun(prompts, rows, report, limit, note=note)
        judging = _Judging(topic, self._revision, epoch)
        async with ScanClient(
            self._airs, self._choice, limit=limit, timeout=self._timeout, clock=self._clock
        ) as client:
            while run.waiting and not (judging.revision or run.verdicts or run.given_up):
                first = [run.waiting.pop(0)]
                await self._collect(run, first, self._at_once(client, run, judging, first))
            if self._cache is not None and not self._fresh and judging.revision:
                cache, revision = self._cache, judging.revision
                await run.take_known(
                    lambda text: cache.find(self._key(topic, text, revision, epoch))
                )
            ask = self._in_batches if self._batches else self._at_once
            await self._collect(run, run.waiting, ask(client, run, judging, run.waiting))
        return run.finished()

    async def _collect(self, run: RemoteRun, texts: Sequence[str], results: Results) -> None:
        try:
            await run.collect(texts, results)
        except ScannerError as error:
            raise AirsError(str(error)) from error

    def _note(self, topic: Topic, verdict: Verdict) -> str:
        """What an author should know; with companion topics another one is no surprise."""
        other = verdict.topics and topic.name not in verdict.topics
        if not other or self._companions:
            return verdict.note
        names = ", ".join(inert(name)[:60] for name in verdict.topics[:3])
        return "; ".join(filter(None, (f"stopped by another topic: {names}", verdict.note)))

    def _at_once(
        self, client: ScanClient, run: RemoteRun, judging: _Judging, texts: Sequence[str]
    ) -> Results:
        async def call(text: str) -> Verdict:
            # The topic is left out: that another one stopped it is told when the verdict is read,
            # as it depends on the companions of now.
            answer = await client.scan(text)
            # Kept here and not by who reads the results: a cancelled run must not lose it.
            return self._judged(judging, text, answer)

        return run_all(texts, call, client.limit, counters=run.counters)

    async def _in_batches(
        self, client: ScanClient, run: RemoteRun, judging: _Judging, texts: Sequence[str]
    ) -> Results:
        async with contextlib.aclosing(scan_in_batches(client, list(enumerate(texts)))) as outcomes:
            async for index, outcome in outcomes:
                run.counters.count(isinstance(outcome, ServiceError))
                if isinstance(outcome, ServiceError):
                    yield index, outcome
                else:
                    yield index, self._judged(judging, texts[index], outcome)

    def _judged(self, judging: _Judging, text: str, answer: Verdict) -> Verdict:
        """The verdict that counts, stored in the cache as soon as it comes."""
        revision = answer.revision
        judging.revision = judging.revision or revision
        if not answer.decided:
            return answer
        verdict = self._counted(answer)
        if revision and self._cache is not None:
            self._cache.keep(self._key(judging.topic, text, revision, judging.epoch), verdict)
        other = revision and revision != judging.revision
        return no_verdict(OTHER_REVISION) if other else verdict

    def _counted(self, answer: Verdict) -> Verdict:
        """The verdict on one topic: only topics that stopped the prompt count."""
        return answer if answer.triggered is Triggered.YES else replace(answer, topics=())

    def _key(self, topic: Topic, text: str, revision: str, epoch: int = 1) -> bytes:
        """A revision pins topics at their revisions; the definition is what they are held to be."""
        effect = self._effect if revision == self._revision else ""
        return verdict_key(
            "airs",
            str(self._airs.scan_endpoint),
            self._choice.name,
            effect or revision,
            topic.fingerprint,
            topic.intent.value,
            text,
            *([str(epoch)] if epoch > 1 else []),
        )
