"""Independence of scanners, and the latest answer of each independent one for every prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import DECISION, ENGINE, JUDGE, ScannerSettings, remote_name
from guardtui.domain.profile import stopped_only_by_others
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.session.session import Iteration

THE_ENGINE = "the embedded engine"
"""Name of the single guardrail that stands for all encoders and thresholds of the engine."""

_UNNAMED = ""
"""A model of a panel whose name is not recorded; it may be that of any judge."""


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

    The embedded engine counts as one for every encoder and threshold, together with the
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
