"""Which scanners are independent of each other, and the newest answer of each for every prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.guardrail import DECISION, remote_name
from guardtui.domain.profile import stopped_only_by_others
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.session.session import Iteration

ENGINE = "the embedded engine"
"""Name of the one scanner that all encoders and thresholds of the embedded engine are together."""

SANDBOX = "airs on this machine"
"""How the identity of a service on this machine begins: the sandbox judges with the engine."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The newest answers of one independent scanner, int8 [N] in the order of the prompts."""

    name: str
    answers: NDArray[np.int8]


def newest_answers(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None = None,
) -> tuple[Answers, ...]:
    """Find the newest answer of each independent scanner that has one, sorted by their names.

    Answers on this definition go before those on others, and `engine`, an evaluation of it that was
    not recorded, before all. Answers are turned where the intent was the other one; a prompt that
    only another topic of the profile stopped is no answer.
    """
    recorded = [one.evaluation for one in reversed(iterations)]
    ordered = [] if engine is None else [engine]
    ordered += [one for one in recorded if one.topic == topic]
    ordered += [one for one in recorded if one.topic != topic]
    names = independent_names([one.settings for one in ordered])
    found: dict[str, NDArray[np.int8]] = {}
    for name, evaluation in zip(names, ordered, strict=True):
        known = found.get(name)
        if known is not None and is_answered(known).all():
            continue
        answers = _answers(evaluation, topic, prompts)
        found[name] = answers if known is None else np.where(is_answered(known), known, answers)
    return tuple(
        Answers(name, answers)
        for name, answers in sorted(found.items())
        if is_answered(answers).any()
    )


def _answers(evaluation: Evaluation, topic: Topic, prompts: PromptSet) -> NDArray[np.int8]:
    """What was answered on these prompts, by the intent of now, int8 [N]."""
    verdicts = evaluation.verdicts
    answers = answers_for(evaluation, prompts.keys)
    if verdicts.stopped_by:
        others = stopped_only_by_others(evaluation.topic, verdicts)
        keys = evaluation.keys[others]
        answers = np.where(np.isin(prompts.keys, keys), np.int8(Triggered.NO_VERDICT), answers)
    if evaluation.topic.intent is not topic.intent:
        turned = np.int8(Triggered.YES) - answers
        answers = np.where(is_answered(answers), turned, answers)
    return answers


def independent_names(settings: Iterable[ScannerSettings]) -> list[str]:
    """Name the independent scanner that each of these settings belongs to.

    The embedded engine is one, whatever its encoder and threshold, and with it the sandbox, which
    judges with the engine. AIRS is one, whatever the profile. Judges are one as soon as they share
    a model; the models of a panel are one, since their single votes are not recorded. Decision
    models are told apart by their names.
    """
    told = list(settings)
    groups: list[set[str]] = []
    for models in map(_models, told):
        if models:
            sharing = [group for group in groups if group & models]
            groups = [group for group in groups if not group & models]
            groups.append(models.union(*sharing))
    named = {model: f"judge {', '.join(sorted(group))}" for group in groups for model in group}
    names = []
    for one in told:
        if one.name == "local" or one.identity.startswith(SANDBOX):
            names.append(ENGINE)
        elif one.name == "judge":
            names.append(named[min(_models(one))])
        elif one.name == DECISION:
            name = one.identity.removeprefix(f"{DECISION}, ").partition(", ")[0]
            names.append(f"decision model {name}")
        else:
            names.append(remote_name(one.name))
    return names


def _models(settings: ScannerSettings) -> set[str]:
    """The models of a judge, by its identity (`judge, MODEL, MODEL, template …`); else none."""
    if settings.name != "judge":
        return set()
    models, template, _ = settings.identity.removeprefix("judge, ").partition(", template ")
    return set(models.split(", ")) if template else {settings.identity}
