"""What scans by calls share: a run over chosen rows, what is known, what comes, giving up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Triggered, Usage, Verdicts
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.limits import Gauge
from guardtui.http.pool import Counters
from guardtui.scanners.base import (
    KeptVerdict,
    Progress,
    Report,
    ScannerError,
    Traffic,
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
_LOOKED_UP = 500
"""Prompts looked up in the cache between two chances to be cancelled."""


class Undecided(str):
    """Why there is no verdict although all was answered as it should be: no sign of a failure."""

    __slots__ = ()


Settled: TypeAlias = "KeptVerdict | str | ServiceError"
"""What came of a prompt: a verdict, or why there is none."""
Results: TypeAlias = "AsyncGenerator[tuple[int, Settled], None]"
"""What came of texts, by their index, in the order of arrival."""


class RemoteRun:
    """One scan under way, of all rows or of `rows` (intp [k]) in their order.

    A text that stands in several rows is asked for once. `waiting` are the texts that nothing is
    known of yet. `note` tells what an author should know of a verdict, `used` what a model has
    cost, `endpoints` how many of how many work. By row are `errors`, `notes`, `stopped_by` and
    `reasons`.
    """

    def __init__(
        self,
        prompts: PromptSet,
        rows: NDArray[np.intp] | None,
        report: Report,
        limit: Gauge,
        *,
        note: Callable[[KeptVerdict], str] = lambda kept: kept.note,
        used: Callable[[], Usage | None] = lambda: None,
        endpoints: Callable[[], tuple[int, int]] = lambda: (0, 0),
    ) -> None:
        texts = prompts.prompts.to_list()
        self._places: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            self._places.setdefault(text, []).append(row)
        self._wanted = np.ones(len(texts), bool)
        self.waiting = list(self._places)
        if rows is not None:
            self._wanted[:] = False
            self._wanted[rows] = True
            self.waiting = list(dict.fromkeys(texts[row] for row in rows.tolist()))
        self.counters = Counters(limit)
        self.errors: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        self.stopped_by: dict[int, tuple[str, ...]] = {}
        self.reasons: dict[int, str] = {}
        self.verdicts = 0
        self._report, self._limit, self._note, self._used = report, limit, note, used
        self._endpoints = endpoints
        self._triggered = np.full(len(texts), Triggered.NOT_ASKED, np.int8)
        self._left: dict[int, str] = {}  # why rows were not asked, where the scan ended early
        self._total = int(np.count_nonzero(self._wanted))
        self._done = self._known = 0
        self._failed_in_a_row = self._unreached_in_a_row = 0
        self._last_failure = ""

    @property
    def given_up(self) -> bool:
        """Whether so many failed in a row that no more are sent."""
        cut_off = self._unreached_in_a_row >= max(_UNREACHED, self._limit.allowed)
        return cut_off or self._failed_in_a_row >= GIVE_UP_AFTER

    async def take_known(self, find: Callable[[str], KeptVerdict | str | None]) -> None:
        """Settle what is known of the texts that wait; the others stay waiting."""
        left = []
        for count, text in enumerate(self.waiting):
            kept = find(text)
            if kept is None:
                left.append(text)
            else:
                self.settle(text, kept, known=True)
            if count % _LOOKED_UP == 0:
                await asyncio.sleep(0)
        self.waiting = left

    async def collect(self, texts: Sequence[str], results: Results) -> None:
        """Settle what comes of these texts, until the run is given up.

        Raises ScannerError when it is clear from the first answers that no prompt will get one.
        """
        async with contextlib.aclosing(results):
            if self.given_up or not texts:
                return
            self.tell()
            async for index, result in results:
                if isinstance(result, ServiceError) and not self.verdicts and _hopeless(result):
                    raise ScannerError(f"nothing could be scanned: {result}")
                self.settle(texts[index], result)
                if self.given_up:
                    break

    def settle(self, text: str, what: Settled, *, known: bool = False) -> None:
        """Write down what came of a text, in all its places."""
        places = self._places[text]
        if isinstance(what, KeptVerdict):
            self._failed_in_a_row = self._unreached_in_a_row = 0
            self.verdicts += 1
            self._triggered[places] = what.triggered
            for row in places:
                self.errors.pop(row, None)
                self._left.pop(row, None)
            if note := self._note(what):
                self.notes.update(dict.fromkeys(places, note))
            if what.topics:
                self.stopped_by.update(dict.fromkeys(places, what.topics))
            if what.reason:
                self.reasons.update(dict.fromkeys(places, what.reason))
        elif isinstance(what, ServiceError) and what.kind is Kind.BUDGET and not what.attempts:
            self._left.update(dict.fromkeys(places, what.message))
            self.tell()
            return
        else:
            # A prompt that was never sent says nothing about the service.
            unsent = known or (isinstance(what, ServiceError) and not what.attempts)
            if isinstance(what, Undecided) and not known:
                self._failed_in_a_row = 0
            elif not unsent:
                self._failed_in_a_row += 1
            unreached = isinstance(what, ServiceError) and what.kind is Kind.UNREACHABLE
            self._unreached_in_a_row = self._unreached_in_a_row + 1 if unreached else 0
            self._last_failure = what.message if isinstance(what, ServiceError) else what
            self._triggered[places] = Triggered.NO_VERDICT
            self.errors.update(dict.fromkeys(places, self._last_failure))
        count = int(np.count_nonzero(self._wanted[places]))
        self._done += count
        self._known += count * known
        self.tell()

    def explain(self, text: str, reason: str) -> None:
        """Keep what was said about a text that may have got no verdict."""
        self.reasons.update(dict.fromkeys(self._places[text], reason))

    def tell(self) -> None:
        """Tell how far it is."""
        self._report(
            Progress(
                "scanning",
                self._done,
                self._total,
                len(self.errors),
                known=self._known,
                traffic=self.traffic,
                partial=self.partial,
            )
        )

    def traffic(self) -> Traffic:
        """The requests of this moment."""
        now = self.counters.snapshot()
        return Traffic(
            in_flight=now.in_flight,
            limit=now.limit,
            sent=now.sent,
            retries=now.retries,
            refused=now.refused,
            paused=now.paused,
            held=self._limit.held,
            rate=now.rate,
            used=self._used(),
            endpoints=self._endpoints(),
        )

    def partial(self) -> Verdicts:
        """The verdicts so far; rows that were not asked are NOT_ASKED, failed ones say why."""
        triggered = self._triggered.copy()
        total = len(triggered)
        return Verdicts(
            triggered=triggered,
            score=np.full(total, np.nan, np.float32),
            matched=np.full(total, -1, np.int16),
            errors=self._left | self.errors,
            notes=dict(self.notes),
            stopped_by=dict(self.stopped_by),
            reasons=dict(self.reasons),
            used=self._used(),
        )

    def finished(self) -> Verdicts:
        """The verdicts at the end; rows not asked since the run was given up say why."""
        if self.given_up:
            reason = (
                f"not sent: {self._failed_in_a_row} prompts in a row got no verdict, "
                f"the last: {self._last_failure}"
            )
            left = np.flatnonzero((self._triggered == Triggered.NOT_ASKED) & self._wanted)
            for row in left.tolist():
                self._left.setdefault(row, reason)
        return self.partial()


def _hopeless(error: ServiceError) -> bool:
    """Whether it is the same for every prompt: the key is refused, or nobody is there."""
    return error.kind in (Kind.CREDENTIALS, Kind.UNREACHABLE)
