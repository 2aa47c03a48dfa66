"""Concurrent calls: bounded, with results in order of arrival, and counters to display."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit

Item = TypeVar("Item")
Result = TypeVar("Result")

_RATE_SECONDS = 5
"""Window of the mean rate, in seconds."""


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """Progress of a run; `done` counts all finished items, `errors` those that failed.

    `in_flight`, `limit` (maximum in flight) and `paused` (seconds left) are current values. `sent`,
    `retries` and `refused` (responses with status 429) count requests. `rate` is items per second
    over the last seconds.
    """

    done: int
    errors: int
    in_flight: int
    limit: int
    paused: float
    sent: int
    retries: int
    refused: int
    rate: float


class Counters:
    """Counters of one run over a limit; created before it, and polled for display."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit, self._clock = limit, limit.clock
        totals = limit.totals
        self._before = (totals.sent, totals.retried, totals.refused)
        self._start = self._clock.now()
        self._done = self._errors = 0
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_RATE_SECONDS + 1)

    def count(self, failed: bool) -> None:
        """Count a finished item."""
        self._done += 1
        self._errors += failed
        second = int(self._clock.now() - self._start)
        counted = self._seconds.pop()[1] if self._second() == second else 0
        self._seconds.append((second, counted + 1))

    def _second(self) -> int:
        return self._seconds[-1][0] if self._seconds else -1

    def snapshot(self) -> PoolSnapshot:
        """Return the current figures; cheap, and safe to call from any thread."""
        limit, totals = self._limit, self._limit.totals
        sent, retried, refused = self._before
        return PoolSnapshot(
            done=self._done,
            errors=self._errors,
            in_flight=limit.in_flight,
            limit=limit.current,
            paused=limit.paused,
            sent=totals.sent - sent,
            retries=totals.retried - retried,
            refused=totals.refused - refused,
            rate=self._rate(),
        )

    def _rate(self) -> float:
        elapsed = self._clock.now() - self._start
        first = int(elapsed) - _RATE_SECONDS
        done = sum(count for second, count in tuple(self._seconds) if second > first)
        # Counted time: the whole seconds of the window and the part of the last one.
        span = elapsed - max(first + 1, 0)
        return done / span if span > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _End:
    """A worker has finished, or the iterable raised an error."""

    error: BaseException | None = None


async def run_all(
    items: Iterable[Item],
    call: Callable[[Item], Awaitable[Result]],
    limit: AdaptiveLimit,
    *,
    counters: Counters | None = None,
) -> AsyncGenerator[tuple[int, Result | ServiceError], None]:
    """Call for every item, and yield its index with its result, in order of arrival.

    At most `limit.allowed` calls run concurrently; their requests respect the limit itself. Items
    are taken when a worker is free, and results wait for the reader, so that memory is bounded. If
    a call raises, its result is a ServiceError (kind FAULT for any other error) and the run
    continues. An error of the iterable ends the run and is raised. A reader that stops early closes
    the run (`contextlib.aclosing`), which cancels its calls and waits for them.
    """
    numbered = enumerate(items)
    results: asyncio.Queue[tuple[int, Result | ServiceError] | _End] = asyncio.Queue(limit.allowed)
    workers = [
        asyncio.create_task(_work(numbered, call, results, counters))
        for _ in range(limit.allowed)
    ]  # fmt: skip
    running = len(workers)
    try:
        while running:
            result = await results.get()
            if not isinstance(result, _End):
                yield result
                continue
            running -= 1
            if result.error is not None:
                raise result.error
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _work(
    numbered: Iterator[tuple[int, Item]],
    call: Callable[[Item], Awaitable[Result]],
    results: asyncio.Queue[tuple[int, Result | ServiceError] | _End],
    counters: Counters | None,
) -> None:
    try:
        for index, item in numbered:
            result = await _outcome(call, item)
            if counters is not None:
                counters.count(isinstance(result, ServiceError))
            await results.put((index, result))
        await results.put(_End())
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again where the results are read
        await results.put(_End(error))


async def _outcome(call: Callable[[Item], Awaitable[Result]], item: Item) -> Result | ServiceError:
    try:
        return await call(item)
    except ServiceError as error:
        # Its frames hold the item and the request, while results may live long.
        return error.with_traceback(None)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return ServiceError(ErrorKind.FAULT, "the call was cancelled")
    except Exception as error:  # noqa: BLE001 - one item never ends the run
        return ServiceError(ErrorKind.FAULT, f"{type(error).__name__}: {error}", final=True)
