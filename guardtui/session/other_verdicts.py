"""The latest verdicts of a session's guardrails, and the labels that independent ones doubt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.agreement import suspects
from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import (
    DECISION,
    ENGINE,
    JUDGE,
    Guardrail,
    ScannerSettings,
    remote_name,
)
from guardtui.domain.profile import stopped_only_by_others
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Triggered, is_answered, is_wrong, outcomes
from guardtui.session.session import Iteration

THE_ENGINE = "the engine"
"""Name of the single guardrail that stands for all encoders and thresholds of the engine."""

_UNNAMED = ""
"""A model of a panel whose name is not recorded; it may be that of any judge."""

_LONGEST = 40  # characters of a title


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
    already; neither it nor the engine is among them. The duration depends on the number of
    iterations.
    """
    ordered = [
        iteration for iteration in reversed(iterations) if iteration.evaluation.topic == topic
    ]
    on_this = len(ordered)
    ordered += [
        iteration for iteration in reversed(iterations) if iteration.evaluation.topic != topic
    ]
    by_guardrail: dict[tuple[Guardrail, bool], list[tuple[Iteration, bool]]] = {}
    for index, iteration in enumerate(ordered):
        settings = iteration.evaluation.settings
        if settings.kind != ENGINE and (shown is None or _value(settings) != _value(shown)):
            known = by_guardrail.setdefault(_value(settings), [])
            known.append((iteration, index < on_this))
    verdicts = [_latest(topic, prompts, known) for known in by_guardrail.values()]
    with_any = [column for column in verdicts if (column.codes != Outcome.OPEN).any()]
    return OtherVerdicts(tuple(sorted(with_any, key=lambda column: column.title)))


def suspect_labels(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None,
) -> NDArray[np.bool_]:
    """Return which labels independent guardrails contradict, bool [N].

    `engine` is the engine's evaluation of the definition, which counts as one of them.
    """
    independent = newest_answers(topic, prompts, iterations, engine)
    answers = np.array([column.answers for column in independent], np.int8)
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
    guardrail = settings.guardrail
    name = guardrail.title or guardrail.profile or guardrail.model or guardrail.version
    return display_start(name or guardrail.kind, _LONGEST)


# --- independent guardrails -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class IndependentAnswers:
    """The latest answers of one independent scanner, int8 [N] in prompt order."""

    name: str
    answers: NDArray[np.int8]


def newest_answers(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None = None,
) -> tuple[IndependentAnswers, ...]:
    """Return the latest answer of each independent scanner that has one, sorted by name.

    Answers on this definition precede those on others, and `engine`, an unrecorded evaluation of
    it, precedes all. Answers for the other intent are inverted. A prompt that only another topic of
    the profile stopped has no answer.
    """
    recorded = [iteration.evaluation for iteration in reversed(iterations)]
    ordered = [] if engine is None else [engine]
    ordered += [evaluation for evaluation in recorded if evaluation.topic == topic]
    ordered += [evaluation for evaluation in recorded if evaluation.topic != topic]
    names = independent_names([evaluation.settings for evaluation in ordered])
    by_name: dict[str, NDArray[np.int8]] = {}
    for name, evaluation in zip(names, ordered, strict=True):
        earlier = by_name.get(name)
        if earlier is not None and is_answered(earlier).all():
            continue
        answers = answers_on(evaluation, topic, prompts)
        by_name[name] = (
            answers if earlier is None else np.where(is_answered(earlier), earlier, answers)
        )
    return tuple(
        IndependentAnswers(name, answers)
        for name, answers in sorted(by_name.items())
        if is_answered(answers).any()
    )


def answers_on(evaluation: Evaluation, topic: Topic, prompts: PromptSet) -> NDArray[np.int8]:
    """Return the answers of an evaluation on these prompts, for the intent of `topic`, int8 [N].

    A prompt that only another topic of the profile stopped has no answer.
    """
    verdicts = evaluation.verdicts
    answers = answers_for(evaluation, prompts.keys)
    if verdicts.stopped_by:
        others = stopped_only_by_others(evaluation.topic, verdicts)
        keys = evaluation.keys[others]
        answers = np.where(np.isin(prompts.keys, keys), np.int8(Triggered.NO_VERDICT), answers)
    if evaluation.topic.intent is not topic.intent:
        reversed_answers = np.int8(Triggered.YES) - answers
        answers = np.where(is_answered(answers), reversed_answers, answers)
    return answers


def independent_names(settings: Iterable[ScannerSettings]) -> list[str]:
    """Return the name of the independent guardrail for each of these settings.

    The engine counts as one for every encoder and threshold, together with the
    sandbox, which uses the engine. AIRS counts as one for all profiles. Judges count as one if they
    share a model. The models of a panel count as one, because their single votes are not recorded.
    Decision models are distinguished by name.
    """
    all_settings = list(settings)
    groups: list[set[str]] = []
    for models in map(_models, all_settings):
        if models:
            sharing = [group for group in groups if _share_a_model(group, models)]
            groups = [group for group in groups if not _share_a_model(group, models)]
            groups.append(models.union(*sharing))
    named = {
        model: f"judge {', '.join(sorted(group - {_UNNAMED}))}"
        for group in groups
        for model in group
    }
    names = []
    for scanner in all_settings:
        if scanner.kind == ENGINE or scanner.guardrail.sandbox:
            names.append(THE_ENGINE)
        elif scanner.kind == JUDGE:
            names.append(named[min(_models(scanner))])
        elif scanner.kind == DECISION:
            names.append(f"decision model {scanner.guardrail.model}")
        else:
            names.append(remote_name(scanner.kind))
    return names


def _models(settings: ScannerSettings) -> set[str]:
    """Return the models of a judge; empty for other guardrails."""
    return set(settings.guardrail.models) or {_UNNAMED} if settings.kind == JUDGE else set()


def _share_a_model(models: set[str], others: set[str]) -> bool:
    return bool(models & others) or _UNNAMED in models | others
