"""Several scorers on one answer, reduced to one score."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from guardtui.scorer.reducers import reducer_by_name
from guardtui.scorer.registry import (
    RegistryInfo,
    is_registered,
    qualified_name,
    register,
    registry_info,
    tag,
)
from guardtui.scorer.types import Score, Scorer, ScoreReducer, Target

_T = TypeVar("_T")


def multi_scorer(scorers: Sequence[Scorer], reducer: str | ScoreReducer) -> Scorer:
    """Run all scorers concurrently on the same state and target, and reduce their scores to one.

    Scorers that decline are skipped; if all do, the score is NaN. It has the metrics of the first
    scorer that has any. Raises LookupError for an unknown reducer, and TypeError for one that needs
    a count. The first exception of a scorer is passed on.
    """
    reduce = reducer_by_name(reducer) if isinstance(reducer, str) else reducer

    async def score(state: Any, target: Target) -> Score:
        scores = await together([member(state, target) for member in scorers])
        given = [given_score for given_score in scores if given_score is not None]
        return reduce(given) if given else Score.unscored(reason="scoring_failed")

    info = RegistryInfo("scorer", _NAME, {"metrics": _metrics_of(scorers)})
    tag(multi_scorer, score, info, (list(scorers), reducer), {})
    return score


async def together(calls: Sequence[Awaitable[_T]]) -> list[_T]:
    """Run calls concurrently and return their results in order.

    The first exception is passed on, after the remaining calls were cancelled.
    """
    running = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*running))
    except BaseException:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        raise


def _metrics_of(scorers: Sequence[Scorer]) -> Any:
    for member in scorers:
        if is_registered(member) and registry_info(member).type == "scorer":
            return registry_info(member).metadata.get("metrics", [])
    return []


_NAME = qualified_name(multi_scorer, None)
register(multi_scorer, RegistryInfo("scorer", _NAME, {"metrics": []}))
