"""Many endpoints as one: who is asked, who is set aside, who is out, and when all are lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.fleet import Fleet, Member, Turn
from guardtui.http.limits import Rate
from tests.http.times import LoopClock, run_virtual

BROKEN = ServiceError(Kind.BROKEN, "it broke")
LIMITED = ServiceError(Kind.LIMITED, "slow down", status=429)
UNREACHABLE = ServiceError(Kind.UNREACHABLE, "nobody there")
DENIED = ServiceError(Kind.CREDENTIALS, "HTTP 401: no", status=401, final=True)
FORBIDDEN = ServiceError(Kind.CREDENTIALS, "HTTP 403: no", status=403, final=True)
MISSING = ServiceError(Kind.REQUEST, "HTTP 404: no", status=404, final=True)
MOVED = ServiceError(Kind.REDIRECT, "HTTP 301: elsewhere", status=301, final=True)
REFUSED = ServiceError(Kind.REQUEST, "HTTP 400: too long", status=400, final=True)


def members(*allowed: int, rate: Rate | None = None) -> list[Member]:
    return [
        Member(Endpoint.parse(f"http://127.0.0.1:{8000 + at}/v1"), room, rate)
        for at, room in enumerate(allowed)
    ]


def fleet_of(some: Sequence[Member], retries: int = 5) -> Fleet:
    return Fleet(some, retries=retries, clock=LoopClock())


async def turns(fleet: Fleet, count: int) -> list[Turn]:
    return [await fleet.acquire() for _ in range(count)]


async def fail(fleet: Fleet, member: Member, error: ServiceError) -> None:
    """One call fails at this member."""
    while (turn := await fleet.acquire()).member is not member:
        fleet.dropped(turn)
    fleet.failed(turn, error)


def test_most_room_first_and_each_limit_is_kept() -> None:
    async def main() -> None:
        some = members(4, 2, 1)
        fleet = fleet_of(some)
        assert (fleet.allowed, fleet.current, fleet.in_flight) == (7, 7, 0)
        first = await turns(fleet, 2)
        assert [one.member for one in first] == [some[0], some[0]]
        rest = await turns(fleet, 5)
        assert Counter(one.member for one in [*first, *rest]) == {one: one.allowed for one in some}
        assert (fleet.in_flight, fleet.totals.sent) == (7, 7)
        eighth = asyncio.ensure_future(fleet.acquire())
        await asyncio.sleep(100)
        assert not eighth.done()
        fleet.answered(rest[-1])
        assert (await eighth).member is rest[-1].member

    run_virtual(main())


def test_first_come_first_served_and_the_cancelled_leave_no_gap() -> None:
    async def main() -> None:
        fleet = fleet_of(members(1))
        turn = await fleet.acquire()
        waiting = [asyncio.ensure_future(fleet.acquire()) for _ in range(3)]
        await asyncio.sleep(1)
        waiting[0].cancel()
        fleet.answered(turn)
        turn = await waiting[1]
        assert waiting[0].cancelled()
        assert not waiting[2].done()
        await asyncio.sleep(1)
        # Cancelled after the turn was given, before it was taken.
        fleet.answered(turn)
        await asyncio.sleep(0)
        assert fleet.in_flight == 1
        waiting[2].cancel()
        await asyncio.sleep(1)
        assert fleet.in_flight == 0

    run_virtual(main())


def test_one_that_fails_again_and_again_is_set_aside_for_longer_and_longer() -> None:
    async def main() -> None:
        some = members(8, 2)
        bad, good = some
        fleet = fleet_of(some)
        sent = await turns(fleet, 8)
        broken = [one for one in sent if one.member is bad]
        assert len(broken) > 3
        for one in broken:
            fleet.failed(one, BROKEN)
        # Those that were under way count once.
        assert (bad.aside, bad.errors, fleet.working) == (1, len(broken), 1)
        for one in sent:
            if one.member is good:
                fleet.answered(one)
        times = []
        for _ in range(8):
            # The good one is full, so that the other one is tried as soon as it may be.
            busy = [await fleet.acquire() for _ in range(2)]
            assert {one.member for one in busy} == {good}
            start = asyncio.get_running_loop().time()
            trial = await fleet.acquire()
            times.append(round(asyncio.get_running_loop().time() - start))
            assert trial.member is bad
            # One call at a time, until it answers.
            assert fleet.current == 3
            other = asyncio.ensure_future(fleet.acquire())
            await asyncio.sleep(0.1)
            assert not other.done()
            other.cancel()
            fleet.failed(trial, BROKEN)
            for one in busy:
                fleet.answered(one)
        assert times == [1, 2, 4, 8, 16, 32, 60, 60]
        busy = [await fleet.acquire() for _ in range(2)]
        trial = await fleet.acquire()
        fleet.answered(trial)
        assert fleet.working == 2
        assert Counter(one.member for one in [*busy, *await turns(fleet, 8)]) == {bad: 8, good: 2}

    run_virtual(main())


@pytest.mark.parametrize("error", [DENIED, MISSING, MOVED])
def test_what_can_never_work_puts_out_one_only(error: ServiceError) -> None:
    async def main() -> None:
        some, told = members(2, 2), []
        fleet = Fleet(some, clock=LoopClock(), went_out=told.append)
        sent = await turns(fleet, 4)
        for one in sent:
            if one.member is some[0]:
                fleet.failed(one, error)
            else:
                fleet.answered(one)
        assert told == [some[0]]
        assert some[0].out == error.message
        assert (fleet.working, fleet.current) == (1, 2)
        assert {one.member for one in await turns(fleet, 2)} == {some[1]}
        # It stays so in the next run.
        later = fleet_of(some)
        assert {one.member for one in await turns(later, 2)} == {some[1]}

    run_virtual(main())


def test_403_is_of_a_prompt_where_others_were_answered() -> None:
    async def main() -> None:
        some = members(4)
        fleet = fleet_of(some)
        fleet.answered(await fleet.acquire())
        for _ in range(10):
            fleet.failed(await fleet.acquire(), FORBIDDEN)
        assert fleet.working == 1
        others = members(4)
        fleet = fleet_of(others)
        under_way = await turns(fleet, 4)
        for one in under_way[:3]:
            fleet.failed(one, FORBIDDEN)
        assert fleet.working == 0
        # An answer that was under way shows that it was not the key.
        fleet.answered(under_way[3])
        assert fleet.working == 1

    run_virtual(main())


def test_a_question_that_is_wrong_sets_nobody_aside() -> None:
    async def main() -> None:
        some = members(1)
        fleet = fleet_of(some)
        for _ in range(10):
            fleet.failed(await fleet.acquire(), REFUSED)
        assert (fleet.working, some[0].errors) == (1, 10)

    run_virtual(main())


def test_429_backs_off_and_comes_back() -> None:
    async def main() -> None:
        some = members(8, 8)
        fleet = fleet_of(some)
        sent = await turns(fleet, 16)
        for one in sent:
            if one.member is some[0]:
                one.permit.refused()
                fleet.failed(one, LIMITED)
        assert (some[0].refused, some[0].errors, some[0].aside) == (8, 0, 1)
        assert fleet.totals.refused == 8
        turn = await fleet.acquire()  # the other one is full
        assert turn.member is some[0]
        assert asyncio.get_running_loop().time() >= 1
        fleet.answered(turn)
        assert len(await turns(fleet, 4)) == 4  # its limit has halved
        assert fleet.in_flight == 12

    run_virtual(main())


def test_a_pause_that_is_asked_for_holds_for_one_only() -> None:
    async def main() -> None:
        some = members(2, 2)
        fleet = fleet_of(some)
        turn = await fleet.acquire()
        turn.permit.refused(30)
        fleet.failed(turn, ServiceError(Kind.LIMITED, "wait", status=429, retry_after=30))
        busy = await turns(fleet, 2)
        assert turn.member not in {one.member for one in busy}
        assert fleet.paused == 0
        assert (await fleet.acquire()).member is turn.member
        assert asyncio.get_running_loop().time() >= 30

    run_virtual(main())


def test_a_call_avoids_where_it_failed_as_long_as_there_is_another() -> None:
    async def main() -> None:
        some = members(8, 1)
        fleet = fleet_of(some)
        one = await fleet.acquire({some[0]})
        assert one.member is some[1]
        waiting = asyncio.ensure_future(fleet.acquire({some[0]}))
        await asyncio.sleep(1)
        assert not waiting.done()
        # Who comes later, and may go anywhere, does not wait for it.
        assert (await asyncio.wait_for(fleet.acquire(), 1)).member is some[0]
        fleet.failed(one, DENIED)
        assert (await waiting).member is some[0]
        assert not fleet.elsewhere({some[0]})

    run_virtual(main())


def test_rates_hold_for_each() -> None:
    async def main() -> None:
        some = members(8, 8, rate=Rate(2))
        fleet = fleet_of(some)
        for _ in range(21):
            fleet.answered(await fleet.acquire())
        assert 4.5 < asyncio.get_running_loop().time() < 6
        assert sorted(one.calls for one in some) == [10, 11]

    run_virtual(main())


def test_held_gives_nothing() -> None:
    async def main() -> None:
        fleet = fleet_of(members(2))
        fleet.hold(True)
        assert fleet.held
        waiting = asyncio.ensure_future(fleet.acquire())
        await asyncio.sleep(10)
        assert not waiting.done()
        fleet.hold(False)
        await waiting

    run_virtual(main())


def test_nobody_was_ever_there() -> None:
    async def main() -> None:
        some = members(4, 4)
        fleet = fleet_of(some)
        sent = await turns(fleet, 8)
        waiting = [asyncio.ensure_future(fleet.acquire()) for _ in range(3)]
        for one in sent:
            fleet.failed(one, UNREACHABLE)
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        for end in ends:
            assert isinstance(end, ServiceError)
            assert (end.kind, end.final) == (Kind.UNREACHABLE, True)
            assert end.message == (
                "none of 2 endpoints answers: 127.0.0.1:8000: nobody there; "
                "127.0.0.1:8001: nobody there"
            )
        assert asyncio.get_running_loop().time() < 1

    run_virtual(main())


def test_those_that_were_there_are_waited_for_but_not_for_ever() -> None:
    async def main() -> None:
        some = members(1, 1)
        fleet = fleet_of(some, retries=2)
        for one in await turns(fleet, 2):
            fleet.answered(one)

        async def fail_on() -> None:
            while True:
                fleet.failed(await fleet.acquire(), BROKEN)

        with pytest.raises(ServiceError, match=r"none of 2 endpoints answers.*it broke"):
            await fail_on()
        # Three failures in a row, then one after 1 s, one after 2 s.
        assert 3 <= asyncio.get_running_loop().time() < 4
        assert [one.errors for one in some] == [5, 5]
        assert 3.5 < fleet.paused <= 4
        await asyncio.sleep(4)
        fleet.answered(await fleet.acquire())
        assert fleet.working == 2

    run_virtual(main())


def test_all_refuse_the_key() -> None:
    async def main() -> None:
        some = members(1, 1)
        fleet = fleet_of(some)
        for one in some:
            await fail(fleet, one, DENIED)
        with pytest.raises(ServiceError, match=r"none of 2 .*401") as caught:
            await fleet.acquire()
        assert caught.value.kind is Kind.CREDENTIALS

    run_virtual(main())


def test_a_pause_of_hours_is_not_waited_for() -> None:
    async def main() -> None:
        fleet = fleet_of(members(1))
        turn = await fleet.acquire()
        turn.permit.refused(7200)
        fleet.failed(turn, ServiceError(Kind.LIMITED, "wait", status=429, retry_after=7200))
        with pytest.raises(ServiceError, match="wait"):
            await fleet.acquire()

    run_virtual(main())


def test_a_fleet_needs_somebody() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fleet_of([])
