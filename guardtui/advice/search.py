"""Search for better definitions: single edits, and several in a row, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from guardtui.advice.candidates import Candidate, CandidateKind, candidates, same
from guardtui.advice.folds import FOLDS, REPEATS, gain_of_choice
from guardtui.advice.measured_rows import MeasuredRows
from guardtui.advice.objective import Appraisal, Gain, Objective, Stopped, material_of, unchanged
from guardtui.advice.proposals import Proposal, appraise_current, current_metrics, propose
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.topic import Topic

Key: TypeAlias = tuple[str, tuple[str, ...]]

MOST_EDITS = 6
"""Maximum number of edits in a row."""

EDIT_COST = 0.005
"""Minimum gain of another edit, in the objective: each edit may fit noise."""

SWAP_COST = 0.015
"""Minimum gain of a swapped example, since the author chose the old one with care."""

WIDTHS = (1, 3, 6, 12)
"""Widths of the beam, in the rounds of a search."""

_MAIN_PART = 0.4  # of the budget; the rest is for the folds
_MOST = 2000
_PATIENCE = 2  # edits in a row without a gain before a round ends
_SLICE = 400  # candidates between two checks of the clock
_SINGLES = 20  # single edits whose gain is measured
_EACH = 6  # maximum number of each kind among them
_UNKNOWN = Gain(0.0, -1.0, 1.0, likely=False)


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """Progress of a search: `width` definitions pursued at once, `edits` deep in this round.

    `seconds` of `budget` have passed, and `measured` definitions are measured. `gain` is the best
    gain in the objective.
    """

    seconds: float
    budget: float
    width: int
    edits: int
    measured: int
    gain: float


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result of a search: proposals, likely ones first, and the greatest gain first.

    `settings` are the guardrail that measured it: the engine or a forecast. `before` are the
    definition's metrics on the prompts `rows` that edits were chosen on. `single_edits` counts its
    single edits, `measured` all measured definitions. `ended` is `stopped`, `budget`, or
    `exhausted` (no other edit is worth its cost).
    """

    topic: Topic
    settings: ScannerSettings
    before: Metrics
    proposals: tuple[Proposal, ...]
    single_edits: int
    measured: int
    seconds: float
    ended: str
    rows: MeasuredRows

    @property
    def advised(self) -> tuple[Proposal, ...]:
        """Proposals that are good enough to show."""
        return tuple(proposal for proposal in self.proposals if proposal.is_advised)

    @property
    def best(self) -> Proposal | None:
        """The first of these, or None."""
        return next(iter(self.advised), None)

    @property
    def tried(self) -> str:
        """How many edits or definitions were measured: `69 single edits`."""
        if self.measured > self.single_edits + 1:  # with the definition itself
            return count_text(self.measured, "definition")
        return count_text(max(self.measured - 1, 0), "single edit")

    @property
    def none_gains(self) -> str:
        """Why no edit is proposed, where not even a guess is above 0."""
        best = next(iter(self.proposals), None)
        none = "none is worth an edit" if best is None else "none gains there"
        return f"no edit is likely to help on new prompts: of {self.tried} {none}"

    @property
    def no_proposal(self) -> str:
        """Why there is no proposal, with figures; not display-safe."""
        best = next(iter(self.proposals), None)
        if best is None and not self.single_edits:
            return "no edits to try: no single edit brings the definition within the limits"
        if best is not None and best.held_out is not None and best.gain.likely:
            held = best.held_out
            return (
                "the best definition found is not better on the held-out prompts: coverage "
                f"{rate_text(held.before.coverage)} → {rate_text(held.after.coverage)} there"
            )
        if best is None or not best.gain.is_positive:
            return self.none_gains
        return (
            f"no edit is likely to help on new prompts: of {self.tried} the best is a guess; more "
            f"labels or a scan would decide: {'; '.join(best.changes)}, {best.figures}"
        )


@dataclass(frozen=True, eq=False)
class _Node:
    """A measured definition: its value by the objective, and the edits that lead to it."""

    topic: Topic
    value: float
    path: tuple[Candidate, ...]

    @property
    def worth(self) -> float:
        """The value after the cost of the edits."""
        return self.value - sum(_cost(step) for step in self.path)


class Search:
    """Search with beams of growing width; each round reuses the values of earlier ones.

    Deterministic, unless the budget ends it. `stopped` may become true in another thread.
    """

    def __init__(
        self,
        objective: Objective,
        topic: Topic,
        rows: MeasuredRows,
        *,
        budget: float = np.inf,
        stopped: Stopped = lambda: False,
        progress: Callable[[SearchProgress], None] = lambda _: None,
        widths: Sequence[int] = WIDTHS,
        most_edits: int = MOST_EDITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objective, self._topic, self._rows = objective, topic, rows
        self._budget, self._stopped, self._progress = budget, stopped, progress
        self._limit = budget  # seconds of the search itself
        self._widths, self._most_edits, self._clock = widths, most_edits, clock
        self._began = clock()
        self._values: dict[Key, float] = {}
        self._edits: dict[Key, list[tuple[Key, Candidate]]] = {}
        self._best_of: dict[int, _Node] = {}
        self._start = 0.0

    def run(self) -> SearchResult | None:
        """Search until no edit helps, the budget is used up, or it is stopped.

        Returns None if it was stopped before the current definition was measured.
        """
        self._limit = _MAIN_PART * self._budget
        current = appraise_current(self._objective, self._topic, self._stopped)
        ended = None if current is None else self._searched()
        if current is None or ended is None:
            return None
        return SearchResult(
            topic=self._topic,
            settings=self._objective.settings,
            before=current_metrics(self._objective, self._topic, current),
            proposals=self._proposals(current),
            single_edits=len(self._edits.get(same(self._topic), ())),
            measured=len(self._values),
            seconds=self._clock() - self._began,
            ended=ended,
            rows=self._rows,
        )

    def _searched(self) -> str | None:
        """Search, and return why it ended; None if the current definition was not measured."""
        start = self._objective.values([unchanged(self._topic)], self._stopped)
        if start is None:
            return None
        self._start = float(start[0])
        root = _Node(self._topic, self._start, ())
        self._values[same(self._topic)] = root.value
        self._keep([root])
        self._report_progress(0, 0)
        for width in self._widths:
            if not self._round(root, width):
                return "stopped" if self._stopped() else "budget"
        return "exhausted"

    def _over(self) -> bool:
        return self._stopped() or self._clock() - self._began >= self._limit

    def _best(self) -> _Node:
        """Return the best node after the cost of its edits; on a tie, the one with fewer edits."""
        nodes = [self._best_of[edits] for edits in sorted(self._best_of)]
        return max(nodes, key=lambda node: node.worth)

    def _keep(self, nodes: Iterable[_Node]) -> None:
        for node in nodes:
            old = self._best_of.get(len(node.path))
            if old is None or node.worth > old.worth:
                self._best_of[len(node.path)] = node

    def choose(self) -> Candidate | None:
        """Return the last step to the best definition, or None if no edit is worth its cost."""
        best = self._best() if self._searched() is not None else None
        return best.path[-1] if best is not None and best.path else None

    def _proposals(self, current: Appraisal) -> tuple[Proposal, ...]:
        """Return the best definition, and the best single edits, measured.

        The gain of the best is that of the whole search, repeated on folds. That of each other edit
        is a guess: as much less as it is worth less on the prompts it was chosen on.
        """
        best = self._best()
        paths = {same(best.topic): best.path} if best.path else {}
        for candidate in self._singles():
            paths.setdefault(same(candidate.topic), (candidate,))
        gain = self._gain(len(best.path)) if paths else None
        proposals = []
        for key, path in paths.items():
            less = max(best.value - self._values[key], 0.0) if best.path else 0.0
            expected = _UNKNOWN if gain is None else gain
            if path != best.path or not expected.likely:
                expected = expected.guess(less)
            # Not stopped with the search, since an ended search still returns its proposals.
            proposal = propose(
                self._objective, (self._topic, current), path, self._rows.held_out, expected
            )
            if proposal is not None:
                proposals.append(proposal)
        return tuple(sorted(proposals, key=lambda each: (not each.gain.likely, -each.gain.value)))

    def _gain(self, edits: int) -> Gain | None:
        """Return the gain of a search for up to so many edits on prompts without a part in it."""
        folds = FOLDS * REPEATS
        budget = (1 - _MAIN_PART) * self._budget / folds

        def choose(objective: Objective) -> Candidate | None:
            return Search(
                objective,
                self._topic,
                self._rows,
                budget=budget,
                stopped=self._stopped,
                widths=(1,),
                most_edits=max(edits, 1),
                clock=self._clock,
            ).choose()

        return gain_of_choice(self._objective, self._topic, choose, self._stopped)

    def _singles(self) -> list[Candidate]:
        """Return single edits that add to the objective, best first, at most `_EACH` of a kind."""
        ranked = sorted(
            (
                (self._values[key], candidate)
                for key, candidate in self._edits.get(same(self._topic), ())
                if self._values.get(key, -np.inf) > self._start + EDIT_COST
            ),
            key=lambda pair: -pair[0],
        )
        count: dict[CandidateKind, int] = {}
        kept: list[Candidate] = []
        for _, candidate in ranked:
            if count.get(candidate.kind, 0) < _EACH and len(kept) < _SINGLES:
                count[candidate.kind] = count.get(candidate.kind, 0) + 1
                kept.append(candidate)
        return kept

    def _round(self, root: _Node, width: int) -> bool:
        """Run a beam search of this width; return False if it was cut short."""
        beam, idle = [root], 0
        passed = {same(root.topic)}
        for edits in range(1, self._most_edits + 1):
            best = self._best()
            children: dict[Key, _Node] = {}
            for node in beam:
                whole = self._expand(node, children, passed)
                self._keep(children.values())
                self._report_progress(width, edits)
                if not whole:
                    return False
            # Stable sort: of equal worth, the earlier node is first.
            beam = sorted(children.values(), key=lambda node: -node.worth)[:width]
            passed.update(children)
            idle = 0 if self._best() is not best else idle + 1
            if not beam or idle == _PATIENCE:
                break
        return True

    def _expand(self, node: _Node, children: dict[Key, _Node], passed: Container[Key]) -> bool:
        """Measure all edits of a definition into `children`; return False if cut short."""
        name = same(node.topic)
        if name not in self._edits:
            last = node.path[-1] if node.path else unchanged(node.topic)
            appraised = self._objective.appraise(last)
            assert appraised is not None  # noqa: S101 - nothing stops it
            material = material_of(self._objective, appraised.matches)
            edited = candidates(node.topic, material, _MOST)
            self._edits[name] = [(same(candidate.topic), candidate) for candidate in edited]
        edits = [(key, candidate) for key, candidate in self._edits[name] if key not in passed]
        fresh = [pair for pair in edits if pair[0] not in self._values]
        whole = True
        for start in range(0, len(fresh), _SLICE):
            part = fresh[start : start + _SLICE]
            values = None
            if not self._over():
                values = self._objective.values([edit for _, edit in part], self._over)
            if values is None:
                whole = False
                break
            for (key, _), value in zip(part, values.tolist(), strict=True):
                self._values[key] = value
        for key, candidate in edits:
            if key in self._values and key not in children:
                children[key] = _Node(candidate.topic, self._values[key], (*node.path, candidate))
        return whole

    def _report_progress(self, width: int, edits: int) -> None:
        self._progress(
            SearchProgress(
                seconds=self._clock() - self._began,
                budget=self._budget,
                width=width,
                edits=edits,
                measured=len(self._values),
                gain=self._best().value - self._start,
            )
        )


def _cost(step: Candidate) -> float:
    return SWAP_COST if step.kind is CandidateKind.SWAP_EXAMPLE else EDIT_COST


def advise(
    objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped = lambda: False
) -> SearchResult | None:
    """Return the best single edits, fast enough to run after each edit; None if stopped."""
    result = Search(objective, topic, rows, stopped=stopped, widths=(1,), most_edits=1).run()
    return None if stopped() else result
