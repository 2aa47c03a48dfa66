"""Simulate an author who labels a log: labels needed, and how often the intervals hold.

    python benchmarks/labels.py CASES [--json] [--engine random|inverted|constant] [--draws 200]

CASES as in `fidelity.py`. For each case and share of prompts that belong (.05, .10, .20) a log is
made of the case's prompts that belong and, as the rest, its other prompts and then those of the
other cases, without repeats: at most 2,000, fewer where the prompts do not suffice for the share.
The guardrail is the engine at its built-in threshold; its verdicts on the whole log are known. The
second definition has one example less, a different one in each draw.

- `audit_holds`: share of draws in which coverage over the log lies in the 95 % interval at which
  the author stops, the first within ±.08.
- `labels_for_interval`: labels until then. `random` takes prompts of the log at random and uses the
  plain estimate and its exact interval (`coverage_interval`), which is one for new prompts: a log
  with few prompts that belong has to be labelled whole. `random_finite` corrects that interval for
  the share of the log that is labelled.
- `labels_for_decision`: labels until the interval of the difference between the two definitions
  excludes 0 or lies within ±.02; `right_decisions` is the share of these statements that are true
  (`random_right_decisions` for `random`).
  `random` uses the posterior of a plain sample, corrected for a finite log: without that it would
  hardly ever decide.

These are means over cases and the shares .05 and .10; `at_20` is `labels_for_interval` at .20. A
method that does not get there labels the whole log. Of `audit_holds` and `random` in
`labels_for_interval` there are `--draws` draws a log, of what else is measured at most 40. With
`--engine` the scores that choose the prompts are random, constant, or the engine's inverted, while
the guardrail stays the same; `random` is not measured again. The queue is that of the app
(`guardtui/advice/label_queue.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

# Read by numpy at its import: on busy cores a second BLAS thread costs more than it gains.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from fidelity import Case, read_cases
from scipy import special

from guardtui.advice.label_queue import (
    FIRST_CHANGE,
    AuditedDifference,
    LabelQueue,
    decide,
    looks,
)
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.production_rates import WITHIN
from guardtui.scanners.local.encoder import ENCODERS, load_encoder
from guardtui.scanners.local.scoring import load_scoring, topic_texts

Bools: TypeAlias = "NDArray[np.bool_]"
Floats: TypeAlias = "NDArray[np.floating]"

SHARES = (0.05, 0.10, 0.20)
MOST = 2_000
HALF_WIDTH = 0.08
FEW_DRAWS = 40
_TAIL = 0.03  # of an exact limit of one rate, as in `coverage_interval`
_POSTERIOR = 300


@dataclass(frozen=True, eq=False)
class Log:
    """A log [N]: which prompts belong, the engine's scores, and verdicts by definition [D, N].

    The first definition is the case's, the others have one example less.
    """

    case: str
    share: float
    belongs: Bools
    scores: Floats
    matches: Bools

    def coverage(self, definition: int) -> float:
        """Return coverage of a definition over the whole log."""
        right = self.matches[definition] == self.belongs
        return float(min(right[self.belongs].mean(), right[~self.belongs].mean()))


def log_rows(
    case: int, cases: Sequence[Case], row: dict[str, int], share: float
) -> tuple[NDArray[np.intp], Bools]:
    """Return rows of prompts of a log, in random order, and which of them belong."""
    own = cases[case]
    random = np.random.default_rng([zlib.crc32(own.id.encode()), round(share * 100)])
    labels = dict(zip(own.prompts, own.expected.tolist(), strict=True))
    belonging = [row[text] for text, belongs in labels.items() if belongs]
    rest = {row[text]: None for text, belongs in labels.items() if not belongs}
    others = {
        row[text]: None
        for other in cases
        for text in other.prompts
        if other is not own and text not in labels
    }
    rest.update(dict.fromkeys(random.permutation(list(others)).tolist()))
    count = min(len(belonging), round(MOST * share), int(len(rest) * share / (1 - share)))
    size = min(MOST, round(count / share))
    chosen = random.permutation(belonging)[:count].tolist()
    rows = np.array([*chosen, *list(rest)[: size - count]], np.intp)
    order = random.permutation(len(rows))
    return rows[order], order < count


def logs(cases: Sequence[Case], encoder_name: str, engine: str) -> Iterator[Log]:
    """Yield the logs of all cases."""
    encoder, model = load_encoder(encoder_name), load_scoring(encoder_name)
    prompts = sorted({prompt for case in cases for prompt in case.prompts})
    row = {prompt: index for index, prompt in enumerate(prompts)}
    vectors = encoder.encode(prompts)
    for index, case in enumerate(cases):
        dropped = range(len(case.examples)) if len(case.examples) > 1 else ()
        definitions = [case.examples] + [
            case.examples[:left] + case.examples[left + 1 :] for left in dropped
        ]
        texts = [topic_texts(case.name, case.description, each) for each in definitions]
        z = np.stack([model.score(each, encoder.encode(each), vectors) for each in texts])
        for share in SHARES:
            rows, belongs = log_rows(index, cases, row, share)
            if not belongs.any():  # too few prompts for this share
                continue
            scores = z[0, rows].astype(np.float64)
            if engine == "random":
                scores = np.random.default_rng(zlib.crc32(case.id.encode())).random(len(rows))
            elif engine == "inverted":
                scores = -scores
            elif engine == "constant":
                scores = np.zeros(len(rows))
            yield Log(case.id, share, belongs, scores, z[:, rows] >= model.threshold)


def ask_until_narrow(log: Log, seed: int) -> tuple[int, bool]:
    """Label until the interval is narrow; return the labels, and whether it holds the truth."""
    queue = LabelQueue(log.scores, [log.matches[0]], seed=seed)
    look = 0
    while (question := queue.next_audited()) is not None:
        queue.audit(question.row, bool(log.belongs[question.row]))
        if queue.look != look:
            look = queue.look
            coverage = queue.rates().coverage
            if coverage.half_width <= HALF_WIDTH:
                return queue.audited, coverage.low <= log.coverage(0) <= coverage.high
    return queue.audited, True


def ask_until_decided(log: Log, seed: int) -> tuple[int, bool]:
    """Label until the definitions are told apart; return the labels, and whether it is right."""
    second = 1 + seed % (len(log.matches) - 1)
    queue = LabelQueue(log.scores, [log.matches[0], log.matches[second]], seed=seed)
    look = 0
    while (question := queue.next_audited()) is not None:
        queue.audit(question.row, bool(log.belongs[question.row]))
        if queue.look != look:
            look = queue.look
            decision = decide(queue.change())
            if decision is not AuditedDifference.OPEN:
                return queue.audited, is_true(decision, log, second)
    return queue.audited, True


def is_true(decision: AuditedDifference, log: Log, second: int) -> bool:
    """Return whether a decision is true of the log."""
    change = log.coverage(second) - log.coverage(0)
    return {
        AuditedDifference.BETTER: change > 0,
        AuditedDifference.WORSE: change < 0,
        AuditedDifference.SAME: abs(change) <= WITHIN,
    }[decision]


def random_until_narrow(log: Log, draws: int, finite: bool) -> list[int]:
    """Return labels of plain samples until the interval, of a `finite` log or not, is narrow."""
    random = np.random.default_rng(zlib.crc32(log.case.encode()))
    size = len(log.belongs)
    order = np.argsort(random.random((draws, size)), axis=1)
    right = (log.matches[0] == log.belongs)[order]
    belongs = log.belongs[order]
    needed = np.full(draws, size)
    for count in reversed(looks(size - 1)):
        ends = []
        for chosen in (belongs[:, :count], ~belongs[:, :count]):
            good = (chosen & right[:, :count]).sum(axis=1)
            bad = (chosen & ~right[:, :count]).sum(axis=1)
            ends.append(exact_ends(good, bad, 1 - count / size if finite else 1.0))
        low, high = np.minimum(*ends)
        needed[(high - low) / 2 <= HALF_WIDTH] = count
    return needed.tolist()


def exact_ends(good: NDArray[Any], bad: NDArray[Any], left: float) -> Floats:
    """Return exact limits of rates, [2, n], of a sample that leaves a share of its log.

    The counts are scaled so that the variance is that without replacement, or not if all is left.
    """
    more, less = good / left, bad / left
    low = np.where(good > 0, special.betaincinv(np.maximum(more, 1e-9), less + 1, _TAIL), 0)
    high = np.where(bad > 0, special.betaincinv(more + 1, np.maximum(less, 1e-9), 1 - _TAIL), 1)
    return np.stack([low, high])


def random_decision(log: Log, seed: int) -> tuple[int, bool]:
    """Label at random until the definitions are told apart; as `ask_until_decided`.

    The rest of the log has labels and pairs of verdicts from Jeffreys' posteriors.
    """
    second = 1 + seed % (len(log.matches) - 1)
    random = np.random.default_rng([zlib.crc32(log.case.encode()), seed])
    order = random.permutation(len(log.belongs))
    pairs = 2 * log.matches[0, order] + log.matches[second, order]
    belongs = log.belongs[order]
    for count in looks(len(order) - 1, FIRST_CHANGE):
        table = np.stack(
            [
                np.bincount(pairs[:count][belongs[:count] == label], minlength=4)
                for label in (True, False)
            ]
        )
        share = random.beta(table[0].sum() + 0.5, table[1].sum() + 0.5, size=_POSTERIOR)
        more = random.binomial(len(order) - count, share)
        left = np.stack([more, len(order) - count - more], axis=1)
        shares = random.standard_gamma(table + 0.5, size=(_POSTERIOR, 2, 4))
        shares /= shares.sum(axis=2, keepdims=True)
        totals = table + random.multinomial(left, shares)
        size = np.maximum(totals.sum(axis=2), 1)
        first = (totals[:, :, 2] + totals[:, :, 3]) / size
        then = (totals[:, :, 1] + totals[:, :, 3]) / size
        change = np.minimum(then[:, 0], 1 - then[:, 1]) - np.minimum(first[:, 0], 1 - first[:, 1])
        low, high = np.quantile(change, (0.025, 0.975))
        decision = decide(RateEstimate(float(low + high) / 2, float(low), float(high)))
        if decision is not AuditedDifference.OPEN:
            return count, is_true(decision, log, second)
    return len(order), True


def measure(log: Log, draws: int, with_random: bool) -> dict[str, Any]:
    """Return the figures of one log."""
    at_20 = log.share == SHARES[-1]
    few = min(draws, FEW_DRAWS)
    stopped = [ask_until_narrow(log, seed) for seed in range(few if at_20 else draws)]
    figures: dict[str, Any] = {
        "case": log.case,
        "share": log.share,
        "prompts": len(log.belongs),
        "belonging": int(log.belongs.sum()),
        "coverage": log.coverage(0),
        "ours": mean([labels for labels, _ in stopped]),
        "holds": mean([float(held) for _, held in stopped]),
    }
    if with_random:
        figures["random"] = mean(random_until_narrow(log, draws, finite=False))
        figures["random_finite"] = mean(random_until_narrow(log, draws, finite=True))
    if at_20 or len(log.matches) < 2:
        return figures
    for name, method in (("ours", ask_until_decided), ("random", random_decision)):
        if name == "random" and not with_random:
            continue
        found = [method(log, seed) for seed in range(few)]
        figures[f"decision_{name}"] = mean([labels for labels, _ in found])
        figures[f"right_{name}"] = mean([float(right) for _, right in found])
    return figures


def mean(values: Sequence[float]) -> float:
    """Return the mean with four decimals."""
    return round(float(np.mean(values)), 4)


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the means over logs."""

    def of(key: str, *, at_20: bool = False) -> float | None:
        values = [row[key] for row in rows if key in row and (row["share"] == SHARES[-1]) == at_20]
        return mean(values) if values else None

    sorts = ("ours", "random", "random_finite")
    return {
        "audit_holds": of("holds"),
        "labels_for_interval": {name: of(name) for name in sorts},
        "labels_for_decision": {"ours": of("decision_ours"), "random": of("decision_random")},
        "at_20": {name: of(name, at_20=True) for name in sorts},
        "right_decisions": of("right_ours"),
        "random_right_decisions": of("right_random"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument(
        "--engine", choices=("own", "random", "inverted", "constant"), default="own"
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        cases = read_cases(options.cases)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    made = list(logs(cases, options.encoder, options.engine))
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = []
        for found in pool.map(
            partial(measure, draws=options.draws, with_random=options.engine == "own"), made
        ):
            rows.append(found)
            if not options.json:
                print(" ".join(f"{name}={value}" for name, value in found.items()), flush=True)
    print(json.dumps(summary(rows), indent=1 if options.json else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
