"""What scans by calls share: a run over chosen rows, what is known, what comes, giving up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict, VerdictColumns, Verdicts
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.pool import Counters
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic

GIVE_UP_AFTER = 20
"""Prompts in a row without a verdict, after which the others are not sent: scans are paid for."""
_UNREACHED = 2
"""Prompts in a row, or as many as may be in flight, for which there was no connection at all."""
_LOOKED_UP = 500
"""Prompts looked up in the cache between two chances to be cancelled."""


Results: TypeAlias = "AsyncGenerator[tuple[int, Verdict | ServiceError], None]"
"""What came of texts, by their index, in the order of arrival."""


def without_verdict(error: ServiceError) -> Verdict:
    """What a call that failed leaves of a prompt; NOT_ASKED where the budget had no room for it."""
    if error.kind is Kind.BUDGET:
        triggered = Triggered.NO_VERDICT if error.attempts else Triggered.NOT_ASKED
        return Verdict(triggered, problem=error.message, failure=Failure.BUDGET)
    failure = _FAILURES.get(error.kind, Failure.FAILED if error.attempts else Failure.UNSENT)
    return Verdict(Triggered.NO_VERDICT, problem=error.message, failure=failure)


_FAILURES = {Kind.CREDENTIALS: Failure.REFUSED, Kind.UNREACHABLE: Failure.UNREACHABLE}
HOPELESS = (Failure.REFUSED, Failure.UNREACHABLE)
"""The same for every prompt: if one of them comes first, no prompt will get a verdict."""


class Failures:
    """Counts what came of prompts in a row, to end a run that brings nothing."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self.answered = 0
        """Prompts with a verdict."""
        self.in_a_row = self._unreached = 0
        self.last_problem = ""

    @property
    def given_up(self) -> bool:
        """Whether so many failed in a row that no more are to be sent."""
        cut_off = self._unreached >= max(_UNREACHED, self._limit.allowed)
        return cut_off or self.in_a_row >= GIVE_UP_AFTER

    def count(self, verdict: Verdict, *, known: bool = False) -> None:
        """Count what came of a prompt; `known` says that it came from the cache."""
        if verdict.decided:
            self.answered += 1
            self.in_a_row = self._unreached = 0
            return
        self.last_problem = verdict.problem
        unreached = verdict.failure is Failure.UNREACHABLE
        self._unreached = self._unreached + 1 if unreached else 0
        # What was never sent says nothing about the service.
        if not known and verdict.failure not in (Failure.UNSENT, Failure.BUDGET):
            failed = verdict.failure is not None
            self.in_a_row = self.in_a_row + 1 if failed else 0


def traffic_of(
    counters: Counters, limit: AdaptiveLimit, used: Callable[[], Usage | None]
) -> Traffic:
    """The requests of a run at this moment."""
    now = counters.snapshot()
    return Traffic(
        in_flight=now.in_flight,
        limit=now.limit,
        sent=now.sent,
        retries=now.retries,
        refused=now.refused,
        paused=now.paused,
        held=limit.held,
        rate=now.rate,
        used=used(),
    )


class RemoteRun:
    """One scan under way, of all rows or of `rows` (intp [k]) in their order.

    A text in several rows is sent once. `waiting` are the texts without a verdict so far. `note`
    gives what an author should know of a verdict, `used` what a model has cost.
    """

    def __init__(
        self,
        prompts: PromptSet,
        rows: NDArray[np.intp] | None,
        report: Report,
        limit: AdaptiveLimit,
        *,
        note: Callable[[Verdict], str] = lambda verdict: verdict.note,
        used: Callable[[], Usage | None] = lambda: None,
    ) -> None:
        texts = prompts.prompts.to_list()
        self._rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            self._rows.setdefault(text, []).append(row)
        self._wanted = np.ones(len(texts), bool)
        self.waiting = list(self._rows)
        if rows is not None:
            self._wanted[:] = False
            self._wanted[rows] = True
            self.waiting = list(dict.fromkeys(texts[row] for row in rows.tolist()))
        self.counters = Counters(limit)
        self._failures = Failures(limit)
        self._report, self._limit, self._note, self._used = report, limit, note, used
        self._columns = VerdictColumns(len(texts))
        self._total = int(np.count_nonzero(self._wanted))
        self._done = self._known = 0

    @property
    def verdicts(self) -> int:
        """Prompts with a verdict."""
        return self._failures.answered

    @property
    def given_up(self) -> bool:
        """Whether so many failed in a row that no more are sent."""
        return self._failures.given_up

    async def take_known(self, find: Callable[[str], Verdict | None]) -> None:
        """Settle what is known of the texts that wait; the others stay waiting."""
        left = []
        for count, text in enumerate(self.waiting):
            verdict = find(text)
            if verdict is None:
                left.append(text)
            else:
                self.settle(text, verdict, known=True)
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
                verdict = without_verdict(result) if isinstance(result, ServiceError) else result
                if verdict.failure in HOPELESS and not self.verdicts:
                    raise ScannerError(f"nothing could be scanned: {verdict.problem}")
                self.settle(texts[index], verdict)
                if self.given_up:
                    break

    def settle(self, text: str, verdict: Verdict, *, known: bool = False) -> None:
        """Set the verdict of a text in all its rows; `known` says that it came from the cache."""
        rows = self._rows[text]
        self._columns.put(rows, verdict, self._note(verdict) if verdict.decided else "")
        if verdict.triggered is not Triggered.NOT_ASKED:
            self._failures.count(verdict, known=known)
            count = int(np.count_nonzero(self._wanted[rows]))
            self._done += count
            self._known += count * known
        self.tell()

    def tell(self) -> None:
        """Tell how far it is."""
        self._report(
            Progress(
                "scanning",
                self._done,
                self._total,
                self._columns.errors,
                known=self._known,
                traffic=self.traffic,
                partial=self.partial,
            )
        )

    def traffic(self) -> Traffic:
        """The requests of this moment."""
        return traffic_of(self.counters, self._limit, self._used)

    def partial(self) -> Verdicts:
        """The verdicts so far; rows that were not asked are NOT_ASKED, failed ones say why."""
        return self._columns.verdicts(self._used())

    def finished(self) -> Verdicts:
        """The verdicts at the end; rows not asked since the run was given up say why."""
        if self.given_up:
            problem = (
                f"not sent: {self._failures.in_a_row} prompts in a row got no verdict, "
                f"the last: {self._failures.last_problem}"
            )
            for row in np.flatnonzero(self._columns.not_asked & self._wanted).tolist():
                self._columns.explain_not_asked(row, problem)
        return self.partial()
