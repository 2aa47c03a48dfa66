"""How much the proposals of `guardtui refine` gain on prompts that had no part in the choice.

    python benchmarks/refine.py CASES.jsonl [--json] [--budget 60] [--cases N] [--encoder minilm]

Cases are those of `fidelity.py` whose coverage, over all prompts, is below 0.9. Each is split by a
hash of its prompts: edits are chosen on one half and the gain in coverage is taken on the other.
The engine is as it ships. `--cases N` takes N of them, spread evenly over the file; `--budget` is
the time of a search in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Read by numpy when it is imported: on busy cores a second BLAS thread costs more than it gains.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from fidelity import Case, read_cases

from guardtui.advice.measuring import open_scorer
from guardtui.advice.search import search
from guardtui.advice.splits import SplitError, split_prompts
from guardtui.advice.whatif import shortlist
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

BELOW = 0.9


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one case: coverage at first, held-out gains, seconds of the search, edits."""

    id: str
    coverage: float
    single: float
    searched: float
    search_half: float
    seconds: float
    edits: int


def prompt_set(case: Case) -> PromptSet:
    """A case's prompts as the product has them."""
    words = ["true" if belongs else "false" for belongs in case.expected]
    frame = pl.DataFrame(
        {"prompt": case.prompts, "expected": words, "intent": [case.intent] * len(words)}
    )
    return build_prompt_set(frame, np.arange(2, len(words) + 2, dtype=np.uint32), case.id)


def measure(scanner: LocalScanner, case: Case, budget: float) -> Figures | None:
    """One case; None when it is good already, or cannot be split."""
    prompts = prompt_set(case)
    topic = Topic(
        name=case.name,
        description=case.description,
        examples=tuple(case.examples),
        intent=Intent(case.intent),
    )
    try:
        split = split_prompts(prompts)
    except SplitError as error:
        print(f"{case.id}: {error}", file=sys.stderr)
        return None
    scorer = open_scorer(scanner, prompts, split, lambda _: None)
    assert scorer is not None
    right = scorer.matches(topic) == prompts.expected
    coverage = float(min(right[prompts.expected].mean(), right[~prompts.expected].mean()))
    if coverage >= BELOW:
        return None
    singles = shortlist(scorer, topic, limit=1)
    assert singles is not None
    single = singles.proposals[0].held_out_gain if singles.proposals else 0.0
    if budget <= 0:
        return Figures(case.id, coverage, single, single, 0.0, 0.0, 0)
    began = time.monotonic()
    result = search(scorer, topic, budget=budget)
    assert result is not None
    best = result.proposal
    return Figures(
        case.id,
        coverage,
        single,
        best.held_out_gain if best else 0.0,
        best.search_gain if best else 0.0,
        time.monotonic() - began,
        len(best.changes) if best else 0,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, search, report. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases_file", type=Path, metavar="CASES.jsonl")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--budget", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--cases", type=int, metavar="N", help="only so many, spread evenly")
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    options = parser.parse_args(arguments)
    try:
        cases = read_cases(options.cases_file)
        scanner = LocalScanner(options.encoder)
        scanner.load()
    except (OSError, ValueError, ScannerError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.cases is not None:
        # Which of them are below 0.9 is not known before they are scored.
        low = [case for case in cases if measure(scanner, case, 0) is not None]
        places = np.linspace(0, len(low) - 1, min(max(options.cases, 1), len(low)))
        cases = [low[int(place)] for place in places.round()]
    found: list[Figures] = []
    for case in cases:
        figures = measure(scanner, case, options.budget)
        if figures is not None:
            found.append(figures)
            print(
                f"{figures.id:<44} {figures.coverage:.3f}  single {figures.single:+.3f}  "
                f"search {figures.searched:+.3f} ({figures.search_half:+.3f} where chosen, "
                f"{figures.edits} edits, {figures.seconds:.0f} s)",
                file=sys.stderr,
                flush=True,
            )
    if not found:
        print(f"no case has a coverage below {BELOW}", file=sys.stderr)
        return 2
    singles = np.array([one.single for one in found])
    searched = np.array([one.searched for one in found])
    seconds = float(np.mean([one.seconds for one in found]))
    document = {
        "best_proposal": {"held_out_gain": float(singles.mean()), "cases": len(found)},
        "search": {
            "held_out_gain": float(searched.mean()),
            "seconds": seconds,
            "cases": len(found),
        },
    }
    if options.json:
        print(json.dumps(document))
        return 0
    spread = float((searched - singles).std() / len(found) ** 0.5)
    print(f"{len(found)} cases with coverage below {BELOW}: gain in held-out coverage, mean")
    print(f"  best single edit  {singles.mean():+.3f}   worse in {np.mean(singles < 0):.0%}")
    print(f"  search            {searched.mean():+.3f}   worse in {np.mean(searched < 0):.0%}")
    print(f"  difference        {(searched - singles).mean():+.3f} ± {spread:.3f} (standard error)")
    print(f"  seconds a search  {seconds:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
