"""How well the embedded scanner tells labelled prompts apart: coverage and AUC for each family.

    python benchmarks/fidelity.py CASES --encoder minilm [--json] [--fit 40]

CASES is a JSON Lines file: one object a line with `id` (family/name), `name`, `description`,
`examples`, `intent`, `prompts` and `expected` (a boolean for each prompt: does it belong to the
topic). Or it is a folder of topics with their prompt sets, FAMILY/NAME.yaml and FAMILY/NAME.csv.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.sweep import sweep
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.encoder import ENCODERS, EncoderError, load_encoder
from guardtui.scanners.local.scoring import load_scoring, probability, topic_texts

Labels = NDArray[np.bool_]
DRAWS = 5


@dataclass(frozen=True)
class Case:
    """A topic and its labelled prompts."""

    id: str
    name: str
    description: str
    examples: list[str]
    intent: str
    prompts: list[str]
    expected: Labels

    @property
    def family(self) -> str:
        """The part of the id before the first slash."""
        return self.id.split("/", maxsplit=1)[0]

    @property
    def should_trigger(self) -> Labels:
        """Block: what belongs to the topic; allow: what does not."""
        return ~self.expected if self.intent == "allow" else self.expected


def read_cases(path: Path) -> list[Case]:
    """Read the cases of a file or folder. Raises ValueError with file and line, or OSError."""
    if path.is_dir():
        return _folder_cases(path)
    cases: list[Case] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            try:
                cases.append(_case(json.loads(line.decode("utf-8-sig"))))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            except KeyError as error:
                raise ValueError(f"{path}, line {number}: no {error.args[0]}") from error
    if not cases:
        raise ValueError(f"{path}: no cases")
    return cases


def _folder_cases(folder: Path) -> list[Case]:
    cases: list[Case] = []
    for file in sorted(folder.glob("*/*.yaml")):
        try:
            topic = load_topic(file).topic
            prompts = load_prompts(file.with_suffix(".csv"), topic.intent)
        except GuardtuiError as error:
            raise ValueError(str(error)) from error
        cases.append(
            Case(
                f"{file.parent.name}/{file.stem}",
                topic.name,
                topic.description,
                list(topic.examples),
                topic.intent,
                prompts.prompts.to_list(),
                prompts.frame["expected"].to_numpy(),
            )
        )
    if not cases:
        raise ValueError(f"{folder}: no topics (expected FAMILY/NAME.yaml and FAMILY/NAME.csv)")
    return cases


def _case(found: object) -> Case:
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    for key in ("id", "name", "description", "intent"):
        if not isinstance(found[key], str):
            raise ValueError(f"{key} is not a text")
    for key in ("examples", "prompts"):
        if not isinstance(found[key], list) or not all(isinstance(x, str) for x in found[key]):
            raise ValueError(f"{key} is not a list of texts")
    if found["intent"] not in ("block", "allow"):
        raise ValueError(f"intent is neither block nor allow but {found['intent']!r}")
    expected = found["expected"]
    if not isinstance(expected, list) or not all(isinstance(x, bool) for x in expected):
        raise ValueError("expected is not a list of true and false")
    if len(expected) != len(found["prompts"]):
        raise ValueError(f"{len(found['prompts'])} prompts but {len(expected)} labels")
    labels = np.array(expected, bool)
    if labels.all() or not labels.any():
        raise ValueError("prompts of one class only")
    return Case(
        found["id"],
        found["name"],
        found["description"],
        found["examples"],
        found["intent"],
        found["prompts"],
        labels,
    )


def area(z: NDArray[np.floating], expected: Labels) -> float:
    """Area under the ROC curve by the rank formula; ties count half."""
    _, place, counts = np.unique(z, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    positives = int(expected.sum())
    negatives = len(expected) - positives
    above = float(ranks[expected].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def coverage_of(
    case: Case, z: NDArray[np.floating], threshold: float, rows: NDArray[np.intp] | None = None
) -> float:
    """min(TPR, TNR) of a case, or of some of its prompts.

    A block topic triggers where z reaches the threshold, an allow topic where it does not.
    """
    triggered = (z < threshold) if case.intent == "allow" else (z >= threshold)
    should = case.should_trigger
    if rows is not None:
        triggered, should = triggered[rows], should[rows]
    return float(min(triggered[should].mean(), (~triggered[~should]).mean()))


Measured = dict[str, dict[str, float]]


def measure(
    cases: Sequence[Case], scores: Sequence[NDArray[np.floating]], threshold: float
) -> dict[str, dict[str, float] | Measured]:
    """AUC, coverage and best coverage, as means over all cases and over those of each family."""
    figures = np.array(
        [
            (
                area(z, case.expected),
                coverage_of(case, z, threshold),
                float(sweep(probability(z), case.expected).coverage.max()),
            )
            for case, z in zip(cases, scores, strict=True)
        ]
    )

    def mean(chosen: NDArray[np.bool_]) -> dict[str, float]:
        auc, coverage, best = figures[chosen].mean(axis=0)
        return {
            "cases": int(chosen.sum()),
            "auc": float(auc),
            "coverage": float(coverage),
            "best_coverage": float(best),
        }

    family = np.array([case.family for case in cases])
    return {
        "overall": mean(np.ones(len(cases), bool)),
        "families": {name: mean(family == name) for name in sorted(set(family.tolist()))},
    }


def fitted(
    cases: Sequence[Case], scores: Sequence[NDArray[np.floating]], labels: int, default: float
) -> list[float]:
    """For each case the coverage on the rest, with the threshold fitted to `labels` drawn prompts.

    The mean of several seeded draws. A case with too few prompts to leave a rest is left out.
    """
    result: list[float] = []
    for case, z in zip(cases, scores, strict=True):
        found: list[float] = []
        for seed in range(DRAWS):
            order = np.random.default_rng(seed).permutation(len(z))
            used, rest = order[:labels], order[labels:]
            if len({*case.expected[used]}) < 2 or len({*case.expected[rest]}) < 2:
                continue
            share = probability(z)
            best = sweep(share[used], case.expected[used]).best()
            threshold = probability(np.float32(default)) if best is None else best
            found.append(coverage_of(case, share, float(threshold), rest))
        if found:
            result.append(float(np.mean(found)))
    return result


def table(figures: dict[str, dict[str, float] | Measured]) -> str:
    """The figures for people."""
    lines = [f"{'':<20}{'cases':>6}{'auc':>8}{'coverage':>10}{'best':>8}"]
    families: object = figures["families"]
    rows = {**families, "overall": figures["overall"]} if isinstance(families, dict) else {}
    lines += [
        f"{name:<20}{row['cases']:>6}{row['auc']:>8.3f}{row['coverage']:>10.3f}"
        f"{row['best_coverage']:>8.3f}"
        for name, row in rows.items()
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, score, report. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--fit", type=int, metavar="LABELS", help="also fit the threshold to so many labels a case"
    )
    options = parser.parse_args(arguments)
    try:
        cases = read_cases(options.cases)
        encoder = load_encoder(options.encoder)
        model = load_scoring(options.encoder)
    except (OSError, ValueError, EncoderError) as error:
        print(error, file=sys.stderr)
        return 2
    prompts = sorted({prompt for case in cases for prompt in case.prompts})
    row = {prompt: number for number, prompt in enumerate(prompts)}
    vectors = encoder.encode(prompts)
    scores = []
    for case in cases:
        texts = topic_texts(case.name, case.description, case.examples)
        own = vectors[[row[prompt] for prompt in case.prompts]]
        scores.append(model.score(texts, encoder.encode(texts), own))
    figures = measure(cases, scores, model.threshold)
    print(json.dumps(figures) if options.json else table(figures))
    if options.fit:
        found = fitted(cases, scores, options.fit, model.threshold)
        print(
            f"threshold fitted to {options.fit} labels: coverage {np.mean(found):.3f} "
            f"on the rest ({len(found)} cases, {DRAWS} draws)",
            file=sys.stderr if options.json else sys.stdout,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
