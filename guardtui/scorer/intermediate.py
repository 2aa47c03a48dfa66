"""Scoring a conversation in the middle of a task, with the task's own scorers and target."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from guardtui.scorer.state import TaskState
from guardtui.scorer.types import Score, Scorer, Target


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """What is being evaluated: the sample's state and target, and the scorers of the task.

    `log` is told every intermediate score.
    """

    state: Any
    target: Target
    scorers: Sequence[Scorer] = ()
    log: Callable[[Score], None] = field(default=lambda _score: None)


_task: ContextVar[ScoringTask | None] = ContextVar("guardtui_scorer_task", default=None)


@contextlib.contextmanager
def scoring_task(task: ScoringTask) -> Iterator[None]:
    """Within this, `score` knows what to score with."""
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


async def score(conversation: Any) -> list[Score]:
    """Score a conversation with the scorers and the target of the task that runs.

    A task's state is scored as it is; of any other object `messages` and `output` take the place
    of those in a copy of the sample's state. One after the other; a scorer that declines leaves
    no score. Raises RuntimeError outside of a task, and in one without scorers.
    """
    task = _task.get()
    if task is None:
        raise RuntimeError("score() works only while a task is being evaluated")
    if not task.scorers:
        raise RuntimeError("score() needs a task with scorers, and this one has none")
    state = conversation
    if not isinstance(conversation, TaskState | type(task.state)):
        state = copy.copy(task.state)
        state.messages = conversation.messages
        state.output = conversation.output
    scores = []
    for one in task.scorers:
        result = await one(state, task.target)
        if result is not None:
            task.log(result)
            scores.append(result)
    return scores
