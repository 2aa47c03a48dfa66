"""What the scanners of a session say of a definition, and which labels that puts in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.languages import language
from guardtui.domain.panel import Panel
from guardtui.domain.prompts import PromptSet
from guardtui.domain.suspects import Suspects, suspects
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.session.independence import ENGINE, Answers, newest_answers
from guardtui.session.session import Iteration

_READ = 20_000
"""Prompts of which the language is looked at, at most."""

_CHARACTERS = 500  # of one prompt, to tell its language


@dataclass(frozen=True, eq=False)
class Voice:
    """One scanner's answers on the definition of now, int8 [N] in the order of the prompts.

    `name` is its column, unique in a panel; `number` that of its iteration, None for verdicts that
    were given just now.
    """

    name: str
    evaluation: Evaluation
    number: int | None
    answers: NDArray[np.int8]

    def row_of(self, key: int) -> int | None:
        """Where a prompt stands in the evaluation; None when it was not among those asked for."""
        found = np.flatnonzero(self.evaluation.keys == np.uint64(key))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True, eq=False)
class Sight:
    """The verdicts on these prompts, seen from a definition.

    `voices` judge this definition, the embedded engine's first where it is among them. `elsewhere`
    names scanners that judged others only, with their newest iteration. `engine` is the engine's
    evaluation of now, where there is one.
    """

    topic: Topic
    prompts: PromptSet
    voices: tuple[Voice, ...]
    iterations: tuple[Iteration, ...]
    elsewhere: tuple[tuple[str, int], ...]
    engine: Evaluation | None = None

    @cached_property
    def panel(self) -> Panel:
        """The voices side by side."""
        answers = np.empty((len(self.voices), len(self.prompts)), np.int8)
        for place, voice in enumerate(self.voices):
            answers[place] = voice.answers
        names = tuple(voice.name for voice in self.voices)
        return Panel(names, answers, self.prompts.should_trigger(self.topic.intent))

    @cached_property
    def independent(self) -> tuple[Answers, ...]:
        """The newest answers of each independent scanner, at whatever definition.

        Takes as long as there are iterations: not while the screen is drawn.
        """
        return newest_answers(self.topic, self.prompts, self.iterations, self.engine)

    @cached_property
    def suspects(self) -> Suspects:
        """Labels in doubt, and the embedded engine's blind spot; takes as long as `independent`."""
        answers = np.empty((len(self.independent), len(self.prompts)), np.int8)
        for place, one in enumerate(self.independent):
            answers[place] = one.answers
        names = [one.name for one in self.independent]
        return suspects(
            self.panel.should_trigger,
            answers,
            engine=names.index(ENGINE) if ENGINE in names else None,
            foreign=self._foreign,
            distance=self.distance,
        )

    def _foreign(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these rows (intp [k]) are in another language than the definition, bool [k].

        A definition whose language cannot be told is taken for English. Of more than 20 000 rows
        only the first are looked at.
        """
        topic = self.topic
        own = language(" ".join((topic.name, topic.description, *topic.examples))) or "en"
        texts = self.prompts.prompts[rows[:_READ]].str.slice(0, _CHARACTERS).to_list()
        found = np.zeros(len(rows), np.bool_)
        found[: len(texts)] = [language(text) not in (None, own) for text in texts]
        return found

    def sides(self, row: int) -> tuple[list[str], list[str]]:
        """Names of the independent scanners that contradict a prompt's label, and confirm it."""
        should = bool(self.panel.should_trigger[row])
        against: list[str] = []
        agreeing: list[str] = []
        for one in self.independent:
            answer = int(one.answers[row])
            if answer >= Triggered.NO:
                same = (answer == Triggered.YES) == should
                (agreeing if same else against).append(one.name)
        return against, agreeing

    @property
    def distance(self) -> NDArray[np.float32] | None:
        """How far the live engine's scores are from its threshold, float32 [N]; None without."""
        for voice in self.voices:
            threshold = voice.evaluation.settings.threshold
            if voice.number is None and threshold is not None:
                far: NDArray[np.float32] = np.abs(
                    voice.evaluation.verdicts.score - np.float32(threshold)
                )
                return far
        return None


def look(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None = None,
) -> Sight:
    """What all scanners say of a definition: the engine now, and others as they were recorded.

    Of each scanner, by name and identity, the iteration of this very definition with verdicts on
    most of the prompts, the newest of equal ones; prompts are aligned by content, so labels may
    have changed since. `engine` is an evaluation of the definition on these prompts; it stands for
    all that its scanner recorded.
    """
    found: dict[tuple[str, str], tuple[int, Evaluation, int | None, NDArray[np.int8]]] = {}
    elsewhere: dict[tuple[str, str], int] = {}
    if engine is not None:
        found[_scanner(engine)] = len(prompts) + 1, engine, None, engine.verdicts.triggered
    for iteration in reversed(iterations):
        evaluation = iteration.evaluation
        scanner = _scanner(evaluation)
        if evaluation.topic != topic:
            elsewhere.setdefault(scanner, iteration.number)
            continue
        best = found.get(scanner)
        if best is not None and best[0] > len(prompts):
            continue
        answers = answers_for(evaluation, prompts.keys)
        count = int(np.count_nonzero(is_answered(answers)))
        if count > (0 if best is None else best[0]):
            found[scanner] = count, evaluation, iteration.number, answers
    # Columns stay where they are, whichever scanner was asked last.
    ordered = sorted(found, key=lambda one: (found[one][2] is not None, one))
    names = _unique([name for name, _ in ordered])
    voices = tuple(Voice(name, *found[one][1:]) for name, one in zip(names, ordered, strict=True))
    others = sorted((*one, number) for one, number in elsewhere.items() if one not in found)
    return Sight(
        topic,
        prompts,
        voices,
        tuple(iterations),
        tuple((name, number) for name, _, number in others),
        engine,
    )


def _scanner(evaluation: Evaluation) -> tuple[str, str]:
    return evaluation.settings.name, evaluation.settings.identity


def _unique(names: Sequence[str]) -> list[str]:
    """The names, a number behind each that was there before."""
    counts: dict[str, int] = {}
    told = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        told.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return told
