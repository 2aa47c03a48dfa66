"""The scanner that asks Prisma AIRS: a prompt is sent once for a definition and its profile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import NOT_YET, UNTESTED, Triggered, Verdicts
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import Kind, ServiceError, inert
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.http.pool import Counters, run_all
from guardtui.scanners.airs.answers import Answer
from guardtui.scanners.airs.batches import scan_in_batches
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.scans import ProfileChoice, ScanClient
from guardtui.scanners.base import (
    KeptVerdict,
    Progress,
    Report,
    Traffic,
    VerdictCache,
    verdict_key,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

GIVE_UP_AFTER = 20
"""Prompts in a row without a verdict, after which the others are not sent: scans are paid for."""
_UNREACHED = 2
"""Prompts in a row, or as many as may be in flight, for which there was no connection at all."""
OTHER_REVISION = "another revision of the profile judged; a change may not be in effect everywhere"
_LOOKED_UP = 500
"""Prompts looked up in the cache between two chances to be cancelled."""

_Settled: TypeAlias = "KeptVerdict | str | ServiceError"
"""What came of a prompt: a verdict, or why there is none."""
_Results: TypeAlias = "AsyncGenerator[tuple[int, _Settled], None]"


@dataclass(eq=False)
class _Run:
    """One scan under way. `places` are the rows of each text; `revision` is empty until known.

    `wanted` (bool [N]) are the rows that are asked for.
    """

    topic: Topic
    places: Mapping[str, list[int]]
    wanted: NDArray[np.bool_]
    companions: Collection[str]
    report: Report
    revision: str
    counters: Counters
    limit: AdaptiveLimit
    triggered: NDArray[np.int8]
    errors: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    stopped_by: dict[int, tuple[str, ...]] = field(default_factory=dict)
    total: int = 0
    done: int = 0
    known: int = 0
    verdicts: int = 0
    failed_in_a_row: int = 0
    unreached_in_a_row: int = 0
    last_failure: str = ""

    def settle(self, text: str, what: _Settled, *, known: bool = False) -> None:
        """Write down what came of a text, in all its places."""
        places = self.places[text]
        if isinstance(what, KeptVerdict):
            self.failed_in_a_row = self.unreached_in_a_row = 0
            self.verdicts += 1
            self.triggered[places] = what.triggered
            if note := self._note(what):
                self.notes.update(dict.fromkeys(places, note))
            if what.topics:
                self.stopped_by.update(dict.fromkeys(places, what.topics))
        else:
            # A prompt that was never sent says nothing about the service.
            unsent = isinstance(what, ServiceError) and not what.attempts
            self.failed_in_a_row += not unsent
            unreached = isinstance(what, ServiceError) and what.kind is Kind.UNREACHABLE
            self.unreached_in_a_row = self.unreached_in_a_row + 1 if unreached else 0
            self.last_failure = what.message if isinstance(what, ServiceError) else what
            self.errors.update(dict.fromkeys(places, self.last_failure))
        count = int(np.count_nonzero(self.wanted[places]))
        self.done += count
        self.known += count * known
        self.tell()

    def _note(self, what: KeptVerdict) -> str:
        """What an author should know; with companion topics another one is no surprise."""
        other = what.triggered and what.topics and self.topic.name not in what.topics
        if not other or self.companions:
            return what.note
        names = ", ".join(inert(name)[:60] for name in what.topics[:3])
        return "; ".join(filter(None, (f"stopped by another topic: {names}", what.note)))

    def tell(self) -> None:
        self.report(
            Progress(
                "scanning",
                self.done,
                self.total,
                len(self.errors),
                known=self.known,
                traffic=self.traffic,
                partial=self.partial,
            )
        )

    def traffic(self) -> Traffic:
        now = self.counters.snapshot()
        return Traffic(
            in_flight=now.in_flight,
            limit=now.limit,
            sent=now.sent,
            retries=now.retries,
            refused=now.refused,
            paused=now.paused,
            held=self.limit.held,
            rate=now.rate,
        )

    def partial(self) -> Verdicts:
        """The verdicts so far; every row without one says why."""
        triggered = self.triggered.copy()
        errors = dict(self.errors)
        for row in np.flatnonzero(triggered == Triggered.NO_VERDICT).tolist():
            errors.setdefault(row, NOT_YET if self.wanted[row] else UNTESTED)
        total = len(triggered)
        return Verdicts(
            triggered=triggered,
            score=np.full(total, np.nan, np.float32),
            matched=np.full(total, -1, np.int16),
            errors=errors,
            notes=dict(self.notes),
            stopped_by=dict(self.stopped_by),
        )

    @property
    def given_up(self) -> bool:
        cut_off = self.unreached_in_a_row >= max(_UNREACHED, self.limit.allowed)
        return cut_off or self.failed_in_a_row >= GIVE_UP_AFTER


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
        identity = f"airs, profile {inert(self._choice.name)}"
        return ScannerSettings("airs", identity, revision=revision)

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
    ) -> Verdicts:
        texts = prompts.prompts.to_list()
        places: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            places.setdefault(text, []).append(row)
        wanted = np.ones(len(texts), bool)
        waiting = list(places)
        if rows is not None:
            wanted[:] = False
            wanted[rows] = True
            waiting = list(dict.fromkeys(texts[row] for row in rows.tolist()))
        limit = AdaptiveLimit(self._airs.concurrency, rate=self._rate, clock=self._clock)
        self._limit = limit
        limit.hold(self._held)
        run = _Run(
            topic,
            places,
            wanted,
            self._companions,
            report,
            self._revision,
            Counters(limit),
            limit,
            np.full(len(texts), Triggered.NO_VERDICT, np.int8),
            total=int(np.count_nonzero(wanted)),
        )
        async with ScanClient(
            self._airs, self._choice, limit=limit, timeout=self._timeout, clock=self._clock
        ) as client:
            while waiting and not (run.revision or run.verdicts or run.given_up):
                first = [waiting.pop(0)]
                await self._settle(run, first, self._at_once(client, run, first))
            waiting = await self._found(run, waiting)
            ask = self._in_batches if self._batches else self._at_once
            await self._settle(run, waiting, ask(client, run, waiting))
        if run.given_up:
            self._leave(run)
        return run.partial()

    async def _found(self, run: _Run, texts: Sequence[str]) -> list[str]:
        """Settle what the cache knows; the texts that are left."""
        if self._cache is None or self._fresh or not run.revision:
            return list(texts)
        left = []
        for count, text in enumerate(texts):
            kept = self._cache.find(self._key(run.topic, text, run.revision))
            if kept is None:
                left.append(text)
            else:
                run.settle(text, kept, known=True)
            if count % _LOOKED_UP == 0:
                await asyncio.sleep(0)
        return left

    def _at_once(self, client: ScanClient, run: _Run, texts: Sequence[str]) -> _Results:
        async def call(text: str) -> KeptVerdict | str:
            # The topic is left out: that another one stopped it is told when the verdict is read,
            # as it depends on the companions of now.
            answer = await client.scan(text)
            # Kept here and not by who reads the results: a cancelled run must not lose it.
            return self._judged(run, text, answer)

        return run_all(texts, call, client.limit, counters=run.counters)

    async def _in_batches(self, client: ScanClient, run: _Run, texts: Sequence[str]) -> _Results:
        async with contextlib.aclosing(scan_in_batches(client, list(enumerate(texts)))) as outcomes:
            async for index, outcome in outcomes:
                run.counters.count(isinstance(outcome, ServiceError))
                if isinstance(outcome, ServiceError):
                    yield index, outcome
                else:
                    yield index, self._judged(run, texts[index], outcome)

    async def _settle(self, run: _Run, texts: Sequence[str], results: _Results) -> None:
        """Write down what comes. Raises AirsError when it is clear that nothing will."""
        async with contextlib.aclosing(results):
            if run.given_up or not texts:
                return
            run.tell()
            async for index, result in results:
                if isinstance(result, ServiceError) and not run.verdicts and _hopeless(result):
                    raise AirsError(f"nothing could be scanned: {result}")
                run.settle(texts[index], result)
                if run.given_up:
                    break

    def _judged(self, run: _Run, text: str, answer: Answer) -> KeptVerdict | str:
        revision = answer.profile_id.lower()
        if answer.triggered is None:
            run.revision = run.revision or revision
            return answer.reason or "no verdict"
        topics = answer.blocked_topics if answer.triggered else ()
        kept = KeptVerdict(answer.triggered, answer.reason, topics)
        if revision and self._cache is not None:
            self._cache.keep(self._key(run.topic, text, revision), kept)
        run.revision = run.revision or revision
        return OTHER_REVISION if revision and revision != run.revision else kept

    def _key(self, topic: Topic, text: str, revision: str) -> bytes:
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
        )

    def _leave(self, run: _Run) -> None:
        """Say of all that is left why it was not sent."""
        reason = (
            f"not sent: {run.failed_in_a_row} prompts in a row got no verdict, "
            f"the last: {run.last_failure}"
        )
        open_rows = np.flatnonzero((run.triggered == Triggered.NO_VERDICT) & run.wanted)
        for row in open_rows.tolist():
            run.errors.setdefault(row, reason)


def _hopeless(error: ServiceError) -> bool:
    """Whether it is the same for every prompt: the key is refused, or nobody is there."""
    return error.kind in (Kind.CREDENTIALS, Kind.UNREACHABLE)
