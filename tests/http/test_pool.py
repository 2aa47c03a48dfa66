"""Many calls: each item once, bounded in number and memory, whatever some of them do."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.http.pool import Counters, run_all
from guardtui.http.retries import Retries
from tests.examples import up_to
from tests.http.server import Answer, Received, Server, answer
from tests.http.times import JumpClock, LoopClock, run_virtual


def limit(allowed: int = 5, rate: Rate | None = None) -> AdaptiveLimit:
    return AdaptiveLimit(allowed, rate=rate, clock=LoopClock())


@settings(max_examples=up_to(60), deadline=None)
@given(
    ends=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from(["ok", "service", "bug", "cancelled"]))
    ),
    allowed=st.integers(1, 8),
    slow=st.floats(0, 0.3),
)
def test_every_item_is_returned_once_within_the_limit(
    ends: list[tuple[float, str]], allowed: int, slow: float
) -> None:
    async def main() -> None:
        under, running, taken, read = limit(allowed), 0, 0, 0

        def items() -> Iterator[tuple[float, str]]:
            nonlocal taken
            for end in ends:
                taken += 1
                # Running ones, finished ones in the queue, finished ones before it, one being read.
                assert taken - read <= 3 * allowed + 1
                yield end

        async def call(item: tuple[float, str]) -> float:
            nonlocal running
            running += 1
            assert running <= allowed
            try:
                await asyncio.sleep(item[0])
            finally:
                running -= 1
            if item[1] == "service":
                raise ServiceError(ErrorKind.SERVER, "no")
            if item[1] == "bug":
                raise ZeroDivisionError("by\x1bzero")
            if item[1] == "cancelled":
                raise asyncio.CancelledError
            return item[0]

        counters = Counters(under)
        results = {}
        async for index, result in run_all(items(), call, under, counters=counters):
            assert index not in results
            results[index] = result
            await asyncio.sleep(slow)
            read += 1
        assert sorted(results) == list(range(len(ends)))
        for index, (delay, end) in enumerate(ends):
            result = results[index]
            if end == "ok":
                assert result == delay
            else:
                assert isinstance(result, ServiceError)
                assert result.kind is (ErrorKind.SERVER if end == "service" else ErrorKind.FAULT)
                assert result.message.isprintable()
                assert result.__traceback__ is None
        shot = counters.snapshot()
        assert shot.done == len(ends)
        assert shot.errors == sum(end != "ok" for _, end in ends)
        assert len(asyncio.all_tasks()) == 1

    run_virtual(main())


async def test_results_arrive_in_order_of_completion() -> None:
    gates = [asyncio.Event() for _ in range(3)]

    async def call(index: int) -> int:
        await gates[index].wait()
        return index

    run = run_all(range(3), call, AdaptiveLimit(3))
    order = []
    for index in (2, 0, 1):
        gates[index].set()
        order.append(await anext(run))
    assert order == [(2, 2), (0, 0), (1, 1)]
    with pytest.raises(StopAsyncIteration):
        await anext(run)


async def _forever(item: int) -> int:
    await asyncio.Event().wait()
    return item


async def test_stopped_reader_cancels_running_calls() -> None:
    ended = []

    async def call(item: int) -> int:
        if item == 0:
            return item
        try:
            return await _forever(item)
        finally:
            ended.append(item)

    async with contextlib.aclosing(run_all(range(1000), call, AdaptiveLimit(4))) as run:
        async for index, _ in run:
            assert index == 0
            break
    assert 1 <= len(ended) <= 4
    assert len(asyncio.all_tasks()) == 1


async def test_cancelled_reader_cancels_running_calls() -> None:
    limit = AdaptiveLimit(3)

    async def call(item: int) -> int:
        with await limit.acquire():
            return await _forever(item)

    async def read() -> None:
        async for _ in run_all(range(1000), call, limit):
            pass

    task = asyncio.ensure_future(read())
    while limit.in_flight < 3:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert limit.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


async def test_error_of_the_iterable_ends_the_run() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the file is gone")

    async def call(item: int) -> int:
        return item

    run = run_all(items(), call, AdaptiveLimit(1))
    assert await anext(run) == (0, 1)
    with pytest.raises(OSError, match="gone"):
        await anext(run)
    assert len(asyncio.all_tasks()) == 1


async def test_base_exception_of_a_call_is_raised() -> None:
    async def call(item: int) -> int:
        pytest.fail("outcomes of tests are no exceptions")

    with pytest.raises(pytest.fail.Exception, match="outcomes"):
        async for _ in run_all(range(3), call, AdaptiveLimit(3)):
            pass


async def test_run_without_items_is_empty() -> None:
    assert [one async for one in run_all([], _forever, AdaptiveLimit(3))] == []


def test_snapshot_shows_figures_during_a_run() -> None:
    async def main() -> None:
        under = limit(4, Rate(10))
        under.totals.sent = under.totals.refused = 100
        counters = Counters(under)
        assert counters.snapshot().rate == 0

        async def call(item: int) -> None:
            with await under.acquire() as permit:
                await asyncio.sleep(0.2)
                if item >= 90:
                    permit.refused()
                    raise ServiceError(ErrorKind.LIMITED, "slow down")
                permit.accepted()

        done = errors = 0
        async for _, result in run_all(range(100), call, under, counters=counters):
            done += 1
            errors += isinstance(result, ServiceError)
            shot = counters.snapshot()
            assert done <= shot.done <= done + 8
            assert shot.in_flight <= 4
            assert shot.sent <= done + 8
            if done == 80:
                assert shot.rate == pytest.approx(9.8, abs=1.5)
        shot = counters.snapshot()
        assert (shot.done, shot.errors, shot.sent, shot.refused) == (100, 10, 100, 10)
        assert (shot.in_flight, errors) == (0, 10)
        await asyncio.sleep(60)
        assert counters.snapshot().rate == 0
        under.pause(8)
        assert counters.snapshot().paused == pytest.approx(8)

    run_virtual(main())


async def test_refused_requests_lose_no_items() -> None:
    count = 0

    def script(request: Received) -> Answer:
        nonlocal count
        count += 1
        return answer(status=429, retry_after="2") if count % 3 == 0 else answer(request.json)

    clock = JumpClock()
    under = AdaptiveLimit(5, clock=clock)
    counters = Counters(under)
    async with Server(script) as server:
        endpoint = Endpoint.parse(server.url)
        policy = Retries(attempts=30, total=100_000)
        async with RemoteClient(endpoint, limit=under, retries=policy, clock=clock) as remote:

            async def call(item: int) -> int:
                data = (await remote.request("POST", "/", json=item)).data
                assert isinstance(data, int)
                return data

            run = run_all(iter(range(60)), call, under, counters=counters)
            results = [one async for one in run]
    assert sorted(results) == [(index, index) for index in range(60)]
    shot = counters.snapshot()
    assert shot.sent == count == 60 + shot.refused
    assert shot.retries == shot.refused > 20
    assert 1 <= shot.limit <= 5


@pytest.mark.parametrize("seed", range(5))
def test_limited_service_is_used_to_capacity(seed: int) -> None:
    """More than 3 at a time are refused: the limit settles near it, and all items are done."""

    async def main() -> None:
        draw = random.Random(seed)
        under, running, refused = limit(16), 0, 0

        async def call(item: int) -> int:
            nonlocal running, refused
            while True:
                with await under.acquire() as permit:
                    running += 1
                    try:
                        await asyncio.sleep(0.1 + draw.random() / 20)
                        over = running > 3
                    finally:
                        running -= 1
                    if not over:
                        permit.accepted()
                        return item
                    refused += 1
                    permit.refused()
                await asyncio.sleep(draw.random())

        done = [one async for one in run_all(range(1500), call, under)]
        assert len(done) == 1500
        assert refused < 300
        ideal = 1500 * 0.125 / 3
        assert asyncio.get_running_loop().time() < 1.6 * ideal

    run_virtual(main())
