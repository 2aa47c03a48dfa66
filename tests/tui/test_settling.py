"""Waiting in tests: each helper returns as soon as what it waits for has happened."""

from __future__ import annotations

import asyncio

import pytest

from tests.tui.settling import until


async def test_a_change_that_comes_while_the_loop_is_awake_is_noticed() -> None:
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def condition() -> bool:
        if not changed.is_set():
            loop.call_soon(changed.set)  # handled without a sleep in between
        return changed.is_set()

    await until(condition, 5)


async def test_a_condition_that_never_holds_ends_the_wait() -> None:
    with pytest.raises(TimeoutError):
        await until(lambda: False, 0.01)
