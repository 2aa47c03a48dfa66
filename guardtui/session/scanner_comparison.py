"""Verdicts of all scanners of a session on a definition, and the labels they put in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.languages import language
from guardtui.domain.panel import Panel
from guardtui.domain.prompts import PromptSet
from guardtui.domain.suspects import Suspects, suspects
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.session.independence import THE_ENGINE, IndependentAnswers, newest_answers
from guardtui.session.session import Iteration

_Scanner: TypeAlias = tuple[str, Guardrail]
"""What gave verdicts: `ScannerSettings.kind`, and the guardrail."""

_READ = 20_000
"""Maximum number of prompts whose language is detected."""

_CHARACTERS = 500  # of a prompt, for detecting its language


@dataclass(frozen=True, eq=False)
class ScannerAnswers:
    """One scanner's answers on the current definition, int8 [N] in prompt order.

    `name` is its column title, unique in a panel. `number` is that of its iteration, None for the
    current verdicts.
    """

    name: str
    evaluation: Evaluation
    number: int | None
    answers: NDArray[np.int8]

    def row_of(self, key: int) -> int | None:
        """Return the row of a prompt in the evaluation; None if it is not part of it."""
        rows = np.flatnonzero(self.evaluation.keys == np.uint64(key))
        return int(rows[0]) if len(rows) else None


@dataclass(frozen=True, eq=False)
class ScannerVerdicts:
    """The verdicts of all scanners on these prompts, relative to one definition.

    `scanners` are scanners with verdicts on this definition, the embedded engine first if present.
    `elsewhere` names scanners with verdicts on other definitions only, with their latest iteration.
    `engine` is the engine's current evaluation, if any.
    """

    topic: Topic
    prompts: PromptSet
    scanners: tuple[ScannerAnswers, ...]
    iterations: tuple[Iteration, ...]
    elsewhere: tuple[tuple[str, int], ...]
    engine: Evaluation | None = None

    @cached_property
    def panel(self) -> Panel:
        """Return the answers of all scanners as a panel."""
        answers = np.empty((len(self.scanners), len(self.prompts)), np.int8)
        for index, scanner in enumerate(self.scanners):
            answers[index] = scanner.answers
        names = tuple(scanner.name for scanner in self.scanners)
        return Panel(names, answers, self.prompts.should_trigger(self.topic.intent))

    @cached_property
    def independent(self) -> tuple[IndependentAnswers, ...]:
        """The latest answers of each independent scanner, for any definition.

        The duration depends on the number of iterations: do not call this while drawing the screen.
        """
        return newest_answers(self.topic, self.prompts, self.iterations, self.engine)

    @cached_property
    def suspects(self) -> Suspects:
        """Doubtful labels, and the engine's blind spot; takes as long as `independent`."""
        answers = np.empty((len(self.independent), len(self.prompts)), np.int8)
        for index, scanner in enumerate(self.independent):
            answers[index] = scanner.answers
        names = [scanner.name for scanner in self.independent]
        return suspects(
            self.panel.should_trigger,
            answers,
            engine=names.index(THE_ENGINE) if THE_ENGINE in names else None,
            foreign=self._foreign,
            distance=self.distance,
        )

    def _foreign(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which rows (intp [k]) are not in the definition's language, bool [k].

        A definition of unknown language counts as English. Of more than 20 000 rows only the first
        are examined.
        """
        topic = self.topic
        own = language(" ".join((topic.name, topic.description, *topic.examples))) or "en"
        texts = self.prompts.prompts[rows[:_READ]].str.slice(0, _CHARACTERS).to_list()
        foreign = np.zeros(len(rows), np.bool_)
        foreign[: len(texts)] = [language(text) not in (None, own) for text in texts]
        return foreign

    def sides(self, row: int) -> tuple[list[str], list[str]]:
        """Return the names of the independent scanners that contradict a label, and confirm it."""
        should = bool(self.panel.should_trigger[row])
        contradicting: list[str] = []
        agreeing: list[str] = []
        for scanner in self.independent:
            answer = int(scanner.answers[row])
            if answer >= Triggered.NO:
                same = (answer == Triggered.YES) == should
                (agreeing if same else contradicting).append(scanner.name)
        return contradicting, agreeing

    @property
    def distance(self) -> NDArray[np.float32] | None:
        """Distance of the live engine's scores from its threshold, float32 [N], or None."""
        for scanner in self.scanners:
            threshold = scanner.evaluation.settings.threshold
            if scanner.number is None and threshold is not None:
                distance: NDArray[np.float32] = np.abs(
                    scanner.evaluation.verdicts.score - np.float32(threshold)
                )
                return distance
        return None


def collect_verdicts(
    topic: Topic,
    prompts: PromptSet,
    iterations: Sequence[Iteration],
    engine: Evaluation | None = None,
) -> ScannerVerdicts:
    """Return the verdicts of all scanners on a definition, current and recorded.

    Its iteration is the one of this very definition
    with verdicts on most of the prompts, the latest of equal ones. Prompts are aligned by content,
    so labels may have changed since. `engine` is an evaluation of the definition on these prompts;
    it replaces all that its scanner recorded.
    """
    by_scanner: dict[_Scanner, tuple[int, Evaluation, int | None, NDArray[np.int8]]] = {}
    elsewhere: dict[_Scanner, int] = {}
    if engine is not None:
        by_scanner[_scanner(engine)] = len(prompts) + 1, engine, None, engine.verdicts.triggered
    for iteration in reversed(iterations):
        evaluation = iteration.evaluation
        scanner = _scanner(evaluation)
        if evaluation.topic != topic:
            elsewhere.setdefault(scanner, iteration.number)
            continue
        best = by_scanner.get(scanner)
        if best is not None and best[0] > len(prompts):
            continue
        answers = answers_for(evaluation, prompts.keys)
        count = int(np.count_nonzero(is_answered(answers)))
        if count > (0 if best is None else best[0]):
            by_scanner[scanner] = count, evaluation, iteration.number, answers
    # A fixed order of columns, independent of which scanner ran last.
    ordered = sorted(
        by_scanner, key=lambda scanner: (by_scanner[scanner][2] is not None, *_order(scanner))
    )
    names = _unique([name for name, _ in ordered])
    scanners = tuple(
        ScannerAnswers(name, *by_scanner[scanner][1:])
        for name, scanner in zip(names, ordered, strict=True)
    )
    others = sorted(elsewhere.keys() - by_scanner.keys(), key=_order)
    return ScannerVerdicts(
        topic,
        prompts,
        scanners,
        tuple(iterations),
        tuple((scanner[0], elsewhere[scanner]) for scanner in others),
        engine,
    )


def _scanner(evaluation: Evaluation) -> _Scanner:
    return evaluation.settings.kind, evaluation.settings.guardrail


def _order(scanner: _Scanner) -> tuple[str, str]:
    return scanner[0], scanner[1].text()


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names, with a number appended to repeated ones."""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        unique.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return unique
