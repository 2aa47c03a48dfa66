"""Several scorers on one answer, and one score of theirs."""

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
    """All scorers at once on the same state and target; their scores are reduced to one.

    Those that decline are left out; when all do, the score is NaN. It carries the metrics of the
    first scorer that has any. Raises LookupError for an unknown reducer, TypeError for one that
    needs a count; the first exception of a scorer surfaces as it is.
    """
    reduce = reducer_by_name(reducer) if isinstance(reducer, str) else reducer

    async def score(state: Any, target: Target) -> Score:
        scores = await together([one(state, target) for one in scorers])
        kept = [one for one in scores if one is not None]
        return reduce(kept) if kept else Score.unscored(reason="scoring_failed")

    info = RegistryInfo("scorer", _NAME, {"metrics": _metrics_of(scorers)})
    tag(multi_scorer, score, info, (list(scorers), reducer), {})
    return score


async def together(calls: Sequence[Awaitable[_T]]) -> list[_T]:
    """The results of calls that run side by side, in the order of the calls.

    The first exception surfaces as it is, after the calls that still ran were cancelled.
    """
    running = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*running))
    except BaseException:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        raise


def _metrics_of(scorers: Sequence[Scorer]) -> Any:
    for one in scorers:
        if is_registered(one) and registry_info(one).type == "scorer":
            return registry_info(one).metadata.get("metrics", [])
    return []


_NAME = qualified_name(multi_scorer, None)
register(multi_scorer, RegistryInfo("scorer", _NAME, {"metrics": []}))
