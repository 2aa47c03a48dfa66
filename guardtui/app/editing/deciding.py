"""What speaks against keeping or discarding a definition, for the app and commands."""

from __future__ import annotations

from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.significance import Difference
from guardtui.domain.topic import Topic, violations
from guardtui.session.series import series_of
from guardtui.session.session import PLATEAU, PLATEAU_ADVICE, Iteration, Session


def over_limits(topic: Topic) -> str:
    """Return which limits a definition violates, so that AIRS refuses it, or ""."""
    problems = "; ".join(problem.message for problem in violations(topic))
    return f"AIRS would refuse this definition: {problems}." if problems else ""


def against_keeping(session: Session, evaluation: Evaluation) -> str:
    """Return what speaks against keeping an evaluation, or "". Blocks.

    Its definition violates a limit, or its coverage is not greater than that of the best.
    """
    return " ".join(filter(None, (over_limits(evaluation.topic), _no_gain(session, evaluation))))


def _no_gain(session: Session, evaluation: Evaluation) -> str:
    """Return why an evaluation is no progress, or "" if its coverage is greater. Blocks."""
    best = session.best
    if not session.iterations or session.is_better(evaluation):
        return ""
    if best is None:
        return "Coverage is not greater."
    text = f"Coverage is not greater than that of #{best.number}: {_figures(evaluation, best)}."
    series = series_of(session.iterations, best)
    return text if series is None else f"{text} #{best.number} is the {series.text}."


def against_discarding(session: Session, evaluation: Evaluation) -> str:
    """Return why a definition should not be discarded, or "". Blocks."""
    best = session.best
    if best is None or not session.is_better(evaluation):
        return ""
    chance = "" if not_shown(session, evaluation) is None else ", if not demonstrably"
    return f"Coverage is greater than that of #{best.number}{chance}: {_figures(evaluation, best)}."


def not_shown(session: Session, evaluation: Evaluation) -> Comparison | None:
    """Return the comparison with the best iteration unless it shows progress. Blocks.

    Progress is a 95 % interval of the change of coverage above 0. Without a best iteration, and
    for that iteration itself, there is nothing to show.
    """
    best = session.best
    if best is None or best.evaluation.topic == evaluation.topic:
        return None
    comparison = compare(best.evaluation, evaluation)
    return None if comparison.significance.difference == Difference.BETTER else comparison


def other_measure(session: Session, evaluation: Evaluation) -> str:
    """Return what measured this and the best iteration, or "" if both were measured alike."""
    best = session.best
    if best is None or evaluation.settings.measures_as(best.evaluation.settings):
        return ""
    before, now = (guardrail_text(side.settings) for side in (best.evaluation, evaluation))
    return f"it is measured by {now}, #{best.number} by {before}"


def missing_text(evaluation: Evaluation) -> str:
    """Return how many prompts have no verdict, and the bounds of coverage, or ""."""
    missing = evaluation.metrics.missing
    if not missing:
        return ""
    text = f"{missing} of {len(evaluation.keys)} prompts have no verdict."
    bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
    if bounds is None:
        return text
    return f"{text} Coverage is between {bounds.low:.3f} and {bounds.high:.3f}, whatever those are."


def plateau_text(session: Session) -> str:
    """Return the advice on a plateau, or "" if there is none."""
    return f"{PLATEAU} discards in a row: a plateau. {PLATEAU_ADVICE}" if session.plateau else ""


def _figures(evaluation: Evaluation, best: Iteration) -> str:
    """Return what changed from the best iteration, without its judgement."""
    described = compare(best.evaluation, evaluation).describe()
    return described.partition(": ")[2] or described
