"""Scans in batches: submitted as the limit allows, with rate-limited queries of the results."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from guardtui.domain.verdicts import Verdict
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.pool import run_all
from guardtui.scanners.airs.answers import no_verdict, read_answer
from guardtui.scanners.airs.errors import reworded
from guardtui.scanners.airs.models import ResultRow
from guardtui.scanners.airs.scans import (
    ASYNC_BYTES,
    BATCH_AT_MOST,
    IDS_AT_MOST,
    Batch,
    ScanClient,
)

FIRST_QUERY = 2.0
"""Seconds before the first query of a batch; queues are reported to take ten."""
_TOGETHER = 0.25
"""Seconds; batches due within them join the query of an earlier one, since queries are few."""
PATIENCE = 300.0
"""Seconds without any event after which open batches are given up."""
_AHEAD = 4 * IDS_AT_MOST
"""Maximum number of open batches: enough to fill every query while queues take ten seconds, and no
more are lost when the run is cancelled."""
_OVERHEAD = 64
"""Maximum bytes that a batch adds to each request."""

Outcome: TypeAlias = Verdict | ServiceError
Indexed: TypeAlias = tuple[int, str]


async def scan_in_batches(
    client: ScanClient,
    prompts: Sequence[Indexed],
    *,
    size: int = BATCH_AT_MOST,
    patience: float = PATIENCE,
) -> AsyncGenerator[tuple[int, Outcome], None]:
    """Scan indexed prompts, and yield each index once with its outcome, in the order of arrival.

    To stop early, close the generator with `contextlib.aclosing`.
    """
    accepted: list[Indexed] = []
    for index, prompt in prompts:
        if problem := client.problem_of(prompt):
            yield index, problem
        else:
            accepted.append((index, prompt))
    chunks = _chunks(client, accepted, size)
    events: asyncio.Queue[_Event] = asyncio.Queue()
    slots = asyncio.Semaphore(_AHEAD)
    sender = asyncio.create_task(_send(client, chunks, events, slots))
    try:
        collector = _Collector(client, patience, slots)
        async with contextlib.aclosing(collector.run(events)) as outcomes:
            async for outcome in outcomes:
                yield outcome
        await sender
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)


@dataclass(slots=True)
class _OpenBatch:
    """An accepted batch with `remaining` requests, to be queried when it is `due`.

    If `alone`, it is not queried together with others.
    """

    batch: Batch
    remaining: set[int]
    due: float
    alone: bool = False


_Event: TypeAlias = _OpenBatch | list[tuple[int, Outcome]] | None
"""Event of the sender: an accepted batch, or the outcomes of a failed one; None is its end."""


def _chunks(client: ScanClient, prompts: Sequence[Indexed], size: int) -> list[tuple[Indexed, ...]]:
    """Split prompts into batches of at most `size` prompts and the allowed number of bytes."""
    chunks: list[tuple[Indexed, ...]] = []
    chunk: list[Indexed] = []
    total = 0
    for index, prompt in prompts:
        weight = client.size_of(prompt) + _OVERHEAD
        if chunk and (len(chunk) == size or total + weight > ASYNC_BYTES):
            chunks.append(tuple(chunk))
            chunk, total = [], 0
        chunk.append((index, prompt))
        total += weight
    if chunk:
        chunks.append(tuple(chunk))
    return chunks


async def _send(
    client: ScanClient,
    chunks: Sequence[tuple[Indexed, ...]],
    events: asyncio.Queue[_Event],
    slots: asyncio.Semaphore,
) -> None:
    """Submit all; a batch that was rejected for its content (400) is sent again prompt by prompt.

    That is safe, because a rejected batch was not scanned. It is done only if the profile is known
    to exist, as a missing profile is also reported by status 400.
    """
    try:
        rejected, any_accepted = await _send_once(client, chunks, events, slots)
        if any_accepted or len(chunks) == 1:
            singles = [(prompt,) for chunk, _ in rejected if len(chunk) > 1 for prompt in chunk]
            retried, _ = await _send_once(client, singles, events, slots)
            rejected = [(chunk, error) for chunk, error in rejected if len(chunk) == 1] + retried
        for chunk, error in rejected:
            events.put_nowait([(index, error) for index, _ in chunk])
    finally:
        events.put_nowait(None)


async def _send_once(
    client: ScanClient,
    chunks: Sequence[tuple[Indexed, ...]],
    events: asyncio.Queue[_Event],
    slots: asyncio.Semaphore,
) -> tuple[list[tuple[tuple[Indexed, ...], ServiceError]], bool]:
    """Submit all once; return what was rejected with 400, and whether any batch was accepted."""
    rejected: list[tuple[tuple[Indexed, ...], ServiceError]] = []
    any_accepted = False

    async def submit(chunk: tuple[Indexed, ...]) -> Batch:
        """Take a slot, which an accepted batch holds until all its results have arrived."""
        await slots.acquire()
        try:
            return await client.submit(chunk)
        except BaseException:
            slots.release()
            raise

    async with contextlib.aclosing(run_all(chunks, submit, client.limit)) as outcomes:
        async for number, outcome in outcomes:
            chunk = chunks[number]
            if isinstance(outcome, Batch):
                any_accepted = True
                due = client.clock.now() + FIRST_QUERY
                events.put_nowait(_OpenBatch(outcome, set(outcome.rows), due))
            elif outcome.status == 400:
                rejected.append((chunk, outcome))
            else:
                events.put_nowait([(index, outcome) for index, _ in chunk])
    return rejected, any_accepted


class _Collector:
    """Queries the results of open batches, least recently queried first."""

    def __init__(self, client: ScanClient, patience: float, slots: asyncio.Semaphore) -> None:
        self._client, self._clock, self._slots = client, client.clock, slots
        self._patience = patience
        self._open: dict[str, _OpenBatch] = {}
        self._last_event = self._clock.now()
        self._last_error: ServiceError | None = None

    async def run(self, events: asyncio.Queue[_Event]) -> AsyncGenerator[tuple[int, Outcome], None]:
        ended = False
        while not ended or self._open:
            while not ended and (not self._open or not events.empty()):
                event = await events.get()
                self._last_event = self._clock.now()
                if event is None:
                    ended = True
                    continue
                for outcome in event if isinstance(event, list) else self._add(event):
                    yield outcome
            if not self._open:
                continue
            wait = next(iter(self._open.values())).due - self._clock.now()
            if wait > _TOGETHER:
                # More batches may be accepted meanwhile and join the same query.
                await self._clock.sleep(wait)
                continue
            for outcome in await self._query():
                yield outcome

    def _add(self, added: _OpenBatch) -> list[tuple[int, Outcome]]:
        """Add a batch; returns errors if its id is that of another open batch."""
        scan_id = added.batch.scan_id
        if scan_id not in self._open:
            self._open[scan_id] = added
            return []
        self._slots.release()
        problem = f"unknown state: two batches have the scan id {scan_id}"
        error = ServiceError(ErrorKind.CONTENT, problem, final=True)
        return [(index, error) for index in added.batch.rows.values()]

    async def _query(self) -> list[tuple[int, Outcome]]:
        """Query up to five batches once; return the outcomes that this completes."""
        chosen = self._chosen()
        for open_batch in chosen:  # to the end of the queue
            scan_id = open_batch.batch.scan_id
            self._open[scan_id] = self._open.pop(scan_id)
        try:
            rows = await self._client.results([each.batch.scan_id for each in chosen])
        except ServiceError as error:
            return self._failed(chosen, error)
        finished = [row for row in rows if row.complete or row.failed]
        done: list[tuple[int, Outcome]] = []
        for row in finished:
            others = [each for each in finished if each.request == row.request and each != row]
            done += self._read(row, contradicted=bool(others))
        if done:
            self._last_event = self._clock.now()
        return done + self._given_up()

    def _chosen(self) -> list[_OpenBatch]:
        first = next(iter(self._open.values()))
        if first.alone:
            return [first]
        now = self._clock.now()
        ready = [
            each for each in self._open.values() if not each.alone and each.due <= now + _TOGETHER
        ]
        return ready[:IDS_AT_MOST]

    def _read(self, row: ResultRow, *, contradicted: bool) -> list[tuple[int, Outcome]]:
        """Return the outcome of a finished request; none if it is not open."""
        open_batch = self._open.get(row.scan_id)
        if open_batch is None:
            return []
        batch, number = open_batch.batch, row.req_id
        if number is None and len(batch.rows) == 1:
            number = next(iter(batch.rows))
        if number is None or number not in open_batch.remaining:
            return []
        open_batch.remaining.discard(number)
        if not open_batch.remaining:
            del self._open[row.scan_id]
            self._slots.release()
        if contradicted:
            answer = no_verdict("no verdict: the service gave two results for this prompt")
        elif row.complete:
            answer = read_answer(row.result, tr_id=batch.tr_id(number), scan_id=row.scan_id)
        else:
            answer = no_verdict("no verdict: the service reports that the scan failed")
        if not answer.scan_id:
            answer = replace(answer, scan_id=row.scan_id)
        return [(batch.rows[number], answer)]

    def _failed(self, chosen: list[_OpenBatch], error: ServiceError) -> list[tuple[int, Outcome]]:
        self._last_error = error
        if error.kind is ErrorKind.CREDENTIALS:
            return self._drop(list(self._open.values()), error)
        if error.kind in (ErrorKind.REQUEST, ErrorKind.CONTENT):
            if chosen[0].alone:
                return self._drop(chosen, error)
            for open_batch in chosen:  # one of them makes the query fail for all
                open_batch.alone = True
            return []
        return self._given_up()

    def _given_up(self) -> list[tuple[int, Outcome]]:
        silent = self._clock.now() - self._last_event
        if silent < self._patience:
            return []
        reason = f": {self._last_error.message}" if self._last_error is not None else ""
        error = ServiceError(ErrorKind.TIMEOUT, f"no results for {silent:.0f} s{reason}")
        return self._drop(list(self._open.values()), error)

    def _drop(self, lost: list[_OpenBatch], error: ServiceError) -> list[tuple[int, Outcome]]:
        done: list[tuple[int, Outcome]] = []
        for open_batch in lost:
            batch = open_batch.batch
            del self._open[batch.scan_id]
            self._slots.release()
            message = f"submitted as scan {batch.scan_id}, but no result: {error.message}"
            failure = reworded(error, message)
            done += [(batch.rows[number], failure) for number in sorted(open_batch.remaining)]
        return done
