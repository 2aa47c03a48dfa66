"""What commands need to ask a service: the cache of verdicts, and what to say of a scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from guardtui.cli import diagnostics
from guardtui.domain.evaluation import Evaluation
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.caches import SqliteVerdicts


@contextmanager
def open_verdicts() -> Iterator[SqliteVerdicts]:
    """Open the cache of verdicts, and close it at the end.

    Warns if it cannot store verdicts, or no longer can.
    """

    def warn() -> None:
        diagnostics.warn(
            f"{cache.path}: cannot be used, so verdicts are not cached\n"
            "  free some space, make the folder writable, or name another with GUARDTUI_CACHE"
        )

    cache = SqliteVerdicts(cache_folder())
    worked = cache.works
    if not worked:
        warn()
    try:
        yield cache
        if worked and not cache.works:
            warn()
    finally:
        cache.close()


def say_incomplete(evaluation: Evaluation, budget: str = "", *, fresh: bool, allowed: bool) -> None:
    """Report the number of prompts without a verdict, the most frequent reason, and a remedy.

    `budget` is that of the run, in words. A warning if errors are `allowed`, an error otherwise;
    prompts not asked are always an error.
    """
    metrics, verdicts = evaluation.metrics, evaluation.verdicts
    remedy = "run the same command again" + (" without --fresh" if fresh else "")
    stopped = len(verdicts.beyond_budget)
    if stopped:
        message = (
            f"the budget of {budget} is reached: {stopped} of {metrics.prompts} prompts were not "
            "asked"
        )
        if metrics.missing > stopped:
            message += f", {metrics.missing - stopped} more have no verdict"
        remedy += " to spend as much again on the others, or raise the budget"
    else:
        message = f"{metrics.missing} of {metrics.prompts} prompts have no verdict"
        if metrics.open:
            verb = "was" if metrics.open == 1 else "were"
            message += f", {metrics.open} of them {verb} not asked"
        for reason, count in Counter(verdicts.errors.values()).most_common(1):
            message += f"; {count} of them: {reason}"
        remedy += " to scan only the others"
    say = diagnostics.warn if allowed and not metrics.open else diagnostics.error
    say(f"{message}\n  verdicts received are cached: {remedy}")
