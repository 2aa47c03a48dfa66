"""Records what a command has evaluated in the session of its topic file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from guardtui.app.scan.record import is_within, iteration_of, logged_of
from guardtui.domain.comparison import verdicts_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.verdicts import is_answered
from guardtui.files.problems import FileError
from guardtui.files.topic_files import load_topic
from guardtui.session.prompt_file import remember_reading
from guardtui.session.session import Decision, Iteration, Recorder, Session, is_first_complete
from guardtui.session.store import SessionStore
from guardtui.session.workspace import now


@dataclass(frozen=True, slots=True)
class EvaluatedFiles:
    """What an evaluation was about; `prompts` is None for standard input.

    `template` is the id and the text of a model's prompt template, or None.
    """

    topic: Path
    prompts: Path | None
    reading: Reading
    template: tuple[str, str] | None = None


def record_evaluation(
    files: EvaluatedFiles,
    evaluation: Evaluation,
    forecast: ForecastBefore | None = None,
    by: Recorder = Recorder.COMMAND,
) -> tuple[Iteration, bool]:
    """Record an evaluation; return its iteration and if it is new.

    The rules are those of the app (`app.scan.record.record`): the first complete evaluation of the
    definition that the topic file has now is kept. What a recorded iteration has
    already is not recorded again; one that lacks verdicts gets those of the evaluation. Blocks.
    Raises StoreError.
    """
    store = SessionStore(files.topic)
    if files.prompts is not None:
        store.use_prompt_file(str(files.prompts.resolve()))
        remember_reading(store, files.reading)
    if files.template is not None:
        store.keep_template(*files.template)
    iterations = store.iterations()
    session = Session(evaluation.topic, iterations)
    known = _agreeing(iterations, evaluation) or iteration_of(session, evaluation)
    if known is None and (logged := logged_of(iterations, evaluation)) is not None:
        by = logged.by.completed
        known = logged if is_within(logged.evaluation, evaluation) else None
    if known is None:
        first = is_first_complete(evaluation, iterations) and _is_own(files, evaluation)
        decision = Decision.KEEP if first else Decision.UNDECIDED
        planned = replace(
            session.next_iteration(evaluation, decision, now()), forecast=forecast, by=by
        )
        return store.add_iteration(planned, first=first), True
    verdicts = verdicts_for(known.evaluation, evaluation.keys)
    more = is_answered(evaluation.verdicts.triggered) & ~is_answered(verdicts.triggered)
    if not more.any():
        return known, False
    merged = replace(evaluation, verdicts=verdicts.completed(evaluation.verdicts))
    first = _is_own(files, evaluation)
    completed = replace(known, evaluation=merged, by=known.by.completed)
    return store.complete_iteration(completed, first=first), True


def _is_own(files: EvaluatedFiles, evaluation: Evaluation) -> bool:
    """Return whether the topic file has this definition still: its author may edit it meanwhile."""
    try:
        file = load_topic(files.topic)
    except FileError:
        return False
    topic = evaluation.topic
    own = (
        file.topic if file.intent_given else file.topic.model_copy(update={"intent": topic.intent})
    )
    return own == topic


def _agreeing(iterations: Sequence[Iteration], evaluation: Evaluation) -> Iteration | None:
    """Return the newest iteration of the same subject, unless a verdict differs from its own."""
    for iteration in reversed(iterations):
        recorded = iteration.evaluation
        if recorded.key == evaluation.key:
            then, now_ = recorded.verdicts.triggered, evaluation.verdicts.triggered
            both = is_answered(then) & is_answered(now_)
            return iteration if np.array_equal(then[both], now_[both]) else None
    return None
