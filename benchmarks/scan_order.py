"""How many real changes a scan after an edit finds early: flips found against prompts asked.

    python benchmarks/scan_order.py CASES.jsonl [--json] [--seed 1]

Each case (see fidelity.py) and each sample topic is edited once in each of the ways that authors
use. One engine stands in for the cloud service, another one is the embedded engine that foretells
which verdicts will change. The stand-ins: each encoder with the shipped scoring, and a rule that
has less in common with it (`nearest`: the largest cosine of a `minilm` vector to any part of the
topic, with the threshold that was best before the edit). A prompt that an edit makes an example is
left out: any order would find it.

The same scans, stopped after a share of the prompts, show what the estimate of coverage is worth
that the screen shows meanwhile, with the verdicts before the edit as predictions.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from fidelity import Case, read_cases

from guardtui.domain.estimates import estimate, rate_bounds
from guardtui.domain.metrics import metrics_of
from guardtui.domain.sweep import sweep
from guardtui.domain.verdicts import Outcome, Triggered, outcomes
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.encoder import ENCODERS, EncoderError, load_encoder
from guardtui.scanners.local.scoring import load_scoring, probability, similarity_rows, topic_texts
from guardtui.session.scan_order import LIKELY_MOVE, movement, scan_order

SAMPLES = Path(__file__).parent.parent / "sample_data"
PAIRS = (("minilm", "static"), ("static", "minilm"), ("nearest", "minilm"), ("nearest", "static"))
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
CUTS = (0.02, 0.04, 0.05, 0.065, 0.08, 0.1, 0.15)
MOST_EXAMPLES = 5
_SMALL = re.compile(
    "an?|and|the|of|to|in|on|for|or|is|are|was|my|me|i|it|you|do|how|what|can|with|at|be|this|that|"
    "your|so|from|about|have|has|if|not|will|when|who",
    re.IGNORECASE,
)

Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Edit:
    """One edited definition; `used` is the prompt that became an example, if one did."""

    kind: str
    description: str
    examples: list[str]
    used: str | None = None


@dataclass(frozen=True, eq=False)
class Foretold:
    """One edit, for one pair: which verdicts of the service flipped, and what was known before.

    `moved` float32 [N], `engine` (flips of the embedded engine) bool [N], `earlier` int8 [N].
    """

    kind: str
    flips: Flags
    moved: NDArray[np.float32]
    engine: Flags
    earlier: NDArray[np.int8]


def sample_cases() -> list[Case]:
    """The topics that come with guardtui, as cases."""
    cases = []
    for path in sorted(SAMPLES.glob("*.yaml")):
        topic = load_topic(path).topic
        prompts = load_prompts(path.with_suffix(".csv"))
        cases.append(
            Case(
                f"sample/{path.stem}",
                topic.name,
                topic.description,
                list(topic.examples),
                topic.intent.value,
                prompts.prompts.to_list(),
                np.asarray(prompts.expected, bool),
            )
        )
    return cases


def content_words(text: str) -> list[str]:
    """Words that say what a text is about."""
    return [word for word in re.findall(r"[\w'-]+", text) if not _SMALL.fullmatch(word)]


def edits(case: Case, rng: random.Random) -> Iterator[Edit]:
    """One edit of each kind that the case allows."""
    text, examples = case.description, case.examples
    labelled = list(zip(case.prompts, case.expected.tolist(), strict=True))
    inside = [prompt for prompt, label in labelled if label and prompt not in examples]
    outside = [prompt for prompt, label in labelled if not label]
    place, new = rng.randrange(len(examples)), rng.choice(inside)
    replaced = [*examples[:place], new, *examples[place + 1 :]]
    yield Edit("example replaced", text, replaced, new)
    if len(examples) < MOST_EXAMPLES:
        new = rng.choice(inside)
        yield Edit("example added", text, [*examples, new], new)
    if len(examples) > 2:
        place = rng.randrange(len(examples))
        yield Edit("example removed", text, [*examples[:place], *examples[place + 1 :]])
    word = re.escape(rng.choice(content_words(text)))
    yield Edit("word removed", re.sub(rf"\s*\b{word}\b", "", text, count=1), examples)
    about = " ".join(content_words(rng.choice(inside))[:3])
    yield Edit("words added", f"{text}, including {about}", examples)
    about = " ".join(content_words(rng.choice(outside))[:3])
    yield Edit("exclusion added", f"{text}, but not {about}", examples)
    other = rng.choice(content_words(rng.choice(inside)) or ["request"])
    yield Edit("word replaced", re.sub(rf"\b{word}\b", lambda _: other, text, count=1), examples)


class Engines:
    """Scores of any definition by every encoder, on prompts that are embedded once."""

    def __init__(self, cases: Sequence[Case], texts: set[str]) -> None:
        prompts = sorted({prompt for case in cases for prompt in case.prompts})
        self._prompt = {prompt: row for row, prompt in enumerate(prompts)}
        self._text = {text: row for row, text in enumerate(sorted(texts))}
        self._vectors, self._parts, self._models = {}, {}, {}
        for name in ENCODERS:
            encoder = load_encoder(name)
            self._models[name] = load_scoring(name)
            self._vectors[name] = encoder.encode(prompts)
            self._parts[name] = encoder.encode(sorted(texts))

    def score(self, name: str, case: Case, edit: Edit) -> Floats:
        """z of an encoder above its threshold, [N]; for `nearest` the largest cosine."""
        encoder = "minilm" if name == "nearest" else name
        vectors = self._vectors[encoder][[self._prompt[prompt] for prompt in case.prompts]]
        texts = topic_texts(case.name, edit.description, edit.examples)
        parts = self._parts[encoder][[self._text[text] for text in texts]]
        if name == "nearest":
            return similarity_rows(vectors, parts, 0).max(axis=0)
        model = self._models[encoder]
        return model.score(texts, parts, vectors) - np.float32(model.threshold)


def best_cosine(cosines: Floats, expected: NDArray[np.bool_]) -> float:
    """The cosine from which on a prompt counts as matched with the largest coverage."""
    best = sweep(np.clip((cosines + 1) / 2, 0, 1), expected).best()
    return 2 * (0.5 if best is None else best) - 1


def foretell(
    engines: Engines, pair: tuple[str, str], plan: Sequence[tuple[Case, list[Edit]]]
) -> list[Foretold]:
    """Every edit of a plan as a pair sees it: the service, and the engine that foretells it."""
    found = []
    for case, chosen in plan:
        start = Edit("", case.description, case.examples)
        before, scored = (engines.score(name, case, start) for name in pair)
        least = best_cosine(before, case.expected) if pair[0] == "nearest" else 0.0
        for edit in chosen:
            after, rescored = (engines.score(name, case, edit) for name in pair)
            kept = np.array([prompt != edit.used for prompt in case.prompts])
            triggered = (before >= least) ^ (case.intent == "allow")
            moved = movement(probability(scored), probability(rescored), 0.5)
            found.append(
                Foretold(
                    edit.kind,
                    ((before >= least) != (after >= least))[kept],
                    moved[kept],
                    ((scored >= 0) != (rescored >= 0))[kept],
                    outcomes(case.should_trigger, triggered.view(np.int8))[kept],
                )
            )
    return found


def share_found(found: Sequence[Foretold], cut: float) -> tuple[float, float]:
    """Of all flips, those among the likely changes; and of all prompts, the likely changes."""
    flips = hits = asked = total = 0
    for one in found:
        rows = scan_order(one.moved, one.engine, one.earlier, cut).likely_rows
        flips += int(one.flips.sum())
        hits += int(one.flips[rows].sum())
        asked += len(rows)
        total += len(one.flips)
    return hits / flips, asked / total


def measure(found: Sequence[Foretold]) -> dict[str, object]:
    """What the order finds after a share of the prompts, and what a cut finds."""
    early = dict.fromkeys(SHARES, 0)
    for one in found:
        flips = one.flips[scan_order(one.moved, one.engine, one.earlier).rows]
        for share in SHARES:
            early[share] += int(flips[: round(share * len(flips))].sum())
    total = sum(int(one.flips.sum()) for one in found)
    kinds: dict[str, list[Foretold]] = defaultdict(list)
    for one in found:
        kinds[one.kind].append(one)
    return {
        "edits": len(found),
        "prompts": sum(len(one.flips) for one in found),
        "flips": total,
        "found_after": {str(share): hits / total for share, hits in early.items()},
        "cuts": {str(cut): share_found(found, cut) for cut in CUTS},
        "estimates": {str(share): estimates(found, share) for share in SHARES},
        "kinds": {kind: share_found(some, LIKELY_MOVE) for kind, some in kinds.items()},
    }


def estimates(found: Sequence[Foretold], share: float) -> dict[str, float]:
    """Means over all edits, after a share of the prompts.

    `held`: how often all true rates lay within their intervals; `width` of the interval of
    coverage, and that of its best and worst case; `error` of its value, and that of the coverage
    of the prompts asked so far taken alone (0 where it has none).
    """
    rows = []
    for one in found:
        order = scan_order(one.moved, one.engine, one.earlier).rows
        should = np.isin(one.earlier, [Outcome.TP, Outcome.FN])
        before = np.isin(one.earlier, [Outcome.TP, Outcome.FP])
        answer = (before ^ one.flips).astype(np.int8)
        truth = metrics_of(outcomes(should, answer))
        waiting = order[round(share * len(order)) :]
        answer[waiting] = Triggered.NOT_ASKED
        codes = outcomes(should, answer)
        rates = estimate(codes, should, before.astype(np.int8)).rates
        bounds, coverage = rate_bounds(codes, should)["coverage"], rates["coverage"]
        if truth.coverage is None or bounds is None or coverage is None:
            continue  # the prompt that became an example was the only one of its class
        rows.append(
            (
                all(
                    rate is None or rate.low <= getattr(truth, name) <= rate.high
                    for name, rate in rates.items()
                ),
                coverage.high - coverage.low,
                bounds.high - bounds.low,
                abs(coverage.value - truth.coverage),
                abs((metrics_of(codes).coverage or 0.0) - truth.coverage),
            )
        )
    names = ("held", "width", "width_of_bounds", "error", "error_of_asked_alone")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


def table(figures: dict[str, dict[str, object]]) -> str:
    """The figures for people."""
    lines = []
    for pair, one in figures.items():
        lines.append(
            f"{pair}: {one['flips']} flips of {one['prompts']} prompts in {one['edits']} edits"
        )
        lines.append("  first " + "".join(f"{share:>8.0%}" for share in SHARES))
        found = one["found_after"].values()  # type: ignore[attr-defined]
        lines.append("  found " + "".join(f"{value:>8.1%}" for value in found))
        for share, means in one["estimates"].items():  # type: ignore[attr-defined]
            told = "  ".join(f"{name} {value:.3f}" for name, value in means.items())
            lines.append(f"  estimate after {float(share):.0%}: {told}")
        for title in ("cuts", "kinds"):
            lines.append(f"  {title:<20}{'found':>8}{'asked':>8}")
            for name, (hits, asked) in one[title].items():  # type: ignore[attr-defined]
                mark = " chosen" if name == str(LIKELY_MOVE) else ""
                lines.append(f"    {name:<18}{hits:>8.1%}{asked:>8.1%}{mark}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, edit, score, report. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="which edits are made")
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    try:
        cases = [*read_cases(options.cases), *sample_cases()]
        plan = [(case, list(edits(case, rng))) for case in cases]
        texts = {
            text
            for case, chosen in plan
            for edit in (Edit("", case.description, case.examples), *chosen)
            for text in topic_texts(case.name, edit.description, edit.examples)
        }
        engines = Engines(cases, texts)
    except (OSError, ValueError, EncoderError) as error:
        print(error, file=sys.stderr)
        return 2
    figures = {
        f"{service} foretold by {engine}": measure(foretell(engines, (service, engine), plan))
        for service, engine in PAIRS
    }
    print(json.dumps(figures) if options.json else table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
