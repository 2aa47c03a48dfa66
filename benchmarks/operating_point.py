"""How near the default operating point comes to the best threshold: cross-validated coverage.

    python benchmarks/operating_point.py CASES [CASES …] [--encoder minilm] [--json]

CASES are as in `fidelity.py`. For each case with ten labels of each class the threshold is fitted
as when a prompt set is opened, and each prompt is judged by a threshold that its label had no part
in. Told are the mean coverage so, as shipped, and at the best threshold (in sample), and the share
of cases within .05 of the best.
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
from benchmarks.fidelity import Case, read_cases
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.metrics import metrics_of
from guardtui.domain.operating_point import BUILT_IN, SLACK, fit_threshold
from guardtui.domain.prompts import prompt_keys
from guardtui.domain.sweep import stratified_folds, sweep
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts, outcomes
from guardtui.scanners.local.encoder import ENCODERS, EncoderError, load_encoder
from guardtui.scanners.local.scoring import load_scoring, probability, topic_texts

NEAR = 0.05


@dataclass(frozen=True, slots=True)
class Found:
    """Coverage of one case: cross-validated, as shipped, and the best in sample."""

    id: str
    held_out: float
    built_in: float
    best: float

    @property
    def is_near(self) -> bool:
        """Return whether the cross-validated coverage is within .05 of the best."""
        return self.best - self.held_out <= NEAR + 1e-9


def measure(case: Case, scores: NDArray[np.float32], settings: ScannerSettings) -> Found | None:
    """Measure one case by its scores [N]; None when it has too few labels to fit."""
    topic = Topic(intent=Intent(case.intent))
    shipped = settings.threshold or 0.0
    matches = scores >= np.float32(shipped)
    triggered = matches if topic.intent is Intent.BLOCK else ~matches
    evaluation = Evaluation(
        topic,
        settings,
        case.id,
        prompt_keys(case.prompts),
        case.expected,
        Verdicts(triggered.view(np.int8), scores, np.zeros(len(scores), np.int16)),
    )
    try:
        fit_threshold(evaluation, shipped)
    except ValueError:
        return None
    held_out = cross_validated(scores, evaluation.should_trigger, topic.intent, evaluation.keys)
    best = float(sweep(scores, evaluation.should_trigger, topic.intent).coverage.max())
    return Found(case.id, held_out, evaluation.metrics.coverage or 0.0, best)


def cross_validated(
    scores: NDArray[np.float32],
    should_trigger: NDArray[np.bool_],
    intent: Intent,
    keys: NDArray[np.uint64],
) -> float:
    """Return coverage with each prompt judged by a threshold fitted without its fold of ten."""
    fold = stratified_folds(should_trigger, 10, 0, keys)
    triggered = np.empty(len(scores), np.bool_)
    for number in range(10):
        held = fold == number
        threshold = sweep(scores[~held], should_trigger[~held], intent).best(slack=SLACK)
        matches = scores[held] >= np.float32(threshold)
        triggered[held] = matches if intent is Intent.BLOCK else ~matches
    return metrics_of(outcomes(should_trigger, triggered.view(np.int8))).coverage or 0.0


def summary(found: Sequence[Found]) -> dict[str, float]:
    """Means over the cases, and the shares of cases that come within .05 of the best."""
    return {
        "cases": len(found),
        "built-in": float(np.mean([result.built_in for result in found])),
        "cross_validated": float(np.mean([result.held_out for result in found])),
        "best": float(np.mean([result.best for result in found])),
        "built_in_near": float(
            np.mean([result.best - result.built_in <= NEAR for result in found])
        ),
        "near": float(np.mean([result.is_near for result in found])),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, score, fit, report. Exit code 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path, nargs="+")
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        cases = [case for path in options.cases for case in read_cases(path)]
        encoder = load_encoder(options.encoder)
        model = load_scoring(options.encoder)
    except (OSError, ValueError, EncoderError) as error:
        print(error, file=sys.stderr)
        return 2
    shipped = float(probability(np.float32(model.threshold)))
    guardrail = Guardrail(ENGINE, encoder=model.encoder, version=model.version)
    settings = ScannerSettings(guardrail, shipped, BUILT_IN)
    prompts = sorted({prompt for case in cases for prompt in case.prompts})
    row = {prompt: number for number, prompt in enumerate(prompts)}
    vectors = encoder.encode(prompts)
    found = []
    for case in cases:
        texts = topic_texts(case.name, case.description, case.examples)
        own = vectors[[row[prompt] for prompt in case.prompts]]
        z = model.score(texts, encoder.encode(texts), own)
        result = measure(case, probability(z), settings)
        if result is None:
            print(f"{case.id}: too few labels", file=sys.stderr)
        else:
            found.append(result)
    if not found:
        print("no case has ten labels of each class", file=sys.stderr)
        return 2
    figures = summary(found)
    if options.json:
        print(json.dumps(figures))
        return 0
    for result in sorted(found, key=lambda result: result.held_out - result.best)[:5]:
        print(
            f"{result.id:<40} {result.held_out:.3f} of {result.best:.3f} "
            f"(built-in {result.built_in:.3f})"
        )
    print(
        f"{len(found)} cases: coverage {figures['built-in']:.3f} as built in, "
        f"{figures['cross_validated']:.3f} fitted and cross-validated, {figures['best']:.3f} at "
        f"best; within .05 of the best {figures['built_in_near']:.3f} as built in, "
        f"{figures['near']:.3f} fitted"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
