"""Search for a better definition: several edits in a row, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, Kind, candidates, same
from guardtui.advice.measuring import TopicScorer
from guardtui.advice.proposals import Halves, Proposal, halves_of, propose
from guardtui.domain.topic import Topic

Key: TypeAlias = tuple[str, tuple[str, ...]]

MOST_EDITS = 8
"""Edits in a row, at most."""

EDIT_COST = 0.005
"""What an edit more has to bring, in the objective: each is a chance to fit the noise."""

REPLACED_COST = 0.015
"""The same for a word put in another's place."""

_REPLACED_AT_MOST = 1  # each such edit makes the description read less like a sentence

WIDTHS = (1, 3, 6, 12)
"""Definitions that are pursued at once, one round of the search after the other."""

_MOST = 2000
_PATIENCE = 3  # edits in a row that bring nothing before a round ends
_SLICE = 400  # candidates between two looks at the clock


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Coverage of the best definition of so many edits, on both halves.

    `report` is shown, and never chosen by.
    """

    edits: int
    search: float
    report: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A search at one moment: `width` definitions pursued at once, `edits` deep in this round.

    `seconds` of `budget` are gone and `measured` definitions done; `coverage` is the best one's
    on the search half. `curve` is the held-out curve, for display.
    """

    seconds: float
    budget: float
    width: int
    edits: int
    measured: int
    coverage: float
    curve: tuple[CurvePoint, ...]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best definition found, or None where no edit is worth its cost; and the way to it.

    `single` is the best single edit, for comparison; `curve` the held-out curve. `ended` is
    `stopped`, `budget`, or `exhausted` (there was nothing left to try that is worth it).
    """

    topic: Topic
    before: Halves
    proposal: Proposal | None
    single: Proposal | None
    curve: tuple[CurvePoint, ...]
    measured: int
    seconds: float
    ended: str


@dataclass(frozen=True, eq=False)
class _Node:
    """A definition that was measured: its value by the objective, and the edits that lead there."""

    topic: Topic
    value: float
    path: tuple[Candidate, ...]

    @property
    def replaced(self) -> int:
        """How many words were put in another's place."""
        return sum(step.kind is Kind.REPLACE_WORD for step in self.path)

    @property
    def worth(self) -> float:
        """The value after the cost of the edits."""
        replaced = self.replaced
        return self.value - EDIT_COST * (len(self.path) - replaced) - REPLACED_COST * replaced


class Search:
    """One search; `run` does it all, and may be stopped from another thread at any time.

    What is chosen depends on the search half alone. With the same prompts, and time enough, the
    result is the same. Beams of growing width: what one round has measured, the next one knows.
    """

    def __init__(
        self,
        scorer: TopicScorer,
        topic: Topic,
        *,
        budget: float,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[Snapshot], None] = lambda _: None,
        widths: Sequence[int] = WIDTHS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scorer = scorer
        self._topic = topic
        self._budget = budget
        self._stopped = stopped
        self._progress = progress
        self._widths = widths
        self._clock = clock
        self._began = clock()
        self._values: dict[Key, float] = {}
        self._edits: dict[Key, list[tuple[Key, Candidate]]] = {}
        self._best_of: dict[int, _Node] = {}
        self._points: dict[int, tuple[_Node, CurvePoint]] = {}

    def run(self) -> SearchResult | None:
        """Search until nothing helps, the budget is used up, or it is stopped.

        None when it was stopped before the definition at hand was measured.
        """
        base = self._scorer.measure([self._topic], self._stopped)
        if base is None:
            return None
        root = _Node(self._topic, float(base.objective[0]), ())
        self._values[same(self._topic)] = root.value
        self._keep([root])
        self._tell(0, 0)
        ended = "exhausted"
        for width in self._widths:
            if not self._round(root, width):
                ended = "stopped" if self._stopped() else "budget"
                break
        matches = self._scorer.matches(self._topic)
        before = matches, halves_of(base, 0, self._topic)
        return SearchResult(
            topic=self._topic,
            before=before[1],
            proposal=self._proposed(self._best(), root, before),
            single=self._proposed(self._best_of.get(1, root), root, before),
            curve=self._curve(),
            measured=len(self._values),
            seconds=self._clock() - self._began,
            ended=ended,
        )

    def _proposed(
        self, node: _Node, root: _Node, before: tuple[NDArray[np.bool_], Halves]
    ) -> Proposal | None:
        if not node.path or node.worth <= root.value:
            return None
        measured = self._scorer.measure([node.topic])
        if measured is None:
            return None
        after = halves_of(measured, 0, node.topic)
        gain = node.value - root.value
        return propose(self._scorer, self._topic, before, node.path, after, gain)

    def _over(self) -> bool:
        return self._stopped() or self._clock() - self._began >= self._budget

    def _best(self) -> _Node:
        """The best one after the cost of its edits; of equals the one with fewer."""
        nodes = [self._best_of[edits] for edits in sorted(self._best_of)]
        return max(nodes, key=lambda node: node.worth)

    def _keep(self, nodes: Iterable[_Node]) -> None:
        for node in nodes:
            old = self._best_of.get(len(node.path))
            if old is None or node.worth > old.worth:
                self._best_of[len(node.path)] = node

    def _round(self, root: _Node, width: int) -> bool:
        """One beam search of this width; False when it was cut short."""
        beam, idle = [root], 0
        passed = {same(root.topic)}
        for edits in range(1, MOST_EDITS + 1):
            best = self._best()
            children: dict[Key, _Node] = {}
            for node in beam:
                whole = self._expand(node, children, passed)
                self._keep(children.values())
                self._tell(width, edits)
                if not whole:
                    return False
            # Of equal worth the one found first: a sort keeps their order.
            beam = sorted(children.values(), key=lambda node: -node.worth)[:width]
            passed.update(children)
            idle = 0 if self._best() is not best else idle + 1
            if not beam or idle == _PATIENCE:
                break
        return True

    def _expand(self, node: _Node, children: dict[Key, _Node], passed: Container[Key]) -> bool:
        """Add all edits of a definition to `children`, measured; False when cut short."""
        name = same(node.topic)
        if name not in self._edits:
            material = self._scorer.material(self._scorer.matches(node.topic))
            found = candidates(node.topic, material, _MOST)
            self._edits[name] = [(same(one.topic), one) for one in found]
        full = node.replaced >= _REPLACED_AT_MOST
        edits = [
            (key, one)
            for key, one in self._edits[name]
            if key not in passed and not (full and one.kind is Kind.REPLACE_WORD)
        ]
        fresh = [pair for pair in edits if pair[0] not in self._values]
        whole = True
        for start in range(0, len(fresh), _SLICE):
            part = fresh[start : start + _SLICE]
            topics = [one.topic for _, one in part]
            measured = None
            if not self._over():
                measured = self._scorer.measure(topics, self._over, report=False)
            if measured is None:
                whole = False
                break
            values = measured.objective.tolist()
            self._values.update((key, value) for (key, _), value in zip(part, values, strict=True))
        for key, one in edits:
            if key in self._values and key not in children:
                children[key] = _Node(one.topic, self._values[key], (*node.path, one))
        return whole

    def _tell(self, width: int, edits: int) -> None:
        best = self._best()
        curve = self._curve()
        shown = next((point for point in curve if point.edits == len(best.path)), None)
        self._progress(
            Snapshot(
                seconds=self._clock() - self._began,
                budget=self._budget,
                width=width,
                edits=edits,
                measured=len(self._values),
                coverage=shown.search if shown else float("nan"),
                curve=curve,
            )
        )

    def _curve(self) -> tuple[CurvePoint, ...]:
        """Coverage of the best definition of each number of edits; for display alone."""
        fresh = [
            (edits, node)
            for edits, node in sorted(self._best_of.items())
            if edits not in self._points or self._points[edits][0] is not node
        ]
        if fresh:
            measured = self._scorer.measure([node.topic for _, node in fresh])
            if measured is not None:
                search, report = measured.coverage(0), measured.coverage(1)
                for row, (edits, node) in enumerate(fresh):
                    point = CurvePoint(edits, float(search[row]), float(report[row]))
                    self._points[edits] = node, point
        return tuple(self._points[edits][1] for edits in sorted(self._points))


def search(
    scorer: TopicScorer,
    topic: Topic,
    *,
    budget: float,
    stopped: Callable[[], bool] = lambda: False,
    progress: Callable[[Snapshot], None] = lambda _: None,
) -> SearchResult | None:
    """The best definition that edits lead to within `budget` seconds; see `Search`."""
    return Search(scorer, topic, budget=budget, stopped=stopped, progress=progress).run()
