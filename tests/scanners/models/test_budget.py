"""A budget that is never passed, whatever calls run at once and whatever services count."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.verdicts import Usage
from guardtui.http.answers import TokenUsage
from guardtui.scanners.models.budget import BudgetError, CallBudget, Prices

CALL = st.tuples(
    st.integers(0, 400),  # bytes of the messages
    st.floats(0, 1),  # how much of what was reserved is used
    st.sampled_from(["counted", "half", "uncounted", "nothing"]),
    st.integers(0, 5),  # turns of the loop that it takes
)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@given(
    calls=st.lists(CALL, max_size=30),
    most_tokens=st.none() | st.integers(0, 5_000),
    most_cost=st.none() | st.floats(0, 0.05),
    answer_tokens=st.integers(1, 200),
)
async def test_no_limit_is_exceeded(
    calls: list[tuple[int, float, str, int]],
    most_tokens: int | None,
    most_cost: float | None,
    answer_tokens: int,
) -> None:
    budget = CallBudget(
        Prices(3.0, 15.0), most_tokens=most_tokens, most_cost=most_cost,
        answer_tokens=answer_tokens,
    )  # fmt: skip
    refused: list[int] = []
    true_tokens = 0

    async def call(size: int, share: float, how: str, time: int) -> None:
        nonlocal true_tokens
        try:
            reserved = await budget.room(size)
        except BudgetError:
            refused.append(size)
            return
        await turns(time)
        asked, answered = int(size * share), int(answer_tokens * share)
        usage = {
            "counted": TokenUsage(asked, answered),
            "half": TokenUsage(asked, None),
            "uncounted": TokenUsage(),
            "nothing": None,
        }[how]
        true_tokens += 0 if usage is None else asked + answered
        budget.settle(reserved, usage)

    async with asyncio.timeout(120):
        await asyncio.gather(*(call(*one) for one in calls))
    spent = budget.spent
    used = spent.input_tokens + spent.output_tokens
    # Services tell less than was used, or nothing: what is counted is never less.
    assert used >= true_tokens
    assert most_tokens is None or used <= most_tokens
    assert most_cost is None or spent.cost <= most_cost * (1 + 1e-9)
    assert spent.cost == pytest.approx(
        Prices(3.0, 15.0).of(spent.input_tokens, spent.output_tokens)
    )
    if most_tokens is None and most_cost is None:
        assert not refused
    # Nothing stays reserved: a call that fits what is left gets it.
    free = CallBudget(Prices(3.0, 15.0), answer_tokens=answer_tokens)
    smallest = free.reserve(0)
    fits = (most_tokens is None or used + smallest.tokens <= most_tokens) and (
        most_cost is None or spent.cost + smallest.cost <= most_cost
    )
    if fits:
        budget.reserve(0)
    else:
        with pytest.raises(BudgetError):
            budget.reserve(0)


async def test_call_waits_while_budget_may_be_released() -> None:
    """Calls reserve much more than they use: those at once must not refuse one another."""
    budget = CallBudget(most_tokens=1_000, answer_tokens=400)
    first = await budget.room(100)
    second = asyncio.create_task(budget.room(100))
    await turns(3)
    assert not second.done()
    budget.settle(first, TokenUsage(30, 5))
    reserved = await second
    assert budget.spent == Usage(1, 30, 5)
    # A call that fits under no circumstances does not wait.
    with pytest.raises(BudgetError, match=r"exceed the budget of 1000 tokens \(35 used\)"):
        await budget.room(5_000)
    waiting = asyncio.create_task(budget.room(100))
    await turns(3)
    budget.settle(reserved, TokenUsage(900, 50))
    with pytest.raises(BudgetError):
        await waiting


async def test_cancelled_waiting_call_reserves_nothing() -> None:
    budget = CallBudget(most_tokens=700, answer_tokens=400)
    first = await budget.room(100)
    waiting = asyncio.create_task(budget.room(100))
    await turns(3)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    budget.settle(first, None)
    assert budget.spent == Usage()
    budget.settle(await budget.room(100), None)


def test_uncounted_tokens_count_as_their_maximum() -> None:
    budget = CallBudget(Prices(1.0, 10.0), answer_tokens=50)
    budget.settle(budget.reserve(100), TokenUsage())
    spent = budget.spent
    assert spent.uncounted == spent.calls == 1
    assert spent.input_tokens >= 100
    assert spent.output_tokens == 50
    assert spent.cost == pytest.approx((spent.input_tokens + 500) / 1e6)
    budget.settle(budget.reserve(100), TokenUsage(7, None))
    assert budget.spent + Usage(-1, -spent.input_tokens, -50, -spent.cost, -1) == Usage(
        1, 7, 50, pytest.approx(0.000507), 1
    )


def test_exhausted_cost_budget_rejects_calls() -> None:
    budget = CallBudget(Prices(0.0, 10.0), most_cost=0.001, answer_tokens=60)
    budget.settle(budget.reserve(100), TokenUsage(100, 50))
    with pytest.raises(BudgetError, match=r"exceed the budget of 0.001 \(0.0005 spent"):
        budget.reserve(0)


def test_count_above_the_reservation_is_used_and_ends_the_run() -> None:
    budget = CallBudget(most_tokens=1_000, answer_tokens=10)
    budget.settle(budget.reserve(10), TokenUsage(10, 5_000))
    assert budget.spent.output_tokens == 5_000
    with pytest.raises(BudgetError):
        budget.reserve(0)
