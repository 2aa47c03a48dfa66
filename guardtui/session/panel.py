"""What every scanner of a session says of the definition of now, and which labels that doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.panel import Panel
from guardtui.domain.prompts import PromptSet
from guardtui.domain.suspects import Suspects, suspects
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.session.session import Iteration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

_Speaker = tuple[str, str, Topic]


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
    """Everything that was ever said of these prompts, seen from a definition.

    `voices` judge this definition, the embedded engine's first where it is among them. `elsewhere`
    names scanners that judged others only, with their newest iteration.
    """

    topic: Topic
    prompts: PromptSet
    voices: tuple[Voice, ...]
    iterations: tuple[Iteration, ...]
    elsewhere: tuple[tuple[str, int], ...]

    @cached_property
    def panel(self) -> Panel:
        """The voices side by side."""
        answers = np.empty((len(self.voices), len(self.prompts)), np.int8)
        for place, voice in enumerate(self.voices):
            answers[place] = voice.answers
        names = tuple(voice.name for voice in self.voices)
        return Panel(names, answers, self.prompts.should_trigger(self.topic.intent))

    @cached_property
    def suspects(self) -> Suspects:
        """Labels that all voices contradict, of now and of all iterations.

        Takes as long as there are iterations: beside the screen, please.
        """
        return suspects(
            self.panel.should_trigger,
            self.panel.answers,
            self._past(),
            speakers=self._speakers,
            distance=self.distance,
        )

    @property
    def speakers(self) -> int:
        """How many voices there are: each scanner counts once for each definition."""
        return len(set(self._speakers))

    @cached_property
    def _speakers(self) -> list[int]:
        """Whose answers they are, of the voices and then of the iterations."""
        numbers: dict[_Speaker, int] = {}
        said = [_speaker(one.evaluation) for one in self.voices]
        said += [_speaker(one.evaluation) for one in self.iterations]
        return [numbers.setdefault(speaker, len(numbers)) for speaker in said]

    def _past(self) -> Iterator[NDArray[np.int8]]:
        """What each iteration answered, one after the other, by the intent of now."""
        for iteration in self.iterations:
            evaluation = iteration.evaluation
            answers = answers_for(evaluation, self.prompts.keys)
            if evaluation.topic.intent is not self.topic.intent:
                turned = np.int8(Triggered.YES) - answers
                answers = np.where(is_answered(answers), turned, answers)
            yield answers

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

    def label_of(self, answer: int) -> bool:
        """The label that an answer (YES or NO) stands for, under the intent of now."""
        return (answer == Triggered.YES) == (self.topic.intent is Intent.BLOCK)


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
    )


def _scanner(evaluation: Evaluation) -> tuple[str, str]:
    return evaluation.settings.name, evaluation.settings.identity


def _speaker(evaluation: Evaluation) -> _Speaker:
    """Whose verdicts these are: asked again for the same, a scanner is no second voice."""
    return *_scanner(evaluation), evaluation.topic


def _unique(names: Sequence[str]) -> list[str]:
    """The names, a number behind each that was there before."""
    counts: dict[str, int] = {}
    told = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        told.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return told
