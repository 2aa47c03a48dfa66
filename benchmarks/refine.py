"""Gains of the proposals of `guardtui refine` on prompts unseen by the search.

    python benchmarks/refine.py CASES.jsonl [CASES.csv TOPIC.yaml ...] [--json] [--budget 10]
        [--cases N] [--splits K] [--encoder pair]
        [--singles]

Cases are those of `fidelity.py` whose coverage, over all prompts and with the threshold fitted to
them, is below 0.9; or a CSV of prompts followed by its topic file, whatever its coverage. The
prompts of each are split in halves: the search sees only one of them, and the gain in coverage is
measured on the other, with the threshold fitted on the first half before and after the edit.
`best_proposal` is the first edit that the app advises after each edit, `search` that of a search;
without one the gain is 0. `worse` is the share of cases with a negative gain, `proposed` that of
cases with a proposal, and `expected_gain` the mean gain that the proposals promised. With
`--splits K` each case is split in K ways, the first by a hash of each prompt as in the product.

With `--singles` there is no search. Of all single edits of each case, `best` is the largest gain on
the other half (a bound of every choice), `mean` the mean gain, and `chosen` that of the edit with
the greatest value on the first half, proposed or not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Read by numpy at its import: on busy cores a second BLAS thread costs more than it gains.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from fidelity import Case, read_cases

from guardtui.advice.candidates import Candidate, candidates
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.measured_rows import measured_rows
from guardtui.advice.objective import material_of, unchanged
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import Search, SearchResult, advise
from guardtui.advice.splits import SplitError, hashed_split
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import fit_threshold
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.sweep import stratified_folds
from guardtui.domain.topic import Intent, Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

BELOW = 0.9


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one case and split: held-out coverage and gains, and the expected gain."""

    id: str
    split: int
    coverage: float
    single: float
    expected_gain: float
    searched: float
    text: str


def prompt_set(case: Case) -> PromptSet:
    """Return the prompt set of a case."""
    words = ["true" if belongs else "false" for belongs in case.expected]
    frame = pl.DataFrame(
        {"prompt": case.prompts, "expected": words, "intent": [case.intent] * len(words)}
    )
    return build_prompt_set(frame, np.arange(2, len(words) + 2, dtype=np.uint32), case.id)


def topic_of(case: Case) -> Topic:
    """Return the definition of a case."""
    return Topic(
        name=case.name,
        description=case.description,
        examples=tuple(case.examples),
        intent=Intent(case.intent),
    )


def some_of(prompts: PromptSet, rows: np.ndarray) -> PromptSet:
    """Return some rows of a prompt set as a prompt set."""
    return PromptSet(prompts.frame[np.flatnonzero(rows)], prompts.intent, prompts.source)


def halves(prompts: PromptSet, split: int) -> np.ndarray:
    """Return which prompts the search sees, bool [N]."""
    if split == 0:
        return hashed_split(prompts.keys, prompts.expected).search
    return stratified_folds(prompts.expected, 2, split, prompts.keys) == 0


class Judge:
    """Coverage of definitions on prompts, with the threshold fitted on others."""

    def __init__(self, encoder: str, fitted_on: PromptSet, measured_on: PromptSet) -> None:
        self._encoder = LocalScanner(encoder)
        self._sets = fitted_on, measured_on

    def _evaluation(self, topic: Topic, prompts: PromptSet) -> Evaluation:
        scanner = self._encoder.beside()
        scanner.use_threshold(None)
        evaluation = scanner.evaluate_now(topic, prompts)
        assert evaluation is not None
        return evaluation

    def coverage(self, topic: Topic) -> float:
        """Return coverage on the second set; the threshold is fitted without the examples."""
        first, second = self._sets
        own = first.prompts.is_in(list(topic.examples)).to_numpy()
        evaluation = self._evaluation(topic, some_of(first, ~own))
        threshold = np.float32(fit_threshold(evaluation, 0.5, least=1).threshold)
        held = self._evaluation(topic, second)
        right = (held.verdicts.score >= threshold) == second.expected
        return float(min(right[second.expected].mean(), right[~second.expected].mean()))


def measure(
    scanner: LocalScanner, prompts: PromptSet, topic: Topic, split: int, budget: float
) -> Figures:
    """Measure one case and split. Raises GuardtuiError if this is impossible."""
    chosen = halves(prompts, split)
    seen, unseen = some_of(prompts, chosen), some_of(prompts, ~chosen)
    own_scanner = scanner.beside()
    rows = measured_rows(seen)
    scores = open_scores(own_scanner, seen)
    assert scores is not None
    objective = EngineObjective(scores, rows.chosen_on, fitted=True)
    judge = Judge(scanner.encoder_name, seen, unseen)
    before = judge.coverage(topic)

    def gained(result: SearchResult | None) -> tuple[float, Proposal | None]:
        best = result.best if result is not None else None
        return (judge.coverage(best.topic) - before if best else 0.0), best

    single, first = gained(advise(objective, topic, rows))
    searched = single
    if budget > 0:
        searched, _ = gained(Search(objective, topic, rows, budget=budget).run())
    text = "" if first is None else "; ".join(first.changes)
    expected_gain = 0.0 if first is None else first.gain.value
    return Figures(prompts.source, split, before, single, expected_gain, searched, text)


def measure_singles(
    scanner: LocalScanner, prompts: PromptSet, topic: Topic, split: int
) -> tuple[float, float, float]:
    """Return held-out gains of single edits: the largest, the mean, and of the best by value."""
    chosen = halves(prompts, split)
    scores = open_scores(scanner.beside(), prompts)
    assert scores is not None
    objective = EngineObjective(scores, np.flatnonzero(chosen), fitted=True)
    unseen = np.flatnonzero(~chosen)
    belongs = prompts.expected[unseen]

    def coverage(candidate: Candidate) -> float:
        appraisal = objective.appraise(candidate)
        assert appraisal is not None
        right = objective.judge(candidate.topic, appraisal, unseen) == belongs
        return float(min(right[belongs].mean(), right[~belongs].mean()))

    appraised = objective.appraise(unchanged(topic))
    assert appraised is not None
    edits = candidates(topic, material_of(objective, appraised.matches))
    values = objective.values(edits)
    assert values is not None
    before = coverage(unchanged(topic))
    gains = np.array([coverage(edit) for edit in edits]) - before
    return float(gains.max()), float(gains.mean()), float(gains[values.argmax()])


def read(paths: Sequence[Path], scanner: LocalScanner) -> Iterator[tuple[PromptSet, Topic]]:
    """Yield the cases with a coverage below `BELOW`, and each CSV with its topic file."""
    left = list(paths)
    while left:
        path = left.pop(0)
        if path.suffix != ".jsonl":
            yield load_prompts(path), load_topic(left.pop(0)).topic
            continue
        for case in read_cases(path):
            prompts, topic = prompt_set(case), topic_of(case)
            if Judge(scanner.encoder_name, prompts, prompts).coverage(topic) < BELOW:
                yield prompts, topic


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, search, report. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="CASES.jsonl")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--budget", type=float, default=10, metavar="SECONDS")
    parser.add_argument("--cases", type=int, metavar="N", help="only so many, spread evenly")
    parser.add_argument("--splits", type=int, default=1, metavar="K")
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--singles", action="store_true", help="gains of all single edits")
    options = parser.parse_args(arguments)
    try:
        scanner = LocalScanner(options.encoder)
        scanner.load()
        cases = list(read(options.files, scanner))
    except (OSError, ValueError, IndexError, GuardtuiError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.cases is not None and cases:
        indexes = np.linspace(0, len(cases) - 1, min(max(options.cases, 1), len(cases)))
        cases = [cases[int(index)] for index in indexes.round()]
    if options.singles:
        gains = np.array(
            [
                measure_singles(scanner, prompts, topic, split)
                for prompts, topic in cases
                for split in range(options.splits)
            ]
        )
        means = dict(zip(("best", "mean", "chosen"), gains.mean(axis=0).tolist(), strict=True))
        worse = float((gains[:, 2] < 0).mean())
        print(json.dumps({**means, "chosen_worse": worse, "runs": len(gains)}, indent=2))
        return 0
    results: list[Figures] = []
    for prompts, topic in cases:
        for split in range(options.splits):
            try:
                figures = measure(scanner, prompts, topic, split, options.budget)
            except SplitError as error:
                print(f"{prompts.source}: {error}", file=sys.stderr)
                continue
            results.append(figures)
            print(
                f"{figures.id:<40} {figures.coverage:.3f}  first {figures.single:+.3f} "
                f"(expected {figures.expected_gain:+.3f})  search {figures.searched:+.3f}  "
                f"{figures.text}",
                file=sys.stderr,
                flush=True,
            )
    if not results:
        print(f"no case has a coverage below {BELOW}", file=sys.stderr)
        return 2

    def summary(gains: list[float]) -> dict[str, float]:
        array = np.array(gains)
        return {
            "held_out_gain": float(array.mean()),
            "worse": float((array < 0).mean()),
            "standard_error": float(array.std(ddof=1) / np.sqrt(len(array)))
            if len(array) > 1
            else float("nan"),
        }

    proposed = [figures for figures in results if figures.text]
    document = {
        "best_proposal": {
            **summary([figures.single for figures in results]),
            "proposed": len(proposed) / len(results),
            "expected_gain": float(np.mean([figures.expected_gain for figures in results])),
        },
        "search": summary([figures.searched for figures in results]),
        "coverage_before": float(np.mean([figures.coverage for figures in results])),
        "cases": len(results),
        "encoder": options.encoder,
    }
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        for key in ("best_proposal", "search"):
            print(f"{key:<14} " + "  ".join(f"{k} {v:+.4f}" for k, v in document[key].items()))
        print(f"cases {len(results)}, coverage before {document['coverage_before']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
