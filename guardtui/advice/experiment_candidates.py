"""Candidates of an experiment: wordings with subsets of their examples, or the engine's edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, zip_longest

import numpy as np

from guardtui.advice.candidates import Candidate, candidates, same
from guardtui.advice.objective import Objective, Stopped, material_of, unchanged
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Topic, violations

MOST = 30
"""Maximum number of candidates of an experiment."""

EDITS = 15
"""Maximum number of edits of the engine; more cost calls and are worse."""

_MOST = 2000


def with_subsets(topic: Topic, wordings: Sequence[Candidate], most: int = MOST) -> list[Candidate]:
    """Return wordings with subsets of their examples, at most `most`.

    A wording changes how well a guardrail separates; the number of its examples changes how much
    the guardrail catches, and only the guardrail knows how much that should be. Each wording comes
    with all its examples and with each smaller number of them; then further subsets, evenly from
    all sizes. Definitions beyond the limits are left out.
    """
    seen = {same(topic)}
    kept: list[Candidate] = []
    queues = [_subsets(wording) for wording in wordings]
    for round_of_all in zip_longest(*queues):
        for candidate in round_of_all:
            if candidate is None or len(kept) == most:
                continue
            key = same(candidate.topic)
            if key not in seen and not violations(candidate.topic):
                seen.add(key)
                kept.append(candidate)
    return kept


def _subsets(wording: Candidate) -> list[Candidate]:
    examples = wording.topic.examples
    sizes = range(min(len(examples), EXAMPLES_AT_MOST), EXAMPLES_AT_LEAST - 1, -1)
    by_size = [list(combinations(examples, size)) for size in sizes]
    # The first subset of each size, then the second of each, and so on.
    chosen = [subset for row in zip_longest(*by_size) for subset in row if subset is not None]
    return [_with_examples(wording, subset) for subset in chosen] or [wording]


def _with_examples(wording: Candidate, examples: tuple[str, ...]) -> Candidate:
    topic = wording.topic.model_copy(update={"examples": examples})
    return replace(wording, topic=topic)


def best_edits(
    objective: Objective, topic: Topic, most: int = EDITS, stopped: Stopped = lambda: False
) -> list[Candidate] | None:
    """Return the best single edits by an objective, one for each new example; None if stopped.

    They differ by what they add, since the guardrail may rank them differently than the objective.
    """
    current = objective.appraise(unchanged(topic), stopped)
    if current is None:
        return None
    edits = candidates(topic, material_of(objective, current.matches), _MOST)
    values = objective.values(edits, stopped)
    if values is None:
        return None
    kept: dict[tuple[str, ...], Candidate] = {}
    for index in np.argsort(-values, kind="stable").tolist():
        new = tuple(text for text in edits[index].topic.examples if text not in topic.examples)
        if len(kept) < most:
            kept.setdefault(new or edits[index].topic.examples, edits[index])
    return list(kept.values())
