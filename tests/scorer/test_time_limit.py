"""Code of users that does not end is ended; everything else is left alone."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
from typing import Any

import pytest

from guardtui.scorer.time_limit import TimeLimit, TimeLimitError

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm")

ENDLESS = "a" * 40 + "!"


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|aa)+$", "(?i)(?=(A+)+$)b", "((a*)*)*$"])
def test_an_expression_without_end_is_ended(expression: str) -> None:
    with pytest.raises(TimeLimitError, match=r"^it takes longer than 0\.1 s$"), TimeLimit(0.1):
        re.search(expression, ENDLESS)


def test_code_that_catches_every_exception_is_ended_too() -> None:
    ended = 0
    with TimeLimit(0.02) as limit:
        while ended < 3:
            try:
                re.search("(a+)+$", ENDLESS)
            except Exception:  # noqa: BLE001 - a plug-in may do so
                ended += 1
                limit.next_step()


def test_many_steps_together_may_take_longer() -> None:
    ticks = 0
    with TimeLimit(0.05) as limit:
        tick, limit._tick = limit._tick, None  # type: ignore[assignment,method-assign]
        for _ in range(100):
            limit.next_step()
            for _ in range(9):
                tick(signal.SIGALRM, None)
                ticks += 1
    assert ticks == 900


async def test_waiting_in_the_event_loop_is_no_step() -> None:
    async def waited() -> str:
        await asyncio.sleep(0.2)
        return "an answer"

    with TimeLimit(0.05):
        assert await waited() == "an answer"


async def test_an_endless_task_of_the_loop_is_ended() -> None:
    async def endless() -> Any:
        return re.search("(a+)+$", ENDLESS)

    with TimeLimit(0.1), pytest.raises(TimeLimitError):
        await asyncio.gather(asyncio.create_task(endless()), asyncio.sleep(0))


def test_the_alarm_before_is_restored() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with TimeLimit(5), TimeLimit(5):
        assert signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_there_is_no_limit() -> None:
    results: list[bool] = []

    def work() -> None:
        with TimeLimit(0.1):
            results.append(signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [True]
