"""Checks of what guardtui promises and keeps, on prompts that had no part in it.

    python benchmarks/evidence.py CASES.jsonl [--guardrail FILE.py ...] [--wordings FILE.json]
        [--encoder pair] [--json]

Cases are those of `fidelity.py`. Each is cut in halves by a hash of its prompts.

`promise`: on each half in turn the engine proposes an edit as in the app. `promised` is the mean
gain of coverage that it states, `realised` the mean on the other half, with the thresholds fitted
on the first; `lower_reached` is the share of proposals whose gain is at least their lower bound.
`proposed` counts the proposals, of up to two a case.

`experiments`: each `--guardrail` is a file with `score(name, description, examples, prompts)`,
which returns a score for each prompt. Its operating point is set once, at the case's definition, .3
of the way from the best threshold to the .6 quantile of the scores, and an edit does not move it.
An experiment is done on the first half, with the engine's edits or, with `--wordings`, with those
of {case id: [{"description", "examples"}, ...]}, and judged on the other half. `kept` counts the
edits that it offers for keeping, `gain` is the mean change of coverage of these, `worse` the share
of them that lose more than .01, and `calls_share` the calls in relation to scanning all candidates
whole. `kept_without_effect` is the share of cases in which an edit is kept of a guardrail that
ignores the definition and answers 3 % of the prompts differently from call to call.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

# Read by numpy at its import: on busy cores a second BLAS thread costs more than it gains.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from fidelity import Case, read_cases

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.advice.experiment import Experiment
from guardtui.advice.experiment_candidates import best_edits, with_subsets
from guardtui.advice.measured_rows import MeasuredRows
from guardtui.advice.objective import OwnPrompts
from guardtui.advice.search import advise
from guardtui.domain.operating_point import FITTED
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.sweep import quick_best, stratified_folds
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

Score: TypeAlias = Callable[[str, str, list[str], list[str]], Sequence[float]]
Bools: TypeAlias = "NDArray[np.bool_]"

FLIPS = 0.03
WORSE = -0.01
_SEED = 5


@dataclass
class Half:
    """A case with the rows that edits are chosen on, and the others."""

    topic: Topic
    prompts: PromptSet
    scores: EngineScores
    chosen_on: NDArray[np.intp]
    others: NDArray[np.intp]

    @property
    def objective(self) -> EngineObjective:
        """The engine on the rows to choose on."""
        return EngineObjective(self.scores, self.chosen_on, fitted=True)


@dataclass
class Promises:
    """Promised and realised gains of proposals, with the lower bounds."""

    promised: list[float] = field(default_factory=list)
    realised: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cases: int = 0

    def values(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        pairs = list(zip(self.realised, self.low, strict=True))
        return {
            "promised": mean(self.promised),
            "realised": mean(self.realised),
            "lower_reached": mean([float(gain >= low) for gain, low in pairs]),
            "proposed": len(pairs),
            "cases": self.cases,
        }


@dataclass
class Experiments:
    """Results of experiments on one guardrail."""

    pairs: int = 0
    gains: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    without_effect: int = 0

    def values(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "pairs": self.pairs,
            "kept": len(self.gains),
            "gain": mean(self.gains),
            "worse": mean([float(gain < WORSE) for gain in self.gains]),
            "calls_share": mean(self.calls),
            "kept_without_effect": round(self.without_effect / self.pairs, 4)
            if self.pairs
            else None,
        }


def mean(values: Sequence[float]) -> float | None:
    """Return the mean with four decimals, None of no values."""
    return round(fmean(values), 4) if values else None


def prompt_set(case: Case) -> PromptSet:
    """Return the prompt set of a case."""
    words = ["true" if belongs else "false" for belongs in case.expected]
    frame = pl.DataFrame(
        {"prompt": case.prompts, "expected": words, "intent": [case.intent] * len(words)}
    )
    return build_prompt_set(frame, np.arange(2, len(words) + 2, dtype=np.uint32), case.id)


def halves(case: Case, encoder: str) -> list[Half]:
    """Return the case with the first half to choose on, then with the second."""
    prompts = prompt_set(case)
    topic = Topic(
        name=case.name,
        description=case.description,
        examples=tuple(case.examples),
        intent=Intent(case.intent),
    )
    scores = open_scores(LocalScanner(encoder, threshold=FITTED), prompts)
    assert scores is not None, "nothing stops it"
    search = hashed_half(prompts.keys, prompts.expected)
    first, second = np.flatnonzero(search), np.flatnonzero(~search)
    return [
        Half(topic, prompts, scores, first, second),
        Half(topic, prompts, scores, second, first),
    ]


def hashed_half(keys: NDArray[np.uint64], expected: Bools) -> Bools:
    """Return about half of the prompts of each class, by their keys: the same for the same prompts.

    A class of which a hash takes more than 70 % or less than 30 % is dealt out by rank.
    """
    # Keys are hashes, but other samples are ordered by them: mixed again for independence.
    mixed = (keys ^ (keys >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    half: Bools = mixed >= np.uint64(2**63)
    for label in (True, False):
        rows = np.flatnonzero(expected == label)
        if len(rows) > 1 and abs(float(half[rows].mean()) - 0.5) > 0.2:
            ranked = rows[np.argsort(mixed[rows], kind="stable")]
            half[ranked] = np.arange(len(ranked)) % 2 == 0
    return half


def coverage_change(belongs: Bools, before: Bools, after: Bools) -> float:
    """Return the change of min(TPR, TNR), from which verdicts are right, bool [n]."""

    def coverage(right: Bools) -> float:
        return min(float(right[belongs].mean()), float(right[~belongs].mean()))

    return coverage(after) - coverage(before)


def promise(half: Half, promises: Promises) -> None:
    """Add the proposal on one half, if there is one, and what it gains on the other."""
    objective = half.objective
    nothing = np.zeros(0, np.intp)
    result = advise(objective, half.topic, MeasuredRows(half.chosen_on, nothing, "a half"))
    best = None if result is None else result.best
    if best is None:
        return
    belongs = half.prompts.expected
    right = []
    candidates = [
        Candidate(topic, CandidateKind.COMPLETE, "") for topic in (half.topic, best.topic)
    ]
    for candidate in candidates:
        appraisal = objective.appraise(candidate)
        assert appraisal is not None, "nothing stops it"
        matches = objective.judge(candidate.topic, appraisal, half.others)
        right.append(matches == belongs[half.others])
    counted = OwnPrompts(half.prompts, half.others).counted(candidates).all(axis=0)
    gain = coverage_change(belongs[half.others][counted], right[0][counted], right[1][counted])
    promises.promised.append(best.gain.value)
    promises.low.append(best.gain.low)
    promises.realised.append(gain)
    promises.texts.append("; ".join(best.changes))


def candidates_of(half: Half, wordings: list[dict[str, Any]] | None) -> list[Candidate]:
    """Return the candidates of an experiment: given wordings, or the engine's edits."""
    if wordings is None:
        return best_edits(half.objective, half.topic) or []
    given = []
    for wording in wordings:
        examples = tuple(wording.get("examples") or half.topic.examples)
        texts = {"description": wording["description"], "examples": examples}
        topic = half.topic.model_copy(update=texts)
        given.append(Candidate(topic, CandidateKind.TYPED, "a wording"))
    return with_subsets(half.topic, given)


def operating_point(scores: NDArray[np.float64], belongs: Bools) -> float:
    """Return the threshold of a deployed guardrail: not the best, but not far from it."""
    best = quick_best(scores.astype(np.float32), belongs)
    assert best is not None, "both classes have prompts"
    return best + 0.3 * (float(np.quantile(scores, 0.6)) - best)


def experiment(
    half: Half, candidates: list[Candidate], before: Bools, after: Bools, seed: int
) -> tuple[int | None, float]:
    """Run an experiment; return the kept candidate or None, and the share of all calls.

    `before` [N] and `after` [k, N] are whether the guardrail's verdicts are right.
    """
    rows = half.chosen_on
    belongs = half.prompts.expected[rows]
    definition = Candidate(half.topic, CandidateKind.COMPLETE, "")
    counted = OwnPrompts(half.prompts, rows).counted([definition, *candidates])
    # In the order of the fold, which is that of a hash.
    order = np.argsort(stratified_folds(belongs, len(rows), seed, half.prompts.keys[rows]))
    run = Experiment(before[rows], belongs, counted[0] & counted[1:], order)
    while run.ending is None:
        for index in run.alive:
            asked = run.unasked(index)
            run.record(index, asked, after[index, rows[asked]].tolist())
        run.take_rounds()
    return run.best, run.answered / max(len(candidates) * len(rows), 1)


def try_guardrail(
    half: Half,
    candidates: list[Candidate],
    score: Score,
    results: Experiments,
    case: Case,
) -> None:
    """Add an experiment on a guardrail, and one on its twin that ignores the definition."""
    belongs = half.prompts.expected

    def scores_of(topic: Topic) -> NDArray[np.float64]:
        texts = list(case.prompts)
        values = score(topic.name, topic.description, list(topic.examples), texts)
        return np.asarray(values, np.float64)

    first = scores_of(half.topic)
    cut = operating_point(first, belongs)
    before = (first >= cut) == belongs
    after = np.array([(scores_of(candidate.topic) >= cut) == belongs for candidate in candidates])
    results.pairs += 1
    if not len(candidates):
        return
    best, share = experiment(half, candidates, before, after, _SEED)
    results.calls.append(share)
    if best is not None:
        counted = OwnPrompts(half.prompts, half.others).counted([candidates[best]])[0]
        rows = half.others[counted]
        results.gains.append(coverage_change(belongs[rows], before[rows], after[best, rows]))
    random = np.random.default_rng([_SEED, results.pairs])
    unmoved = before ^ (random.random(after.shape) < FLIPS)
    if experiment(half, candidates, before, unmoved, _SEED)[0] is not None:
        results.without_effect += 1


def load_guardrail(path: Path) -> Score:
    """Import a guardrail's `score` from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    score: Score = module.score
    return score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--guardrail", type=Path, action="append", default=[])
    parser.add_argument("--wordings", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    guardrails = {path.stem: load_guardrail(path) for path in options.guardrail}
    wordings = None if options.wordings is None else json.loads(options.wordings.read_text())
    promises = Promises()
    experiments = {name: Experiments() for name in guardrails}
    for case in read_cases(options.cases):
        both = halves(case, options.encoder)
        promises.cases += 1
        for half in both:
            promise(half, promises)
        if wordings is None or case.id in wordings:
            given = None if wordings is None else wordings[case.id]
            candidates = candidates_of(both[0], given) if guardrails else []
            for name, score in guardrails.items():
                try_guardrail(both[0], candidates, score, experiments[name], case)
        if not options.json:
            print(case.id, promises.values(), file=sys.stderr)
    found = {
        "promise": promises.values(),
        "experiments": {name: results.values() for name, results in experiments.items()},
    }
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for text, promised, realised in zip(
        promises.texts, promises.promised, promises.realised, strict=True
    ):
        print(f"{promised:+.3f} {realised:+.3f} {text}")
    for name, values in [("promise", found["promise"]), *found["experiments"].items()]:
        print(name, values)


if __name__ == "__main__":
    main()
