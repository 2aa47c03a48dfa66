"""Runs of remote scanners over chosen rows: cached and new verdicts, progress, giving up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict, VerdictColumns, Verdicts
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.pool import Counters
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic

GIVE_UP_AFTER = 20
"""Consecutive prompts without a verdict after which a run stops, because scans cost money."""
_UNREACHED = 2
"""Consecutive prompts without a connection after which a run stops, at least those in flight."""
_LOOKUPS = 500
"""Cache look-ups between two points where the task can be cancelled."""


Results: TypeAlias = "AsyncGenerator[tuple[int, Verdict | ServiceError], None]"
"""Outcomes of texts with their index, in the order of arrival."""


def without_verdict(error: ServiceError) -> Verdict:
    """Return the verdict of a failed call; NOT_ASKED if the budget did not allow it."""
    if error.kind is ErrorKind.BUDGET:
        triggered = Triggered.NO_VERDICT if error.attempts else Triggered.NOT_ASKED
        return Verdict(triggered, problem=error.message, failure=Failure.BUDGET)
    failure = _FAILURES.get(error.kind, Failure.FAILED if error.attempts else Failure.UNSENT)
    return Verdict(Triggered.NO_VERDICT, problem=error.message, failure=failure)


_REMEDIES = {
    Failure.UNREACHABLE: "check the address, and that the service is running",
    Failure.REFUSED: "check the key: GUARDTUI_MODEL_KEY of a model, PANW_AI_SEC_API_KEY of AIRS",
}
"""What to do if no prompt can be scanned."""

_FAILURES = {ErrorKind.CREDENTIALS: Failure.REFUSED, ErrorKind.UNREACHABLE: Failure.UNREACHABLE}
HOPELESS = (Failure.REFUSED, Failure.UNREACHABLE)
"""Failures that are the same for every prompt: if the first call has one, all would fail."""


class Failures:
    """Counts consecutive failures, to stop a run without verdicts."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self.answered = 0
        """Number of prompts with a verdict."""
        self.in_a_row = self._unreached = 0
        self.last_problem = ""

    @property
    def given_up(self) -> bool:
        """Return whether too many consecutive prompts failed to send more."""
        cut_off = self._unreached >= max(_UNREACHED, self._limit.allowed)
        return cut_off or self.in_a_row >= GIVE_UP_AFTER

    def count(self, verdict: Verdict, *, known: bool = False) -> None:
        """Count the outcome of a prompt; `known` if it came from the cache."""
        if verdict.decided:
            self.answered += 1
            self.in_a_row = self._unreached = 0
            return
        self.last_problem = verdict.problem
        unreached = verdict.failure is Failure.UNREACHABLE
        self._unreached = self._unreached + 1 if unreached else 0
        # A prompt that was never sent tells nothing about the service.
        if not known and verdict.failure not in (Failure.UNSENT, Failure.BUDGET):
            failed = verdict.failure is not None
            self.in_a_row = self.in_a_row + 1 if failed else 0


def traffic_of(
    counters: Counters, limit: AdaptiveLimit, used: Callable[[], Usage | None]
) -> Traffic:
    """Return the current requests of a run."""
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
    """A scan in progress, of all rows or of `rows` (intp [k]) in their order.

    A text in several rows is sent once. `waiting` are the texts without a verdict so far. `note`
    returns a note for the author on a verdict, `used` the usage of a model. `settled` gets each
    chosen row with its verdict, as soon as it is known.
    """

    def __init__(
        self,
        prompts: PromptSet,
        rows: NDArray[np.intp] | None,
        report: Report,
        limit: AdaptiveLimit,
        *,
        note: Callable[[Verdict], str] = lambda verdict: verdict.note,
        settled: Callable[[int, Verdict], None] | None = None,
        used: Callable[[], Usage | None] = lambda: None,
    ) -> None:
        texts = prompts.prompts.to_list()
        self._rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            self._rows.setdefault(text, []).append(row)
        self._chosen = np.ones(len(texts), bool)
        self.waiting = list(self._rows)
        if rows is not None:
            self._chosen[:] = False
            self._chosen[rows] = True
            self.waiting = list(dict.fromkeys(texts[row] for row in rows.tolist()))
        self.counters = Counters(limit)
        self._failures = Failures(limit)
        self._report, self._limit, self._note, self._used = report, limit, note, used
        self._settled = settled
        self._columns = VerdictColumns(len(texts))
        self._total = int(np.count_nonzero(self._chosen))
        self._done = self._known = 0

    @property
    def verdicts(self) -> int:
        """Number of prompts with a verdict."""
        return self._failures.answered

    @property
    def given_up(self) -> bool:
        """Return whether the run has stopped after too many consecutive failures."""
        return self._failures.given_up

    async def take_known(self, find: Callable[[str], Verdict | None]) -> None:
        """Settle waiting texts with a cached verdict; the others stay waiting."""
        remaining = []
        for count, text in enumerate(self.waiting):
            verdict = find(text)
            if verdict is None:
                remaining.append(text)
            else:
                self.settle(text, verdict, known=True)
            if count % _LOOKUPS == 0:
                await asyncio.sleep(0)
        self.waiting = remaining

    async def collect(self, texts: Sequence[str], results: Results) -> None:
        """Settle texts as their outcomes arrive, until the run is given up.

        Raises ScannerError if the first outcome shows that every prompt would fail.
        """
        async with contextlib.aclosing(results):
            if self.given_up or not texts:
                return
            self.report_progress()
            async for index, result in results:
                verdict = without_verdict(result) if isinstance(result, ServiceError) else result
                if verdict.failure in HOPELESS and not self.verdicts:
                    problem = f"nothing could be scanned: {verdict.problem}"
                    problem += f"\n  {_REMEDIES[verdict.failure]}"
                    raise ScannerError(problem)
                self.settle(texts[index], verdict)
                if self.given_up:
                    break

    def settle(self, text: str, verdict: Verdict, *, known: bool = False) -> None:
        """Set the verdict of a text in all its rows; `known` if it came from the cache."""
        rows = self._rows[text]
        note = self._note(verdict) if verdict.decided else ""
        self._columns.put(rows, verdict, note)
        if verdict.triggered is not Triggered.NOT_ASKED:
            self._failures.count(verdict, known=known)
            count = int(np.count_nonzero(self._chosen[rows]))
            self._done += count
            self._known += count * known
        if self._settled is not None:
            for row in rows:
                if self._chosen[row]:
                    self._settled(row, replace(verdict, note=note))
        self.report_progress()

    def report_progress(self) -> None:
        """Report the progress."""
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
        """Return the current requests."""
        return traffic_of(self.counters, self._limit, self._used)

    def partial(self) -> Verdicts:
        """Return the verdicts so far; rows not sent are NOT_ASKED, failed rows have a problem."""
        return self._columns.verdicts(self._used())

    def finished(self) -> Verdicts:
        """Return the final verdicts; rows not sent after giving up have a problem."""
        if self.given_up:
            problem = (
                f"not sent: {self._failures.in_a_row} prompts in a row got no verdict, "
                f"last problem: {self._failures.last_problem}"
            )
            for row in np.flatnonzero(self._columns.not_asked & self._chosen).tolist():
                self._columns.explain_not_asked(row, problem)
        return self.partial()
