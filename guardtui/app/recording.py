"""Scans in the session: lookup, and recording as a new or a completed iteration."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np

from guardtui.app.remote import REMOTE
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.reports.base import usage_text
from guardtui.session.session import Decision, Iteration, Session
from guardtui.session.workspace import Workspace


def iteration_of(session: Session, evaluation: Evaluation) -> Iteration | None:
    """Return the newest iteration with these verdicts and this key, or None."""
    for iteration in reversed(session.iterations):
        recorded = iteration.evaluation
        if recorded is evaluation or (
            recorded.key == evaluation.key
            and np.array_equal(recorded.verdicts.triggered, evaluation.verdicts.triggered)
        ):
            return iteration
    return None


def is_recorded(session: Session, evaluation: Evaluation) -> bool:
    """Return whether a remote scan is an iteration, or a preview is the last iteration."""
    if evaluation.settings.kind in REMOTE:
        return iteration_of(session, evaluation) is not None
    iterations = session.iterations
    if evaluation.is_of_a_part:
        return False
    return bool(iterations) and iterations[-1].evaluation.key == evaluation.key


async def record(
    workspace: Workspace,
    evaluation: Evaluation,
    onto: Evaluation | None = None,
    forecast: ForecastBefore | None = None,
) -> Iteration:
    """Record a scan in the session; with `onto`, complete the iteration of that scan.

    `forecast` was made before the scan; a completed iteration keeps its own. The first complete
    scan of the topic file's definition is kept, others are undecided. Raises StoreError.
    """
    session = workspace.session
    known = iteration_of(session, onto) if onto is not None else None
    keep = (
        not evaluation.metrics.missing
        and evaluation.topic == workspace.topic_file.topic
        and _is_first(session, evaluation, known)
    )
    if known is None:
        decision = Decision.KEEP if keep else Decision.UNDECIDED
        iteration = await asyncio.to_thread(workspace.write, evaluation, decision, forecast)
        session.record(iteration)
        return iteration
    iteration = replace(known, evaluation=evaluation)
    await asyncio.to_thread(workspace.complete, iteration)
    session.complete(iteration)
    if keep:
        await asyncio.to_thread(workspace.write_decision, known.number, Decision.KEEP)
        return session.decide(known.number, Decision.KEEP)
    return iteration


def _is_first(session: Session, evaluation: Evaluation, completed: Iteration | None) -> bool:
    """Return whether no other scan by the same scanner is complete or kept."""
    return not any(
        iteration.decision is Decision.KEEP or not iteration.evaluation.metrics.missing
        for iteration in session.iterations
        if iteration.evaluation.settings.kind == evaluation.settings.kind
        and (completed is None or iteration.number != completed.number)
    )


def recorded_text(iteration: Iteration) -> str:
    """Return in words how many prompts a recorded scan covers, and the usage of a judge."""
    metrics = iteration.evaluation.metrics
    used = usage_text(iteration.evaluation.verdicts.used)
    used = f" ({used})" if used else ""
    if not metrics.missing:
        return f"#{iteration.number}: {count_text(metrics.prompts, 'prompt')} scanned{used}"
    text = f"#{iteration.number}: {metrics.total} of {metrics.prompts} prompts have a verdict"
    if metrics.open:
        text += f", {metrics.open} open"
    if metrics.errors:
        text += f", {metrics.errors} failed"
    return text + used
