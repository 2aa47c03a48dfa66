"""Many prompts in batches: submitted as the limit allows, asked for as often as is allowed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from guardtui.domain.verdicts import Verdict
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.pool import run_all
from guardtui.scanners.airs.answers import no_verdict, read_answer
from guardtui.scanners.airs.errors import AirsError, reworded
from guardtui.scanners.airs.models import ResultRow
from guardtui.scanners.airs.scans import (
    ASYNC_BYTES,
    BATCH_AT_MOST,
    IDS_AT_MOST,
    Batch,
    ScanClient,
)

BATCH = 5
"""Prompts of a batch that all revisions of the service are known to take."""
FIRST_ASK = 2.0
"""Seconds after which a batch is asked for; queues are said to take ten."""
_SOON = 0.01
"""Seconds that are not waited for."""
PATIENCE = 300.0
"""Seconds without any news after which what is open is given up."""
_AHEAD = 4 * IDS_AT_MOST
"""Batches that wait for their results at most: enough to keep every query full while queues take
ten seconds, and no more are lost when the run is ended."""
_OVERHEAD = 64
"""Bytes that a batch adds to each request, at most."""

Outcome: TypeAlias = Verdict | ServiceError
Indexed: TypeAlias = tuple[int, str]


async def scan_in_batches(
    client: ScanClient,
    prompts: Sequence[Indexed],
    *,
    topic: str = "",
    size: int = BATCH,
    patience: float = PATIENCE,
    submitted: Callable[[Batch], None] | None = None,
) -> AsyncGenerator[tuple[int, Outcome], None]:
    """Scan indexed prompts, and yield each index with what came of it, in the order of arrival.

    Every index comes once. `submitted` is told of each batch as soon as it was taken: with it,
    `collect` can fetch the results later without a second scan. Close it early with
    `contextlib.aclosing`. Raises AirsError for a size that is not allowed.
    """
    if not 1 <= size <= BATCH_AT_MOST:
        raise AirsError(f"a batch has 1 to {BATCH_AT_MOST} prompts")
    good: list[Indexed] = []
    for index, prompt in prompts:
        if problem := client.problem_of(prompt):
            yield index, problem
        else:
            good.append((index, prompt))
    chunks = _chunks(client, good, size)
    news: asyncio.Queue[_News] = asyncio.Queue()
    room = asyncio.Semaphore(_AHEAD)
    sender = asyncio.create_task(_send(client, chunks, news, room, submitted))
    try:
        collector = _Collector(client, topic, patience, room)
        async with contextlib.aclosing(collector.run(news)) as outcomes:
            async for one in outcomes:
                yield one
        await sender
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)


async def collect(
    client: ScanClient, batches: Sequence[Batch], *, topic: str = "", patience: float = PATIENCE
) -> AsyncGenerator[tuple[int, Outcome], None]:
    """The results of batches that were submitted before, as `scan_in_batches` yields them."""
    news: asyncio.Queue[_News] = asyncio.Queue()
    for batch in batches:
        news.put_nowait(batch)
    news.put_nowait(None)
    async with contextlib.aclosing(_Collector(client, topic, patience).run(news)) as outcomes:
        async for one in outcomes:
            yield one


@dataclass(frozen=True, slots=True)
class _Lost:
    """A batch that was not taken, or of which nobody knows."""

    indices: tuple[int, ...]
    error: ServiceError


_News: TypeAlias = Batch | _Lost | None
"""What the sender tells; None is its end."""


def _chunks(client: ScanClient, prompts: Sequence[Indexed], size: int) -> list[tuple[Indexed, ...]]:
    """Batches of at most so many prompts, and of no more bytes than are allowed."""
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
    news: asyncio.Queue[_News],
    room: asyncio.Semaphore,
    submitted: Callable[[Batch], None] | None,
) -> None:
    """Submit all; a batch that was refused for what is in it (400) goes again prompt by prompt.

    That is safe, as a refused batch was not scanned, and done only when the profile is known to be
    there, for which a refusal may stand as well.
    """
    try:
        refused, taken = await _send_once(client, chunks, news, room, submitted)
        if taken or len(chunks) == 1:
            singles = [(one,) for chunk, _ in refused if len(chunk) > 1 for one in chunk]
            again, _ = await _send_once(client, singles, news, room, submitted)
            refused = [one for one in refused if len(one[0]) == 1] + again
        for chunk, error in refused:
            news.put_nowait(_Lost(tuple(index for index, _ in chunk), error))
    finally:
        news.put_nowait(None)


async def _send_once(
    client: ScanClient,
    chunks: Sequence[tuple[Indexed, ...]],
    news: asyncio.Queue[_News],
    room: asyncio.Semaphore,
    submitted: Callable[[Batch], None] | None,
) -> tuple[list[tuple[tuple[Indexed, ...], ServiceError]], bool]:
    """Submit all once; what was refused with status 400, and whether anything was taken."""
    refused: list[tuple[tuple[Indexed, ...], ServiceError]] = []
    taken = False

    async def submit(chunk: tuple[Indexed, ...]) -> Batch:
        """Takes room, which a batch that was taken keeps until all its results are there."""
        await room.acquire()
        try:
            return await client.submit(chunk)
        except BaseException:
            room.release()
            raise

    async with contextlib.aclosing(run_all(chunks, submit, client.limit)) as outcomes:
        async for number, outcome in outcomes:
            chunk = chunks[number]
            if isinstance(outcome, Batch):
                taken = True
                if submitted is not None:
                    submitted(outcome)
                news.put_nowait(outcome)
            elif outcome.status == 400:
                refused.append((chunk, outcome))
            else:
                news.put_nowait(_Lost(tuple(index for index, _ in chunk), outcome))
    return refused, taken


@dataclass(slots=True)
class _Open:
    """A batch with requests that have no result yet. `alone`: not to be asked for with others."""

    batch: Batch
    left: set[int]
    due: float
    alone: bool = field(default=False)


class _Collector:
    """Asks for the results of what is open, the longest not asked for first."""

    def __init__(
        self, client: ScanClient, topic: str, patience: float, room: asyncio.Semaphore | None = None
    ) -> None:
        self._client, self._clock, self._room = client, client.clock, room
        self._topic, self._patience = topic, patience
        self._open: dict[str, _Open] = {}
        self._heard = self._clock.now()
        self._last: ServiceError | None = None

    async def run(self, news: asyncio.Queue[_News]) -> AsyncGenerator[tuple[int, Outcome], None]:
        ended = False
        while not ended or self._open:
            while not ended and (not self._open or not news.empty()):
                one = await news.get()
                self._heard = self._clock.now()
                if one is None:
                    ended = True
                elif isinstance(one, _Lost):
                    for index in one.indices:
                        yield index, one.error
                elif clash := self._take(one):
                    for index in one.rows.values():
                        yield index, clash
            if not self._open:
                continue
            wait = next(iter(self._open.values())).due - self._clock.now()
            if wait > _SOON:
                # More batches may be taken meanwhile, to be asked for by the same query.
                await self._clock.sleep(wait)
                continue
            for outcome in await self._ask():
                yield outcome

    def _take(self, batch: Batch) -> ServiceError | None:
        """Remember a batch; an id that stands for another one already cannot be told apart."""
        if batch.scan_id in self._open:
            self._leave_room()
            return ServiceError(
                Kind.CONTENT, f"unknown fate: two batches got the scan id {batch.scan_id}",
                final=True,
            )  # fmt: skip
        self._open[batch.scan_id] = _Open(batch, set(batch.rows), self._clock.now() + FIRST_ASK)
        return None

    def _leave_room(self) -> None:
        if self._room is not None:
            self._room.release()

    async def _ask(self) -> list[tuple[int, Outcome]]:
        """Ask once for up to five batches; what has come to an end by it."""
        chosen = self._chosen()
        for one in chosen:  # to the end of the queue
            self._open[one.batch.scan_id] = self._open.pop(one.batch.scan_id)
        try:
            rows = await self._client.results([one.batch.scan_id for one in chosen])
        except ServiceError as error:
            return self._refused(chosen, error)
        done: list[tuple[int, Outcome]] = []
        for row in rows:
            done += self._read(row)
        if done:
            self._heard = self._clock.now()
        return done + self._given_up()

    def _chosen(self) -> list[_Open]:
        first = next(iter(self._open.values()))
        if first.alone:
            return [first]
        now = self._clock.now()
        ready = [one for one in self._open.values() if not one.alone and one.due <= now + _SOON]
        return ready[:IDS_AT_MOST]

    def _read(self, row: ResultRow) -> list[tuple[int, Outcome]]:
        one = self._open.get(row.scan_id)
        if one is None or not (row.complete or row.failed):
            return []
        number = row.req_id
        if number is None and len(one.batch.rows) == 1:
            number = next(iter(one.batch.rows))
        if number is None or number not in one.left:
            return []
        one.left.discard(number)
        if not one.left:
            del self._open[row.scan_id]
            self._leave_room()
        if row.complete:
            answer = read_answer(row.result, topic=self._topic)
        else:
            answer = no_verdict("no verdict: the service says that the scan failed")
        if not answer.scan_id:
            answer = replace(answer, scan_id=row.scan_id)
        return [(one.batch.rows[number], answer)]

    def _refused(self, chosen: list[_Open], error: ServiceError) -> list[tuple[int, Outcome]]:
        self._last = error
        if error.kind is Kind.CREDENTIALS:
            return self._drop(list(self._open.values()), error)
        if error.kind is Kind.REQUEST:
            if len(chosen) == 1:
                return self._drop(chosen, error)
            for one in chosen:  # one of them spoils it for all
                one.alone = True
            return []
        return self._given_up()

    def _given_up(self) -> list[tuple[int, Outcome]]:
        silent = self._clock.now() - self._heard
        if silent < self._patience:
            return []
        why = f": {self._last.message}" if self._last is not None else ""
        error = ServiceError(Kind.TIMEOUT, f"nothing new for {silent:.0f} s{why}")
        return self._drop(list(self._open.values()), error)

    def _drop(self, lost: list[_Open], error: ServiceError) -> list[tuple[int, Outcome]]:
        done: list[tuple[int, Outcome]] = []
        for one in lost:
            del self._open[one.batch.scan_id]
            self._leave_room()
            message = f"submitted as scan {one.batch.scan_id}, but no result: {error.message}"
            told = reworded(error, message)
            done += [(one.batch.rows[number], told) for number in sorted(one.left)]
        return done
