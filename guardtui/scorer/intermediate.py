"""Scoring a conversation during a task, with the task's own scorers and target."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from guardtui.scorer.state import TaskState
from guardtui.scorer.types import Score, Scorer, Target


@dataclass(slots=True)
class ScoringTask:
    """The current evaluation: the sample's state and target, and the scorers of the task.

    A run over several samples may assign the next state and target. `log` is called with every
    intermediate score.
    """

    state: Any
    target: Target
    scorers: Sequence[Scorer] = ()
    log: Callable[[Score], None] = field(default=lambda _score: None)


_task: ContextVar[ScoringTask | None] = ContextVar("guardtui_scorer_task", default=None)


@contextlib.contextmanager
def scoring_task(task: ScoringTask) -> Iterator[None]:
    """Within this context, `score` uses the state, the target and the scorers of `task`."""
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)


async def score(conversation: Any) -> list[Score]:
    """Return the scores of a conversation by the scorers of the running task, in order.

    A task's state is scored unchanged. For any other object, its `messages` and `output` replace
    those in a copy of the sample's state. A scorer that declines gives no score. Within a scorer,
    only the other scorers of the task run, never a running one. Raises RuntimeError outside of a
    task (see `scoring_task`), and if there is no scorer.
    """
    task = _task.get()
    if task is None:
        raise RuntimeError("score() works only while a task is being evaluated")
    if not task.scorers:
        raise RuntimeError("score() needs a task with other scorers, and there are none")
    state = conversation
    if not isinstance(conversation, TaskState | type(task.state)):
        state = copy.copy(task.state)
        state.messages = conversation.messages
        state.output = conversation.output
    scores = []
    for scorer in task.scorers:
        others = [other for other in task.scorers if other is not scorer]
        with scoring_task(replace(task, scorers=others)):
            result = await scorer(state, task.target)
        if result is not None:
            task.log(result)
            scores.append(result)
    return scores
