"""Permits: never too many, never too fast, in order, and none is lost; on made-up time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.http.limits import AdaptiveLimit, PauseTooLongError, Permit, Rate
from tests.examples import up_to
from tests.http.times import LoopClock, run_virtual


def limit(allowed: int = 5, rate: Rate | None = None) -> AdaptiveLimit:
    return AdaptiveLimit(allowed, rate=rate, clock=LoopClock())


def now() -> float:
    return asyncio.get_running_loop().time()


@settings(max_examples=up_to(60), deadline=None)
@given(
    sends=st.integers(1, 12),
    seconds=st.sampled_from([1.0, 0.3, 6.0]),
    allowed=st.integers(1, 40),
    arrivals=st.lists(st.floats(0, 2), min_size=1, max_size=60),
    work=st.lists(st.floats(0, 0.5), min_size=1, max_size=5),
    pauses=st.lists(st.floats(0, 3), max_size=3),
)
def test_no_window_holds_more_than_its_rate(
    sends: int,
    seconds: float,
    allowed: int,
    arrivals: list[float],
    work: list[float],
    pauses: list[float],
) -> None:
    times: list[float] = []

    async def main() -> None:
        under = limit(allowed, Rate(sends, seconds))

        async def one(index: int, arrival: float) -> None:
            await asyncio.sleep(arrival)
            with await under.acquire():
                times.append(now())
                await asyncio.sleep(work[index % len(work)])

        for delay in pauses:
            asyncio.get_running_loop().call_later(delay, under.pause, 0.2)
        await asyncio.gather(*(one(*item) for item in enumerate(arrivals)))

    run_virtual(main())
    times.sort()
    assert len(times) == len(arrivals)
    for first, later in zip(times, times[sends:], strict=False):
        assert later - first >= seconds


def test_rate_is_nearly_exhausted() -> None:
    async def main() -> float:
        under = limit(5, Rate(50))

        async def one() -> None:
            with await under.acquire():
                await asyncio.sleep(0.01)

        await asyncio.gather(*(one() for _ in range(500)))
        return now()

    assert 10.0 <= run_virtual(main()) + 1 / 50 + 0.02 <= 10.5


@pytest.mark.parametrize(("value", "rate"), [(5, Rate(5)), (2.5, Rate(2)), (0.25, Rate(1, 4.0))])
def test_rate_per_second_is_converted(value: float, rate: Rate) -> None:
    assert Rate.per_second(value) == rate


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_invalid_rate_is_rejected(value: float) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate.per_second(value)
    with pytest.raises(ValueError, match="rate"):
        Rate(1, value)
    with pytest.raises(ValueError, match="at least one"):
        AdaptiveLimit(0)


@settings(max_examples=up_to(80), deadline=None)
@given(
    allowed=st.integers(1, 6),
    plan=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.floats(0, 1),
            st.sampled_from(["ok", "429", "wait", "dies"]),
            st.none() | st.floats(0, 2),
        ),
        max_size=40,
    ),
    rated=st.booleans(),
)
def test_permits_are_bounded_and_never_lost(
    allowed: int, plan: Sequence[tuple[float, float, str, float | None]], rated: bool
) -> None:
    async def main() -> None:
        under = limit(allowed, Rate(20) if rated else None)
        out = 0

        async def one(work: float, end: str) -> None:
            nonlocal out
            with await under.acquire() as permit:
                out += 1
                assert out <= under.in_flight <= allowed
                assert 1 <= under.current <= allowed
                try:
                    await asyncio.sleep(work)
                    if end == "dies":
                        raise RuntimeError
                finally:
                    out -= 1
                if end == "ok":
                    permit.accepted()
                else:
                    permit.refused(0.3 if end == "wait" else None)

        async def arrives(arrival: float, work: float, end: str, cancelled: float | None) -> None:
            await asyncio.sleep(arrival)
            task = asyncio.ensure_future(one(work, end))
            if cancelled is not None:
                asyncio.get_running_loop().call_later(cancelled, task.cancel)
            await asyncio.wait([task])
            assert task.cancelled() or isinstance(task.exception(), RuntimeError | None)

        await asyncio.gather(*(arrives(*one) for one in plan))
        assert under.in_flight == 0
        await asyncio.sleep(5)
        whole = [await asyncio.wait_for(under.acquire(), 120) for _ in range(under.current)]
        assert under.in_flight == under.current
        for permit in whole:
            permit.release()

    run_virtual(main())


@pytest.mark.parametrize("seed", range(20))
def test_permit_of_a_cancelled_task_goes_to_the_next(seed: int) -> None:
    """The permit is given and the task cancelled in one turn of the loop, in both orders."""

    async def main() -> None:
        under = limit(1)
        first = await under.acquire()
        waiting = [asyncio.ensure_future(under.acquire()) for _ in range(5)]
        await asyncio.sleep(0)
        acts: list[Callable[[], object]] = [
            first.release,
            waiting[0].cancel,
            waiting[1].cancel,
            waiting[3].cancel,
        ]
        random.Random(seed).shuffle(acts)
        for act in acts:
            act()
        got: list[int] = []
        for index in (2, 4):
            permit = await waiting[index]
            got.append(index)
            permit.release()
        assert got == [2, 4]
        assert under.in_flight == 0

    run_virtual(main())


def test_permits_are_first_come_first_served_after_a_pause() -> None:
    async def main() -> list[int]:
        under = limit(2, Rate(10))
        order: list[int] = []

        async def one(index: int) -> None:
            with await under.acquire():
                order.append(index)
                await asyncio.sleep(0.1)

        tasks = []
        for index in range(20):
            tasks.append(asyncio.ensure_future(one(index)))
            await asyncio.sleep(0.01)
            if index == 10:
                under.pause(3)
        await asyncio.gather(*tasks)
        return order

    assert run_virtual(main()) == list(range(20))


def test_pause_applies_to_all_and_is_never_shortened() -> None:
    async def main() -> None:
        under = limit(3)
        permit = await under.acquire()
        permit.refused(2.0)
        under.pause(0.5)
        assert under.paused == pytest.approx(2.0)
        times = []

        async def one() -> None:
            with await under.acquire():
                times.append(now())

        await asyncio.gather(*(one() for _ in range(4)))
        assert times == pytest.approx([2.0] * 4, abs=0.01)
        assert under.paused == 0

    run_virtual(main())


def test_impatient_caller_fails_at_once_on_a_pause() -> None:
    async def main() -> None:
        under = limit(1)
        permit = await under.acquire()
        hurried = asyncio.ensure_future(under.acquire(patience=5))
        patient = asyncio.ensure_future(under.acquire(patience=5000))
        await asyncio.sleep(1)
        permit.refused(600)
        with pytest.raises(PauseTooLongError) as caught:
            await hurried
        assert caught.value.seconds == pytest.approx(600)
        assert now() == 1
        with pytest.raises(PauseTooLongError):
            await under.acquire(patience=0)
        (await patient).release()
        assert now() == pytest.approx(601)
        assert under.in_flight == 0

    run_virtual(main())


def test_limit_decreases_by_the_refused_share_and_recovers() -> None:
    async def main() -> None:
        under = limit(8)

        async def wave(count: int) -> list[Permit]:
            return [await under.acquire() for _ in range(count)]

        first, *others = await wave(8)
        first.refused()
        for permit in others:
            permit.accepted()
        assert under.current == 7
        for permit in await wave(7):
            permit.accepted()
        while under.current < 8:
            (await under.acquire()).accepted()
        # All refused: half of it, and again half.
        for half in (4, 2, 1, 1):
            for permit in await wave(under.current):
                permit.refused()
            assert under.current == half
        rounds = 0
        while under.current < 8:
            rounds += 1
            for permit in await wave(under.current):
                permit.accepted()
                permit.accepted()
        assert 30 <= rounds <= 45
        for permit in await wave(8) * 5:
            permit.accepted()
        assert under.current == 8
        assert under.in_flight == 0
        assert under.totals.refused == 1 + 8 + 4 + 2 + 1

    run_virtual(main())


def test_refusals_unrelated_to_the_load_do_not_stop_requests() -> None:
    """A share is refused whatever is in flight: that of the limit which is left is no trickle."""

    async def main() -> None:
        draw, under, sizes = random.Random(7), limit(20), []
        for _ in range(200):
            permits = [await under.acquire() for _ in range(under.current)]
            for permit in permits:
                if draw.random() < 0.05:
                    permit.refused()
                else:
                    permit.accepted()
                sizes.append(under.current)
        assert 6 < sum(sizes) / len(sizes) < 20

    run_virtual(main())


def test_held_limit_blocks_new_permits_only() -> None:
    async def main() -> None:
        under = limit(2, Rate(50))
        out = await under.acquire()
        under.hold(True)
        assert under.held
        waiting = [asyncio.ensure_future(under.acquire()) for _ in range(4)]
        await asyncio.sleep(100)
        assert not any(one.done() for one in waiting)
        out.accepted()
        assert under.in_flight == 0
        await asyncio.sleep(100)
        assert under.totals.sent == 1
        # Who no longer wants to goes at once, and the others keep their order.
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        assert now() == pytest.approx(200)
        under.hold(False)
        (await waiting[1]).release()
        (await waiting[2]).release()
        (await waiting[3]).release()
        assert now() < 201
        assert (under.in_flight, under.totals.sent, under.held) == (0, 4, False)

    run_virtual(main())


def test_pause_and_hold_both_have_to_end() -> None:
    async def main() -> None:
        under = limit(2)
        under.hold(True)
        under.pause(5)
        waiting = asyncio.ensure_future(under.acquire())
        await asyncio.sleep(10)
        assert not waiting.done()
        under.pause(5)
        under.hold(False)
        (await waiting).release()
        assert now() == pytest.approx(15)
        # Nobody's turn was lost: a limit that was held and let go again is as before.
        under.hold(True)
        under.hold(False)
        (await under.acquire()).release()
        assert now() == pytest.approx(15, abs=0.01)

    run_virtual(main())
