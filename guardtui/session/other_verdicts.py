"""The latest verdicts of a session's guardrails, beside those that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.agreement import suspects
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings, badge
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Triggered, is_answered, is_wrong, outcomes
from guardtui.session.independence import answers_on, newest_answers
from guardtui.session.session import Iteration


@dataclass(frozen=True, eq=False)
class GuardrailVerdicts:
    """The latest verdict of one guardrail on each of N prompts, by the current labels.

    `codes` are outcomes, int8 [N], OPEN without a verdict. `current` (bool [N]) are the
    verdicts on the definition that is shown; the others are on earlier ones. `iterations` are those
    of the guardrail: on the shown definition first, and the newest first.
    """

    title: str
    codes: NDArray[np.int8]
    current: NDArray[np.bool_]
    iterations: tuple[Iteration, ...]

    def source(self, key: int) -> tuple[Iteration, int] | None:
        """Return the iteration of the verdict on a prompt and its row there; None without one."""
        for iteration in self.iterations:
            rows = np.flatnonzero(iteration.evaluation.keys == np.uint64(key))
            if len(rows) and iteration.evaluation.verdicts.triggered[rows[0]] >= Triggered.NO:
                return iteration, int(rows[0])
        return None


@dataclass(frozen=True, eq=False)
class OtherVerdicts:
    """Verdicts of the guardrails that are not shown, sorted by title."""

    guardrails: tuple[GuardrailVerdicts, ...] = ()

    def counts(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return how many guardrails contradict the label of each row, and how many judged it."""
        codes = np.array([guardrail.codes[rows] for guardrail in self.guardrails], np.int8)
        codes = codes.reshape(len(self.guardrails), len(rows))
        return is_wrong(codes).sum(axis=0), (codes != Outcome.OPEN).sum(axis=0)


def other_verdicts(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    shown: ScannerSettings | None = None,
) -> OtherVerdicts:
    """Return the latest verdicts of each guardrail of a session on a definition.

    Verdicts on this definition precede those on others. `shown` is the guardrail that is shown
    already; neither it nor the embedded engine is among them. The duration depends on the number of
    iterations.
    """
    ordered = [one for one in reversed(iterations) if one.evaluation.topic == topic]
    on_this = len(ordered)
    ordered += [one for one in reversed(iterations) if one.evaluation.topic != topic]
    by_guardrail: dict[tuple[Guardrail, bool], list[tuple[Iteration, bool]]] = {}
    for index, iteration in enumerate(ordered):
        settings = iteration.evaluation.settings
        if settings.kind != ENGINE and (shown is None or _value(settings) != _value(shown)):
            known = by_guardrail.setdefault(_value(settings), [])
            known.append((iteration, index < on_this))
    verdicts = [_latest(topic, prompts, known) for known in by_guardrail.values()]
    with_any = [one for one in verdicts if (one.codes != Outcome.OPEN).any()]
    return OtherVerdicts(tuple(sorted(with_any, key=lambda one: one.title)))


def suspect_labels(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None,
) -> NDArray[np.bool_]:
    """Return which labels independent guardrails contradict, bool [N].

    `engine` is the embedded engine's evaluation of the definition, which counts as one of them.
    """
    independent = newest_answers(topic, prompts, iterations, engine)
    answers = np.array([one.answers for one in independent], np.int8)
    answers = answers.reshape(len(independent), len(prompts))
    return suspects(prompts.should_trigger(topic.intent), answers)


def _latest(
    topic: Topic, prompts: PromptSet, known: Sequence[tuple[Iteration, bool]]
) -> GuardrailVerdicts:
    answers = np.full(len(prompts), Triggered.NOT_ASKED, np.int8)
    current = np.zeros(len(prompts), bool)
    for iteration, on_this in known:
        missing = ~is_answered(answers)
        if not missing.any():
            break
        newer = answers_on(iteration.evaluation, topic, prompts)
        taken = missing & is_answered(newer)
        answers = np.where(taken, newer, answers)
        current |= taken & on_this
    settings = known[0][0].evaluation.settings
    return GuardrailVerdicts(
        _title(settings),
        outcomes(prompts.should_trigger(topic.intent), answers),
        current,
        tuple(iteration for iteration, _ in known),
    )


def _value(settings: ScannerSettings) -> tuple[Guardrail, bool]:
    return settings.guardrail, settings.is_forecast


def _title(settings: ScannerSettings) -> str:
    """Return the guardrail in a word, inert: a profile, or a model."""
    kind, detail = badge(replace(settings, revision=""))
    return detail or kind
