"""Several scorers on one answer, and scoring in the middle of a task."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from guardtui.scorer import Score, Target, TaskState, includes, match, mean, multi_scorer, score
from guardtui.scorer.intermediate import ScoringTask, scoring_task
from guardtui.scorer.registry import registry_info, registry_params
from guardtui.scorer.state import Message, Output

STATE = TaskState("the answer")


def giving(value: Any, *, after: asyncio.Event | None = None) -> Any:
    async def scorer(_state: Any, _target: Any) -> Score | None:
        if after is not None:
            await after.wait()
        return None if value is None else Score(value=value, metadata={"value": value})

    return scorer


async def test_scores_stand_in_the_order_of_the_scorers() -> None:
    done = asyncio.Event()

    async def last_to_start(_state: Any, _target: Any) -> Score:
        done.set()
        return Score(value=2)

    scorers = [giving(1, after=done), giving(None), last_to_start]
    async with asyncio.timeout(120):
        seen = await multi_scorer(
            scorers, lambda scores: Score(value=[one.value for one in scores])
        )(STATE, Target("t"))
    assert seen is not None
    assert seen.value == [1, 2]


async def test_all_decline() -> None:
    for scorers in ([], [giving(None), giving(None)]):
        result = await multi_scorer(scorers, "mode")(STATE, Target("t"))
        assert result is not None
        assert math.isnan(result.as_float())
        assert result.reason == "scoring_failed"


async def test_the_first_exception_surfaces_and_the_others_are_cancelled() -> None:
    cancelled = []

    async def waits(_state: Any, _target: Any) -> Score:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        raise AssertionError

    async def breaks(_state: Any, _target: Any) -> Score:
        await asyncio.sleep(0)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        async with asyncio.timeout(120):
            await multi_scorer([waits, breaks, waits], "mean")(STATE, Target("t"))
    assert cancelled == [True, True]


async def test_cancelling_the_scorer_cancels_its_scorers() -> None:
    started, cancelled = asyncio.Event(), []

    async def waits(_state: Any, _target: Any) -> Score:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)
        raise AssertionError

    running = asyncio.ensure_future(multi_scorer([waits], "mean")(STATE, Target("t")))  # type: ignore[arg-type]
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled == [True]


def test_reducers_are_looked_up_when_it_is_made() -> None:
    with pytest.raises(LookupError):
        multi_scorer([match()], "nonsense")
    with pytest.raises(TypeError):
        multi_scorer([match()], "at_least")


def test_registry_info_of_several_scorers() -> None:
    made = multi_scorer([giving(1), match("any"), includes()], "max")
    info = registry_info(made)
    assert info.name == "guardtui/multi_scorer"
    assert [registry_info(one).name for one in info.metadata["metrics"]] == [
        "guardtui/accuracy", "guardtui/stderr",
    ]  # fmt: skip
    assert registry_params(made)["reducer"] == "max"
    assert registry_info(multi_scorer([giving(1)], "max")).metadata["metrics"] == []
    assert registry_info(mean()).type == "metric"


# --- in the middle of a task --------------------------------------------------------------------


async def test_a_conversation_is_scored_with_the_scorers_of_the_task() -> None:
    logged: list[Score] = []
    seen: list[Any] = []

    async def sees(state: Any, _target: Any) -> Score:
        seen.append((state.sample_id, state.output.completion, len(state.messages)))
        return Score(value=1)

    state = TaskState("Rome", sample_id="s", messages=[Message("user", "q")])
    task = ScoringTask(
        state, Target("Paris"), [match("any"), giving(None), sees], log=logged.append
    )
    with scoring_task(task):
        own = await score(state)
        # An agent's state has no more than these two.
        agent = SimpleNamespace(messages=[], output=Output("Paris"))
        other = await score(agent)
    assert [one.value for one in own] == ["I", 1]
    assert [one.value for one in other] == ["C", 1]
    assert logged == own + other
    assert seen == [("s", "Rome", 1), ("s", "Paris", 0)]
    assert (state.output.completion, len(state.messages)) == ("Rome", 1)


async def test_score_without_a_task_with_scorers_raises() -> None:
    with pytest.raises(RuntimeError, match="while a task is being evaluated"):
        await score(STATE)
    with scoring_task(ScoringTask(STATE, Target("t"))):
        for conversation in (STATE, SimpleNamespace(messages=[], output=Output("x"))):
            with pytest.raises(RuntimeError, match="needs a task with other scorers"):
                await score(conversation)
    with pytest.raises(RuntimeError):
        await score(STATE)
