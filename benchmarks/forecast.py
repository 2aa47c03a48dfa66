"""Measure forecasts of a guardrail's verdicts at definitions that it has not scanned.

    python benchmarks/forecast.py RECORDINGS [--encoder pair] [--json] [--time]

RECORDINGS is a JSON Lines file: one object a line with `id`, `guardrail`, `intent`, `prompts`,
`expected` and `steps`, each step with `name`, `description`, `examples` and `matches` (0 or 1 for
each prompt). For each recording and each k from 1 on: fit on the steps before k, forecast step k.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.sweep import sweep
from guardtui.domain.topic import Intent, Topic
from guardtui.forecast.engine_features import EngineFeatures, EngineReader
from guardtui.forecast.expected import expected_rates
from guardtui.forecast.model import ScannedDefinition, VerdictModel
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability

MOVED = 0.02
"""Change of coverage from which on its direction counts."""
LARGE = 0.08
"""Changes of coverage beyond this are counted separately."""


@dataclass(frozen=True)
class Recording:
    """A guardrail's verdicts along a chain of definitions."""

    id: str
    guardrail: str
    prompts: PromptSet
    belongs: NDArray[np.bool_]
    topics: list[Topic]
    matched: list[NDArray[np.int8]]
    kinds: list[str]
    """Kind of the edit before each step, or ""."""


@dataclass(frozen=True)
class Figures:
    """Accuracy of one forecast; `direction` is NaN where coverage hardly moved."""

    direction: float
    coverage_error: float
    verdict_error: float
    interval_holds: float
    interval_width: float


@dataclass(frozen=True)
class Edit:
    """An edit: its kind, coverage before and after it, and what was forecast of it."""

    kind: str
    before: float
    after: float
    holds: bool
    above: float
    """Probability that coverage is above the one before."""


def read_recordings(path: Path) -> list[Recording]:
    """Read the recordings. Raises ValueError with file and line, or OSError."""
    recordings = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            try:
                recordings.append(as_recording(json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    if not recordings:
        raise ValueError(f"{path}: no recordings")
    return recordings


def as_recording(content: dict[str, Any]) -> Recording:
    """Return a recording from its JSON object. Raises ValueError, TypeError and KeyError."""
    intent = Intent(content["intent"])
    belongs = np.array(content["expected"], bool)
    prompts = prompt_set(content["prompts"], belongs, intent)
    steps = content["steps"]
    if any(len(step["matches"]) != len(belongs) for step in steps):
        raise ValueError("the number of matches of a step is not that of the prompts")
    topics = [
        Topic(
            name=step["name"],
            description=step["description"],
            examples=tuple(step["examples"]),
            intent=intent,
        )
        for step in steps
    ]
    matched = [np.array(step["matches"], np.int8) for step in steps]
    kinds = [step.get("kind", "") for step in steps]
    return Recording(content["id"], content["guardrail"], prompts, belongs, topics, matched, kinds)


def prompt_set(prompts: list[str], belongs: NDArray[np.bool_], intent: Intent) -> PromptSet:
    """Return a prompt set of these texts and labels, duplicates included."""
    columns = {"key": prompt_keys(prompts), "prompt": prompts, "expected": belongs}
    return PromptSet(pl.DataFrame(columns), intent, "benchmark")


def coverage(matched: NDArray[Any], belongs: NDArray[np.bool_]) -> float:
    """Return min(TPR, TNR), which is the same for both intents."""
    return float(min(matched[belongs].mean(), 1 - matched[~belongs].mean()))


def compared(
    before: float, forecast: float, after: float, wrong: float, low: float, high: float
) -> Figures:
    """Compare a forecast of coverage with the one measured."""
    moved = abs(after - before) > MOVED
    right = float((forecast - before) * (after - before) > 0)
    return Figures(
        right if moved else float("nan"),
        abs(forecast - after),
        wrong,
        float(low <= after <= high),
        high - low,
    )


def forecasts(
    recording: Recording, readings: Sequence[EngineFeatures]
) -> Iterator[tuple[int, dict[str, Figures], Edit]]:
    """Yield each step's number, the figures of forecast, `keep` and engine alone, and the edit."""
    belongs = recording.belongs
    # The engine's operating point is fitted to the labels at the first definition, as in the app.
    scores = [probability(reading.z) for reading in readings]
    threshold = sweep(scores[0], belongs).best()
    assert threshold is not None
    for k in range(1, len(readings)):
        scans = [
            ScannedDefinition(*pair)
            for pair in zip(readings[:k], recording.matched[:k], strict=True)
        ]
        last, true = recording.matched[k - 1], recording.matched[k]
        before, after = coverage(last, belongs), coverage(true, belongs)
        chances = VerdictModel(scans).chances(readings[k])
        rates = expected_rates(chances, belongs, before)
        expected = rates.coverage
        assert expected is not None
        assert rates.better is not None
        engine = scores[k] >= threshold
        of_engine = coverage(engine, belongs)
        wrong = float(((chances.match > 0.5) != true).mean())
        forecast = compared(before, expected.value, after, wrong, expected.low, expected.high)
        holds = bool(forecast.interval_holds)
        yield (
            k,
            {
                "forecast": forecast,
                "keep": compared(before, before, after, float((last != true).mean()), 0, 1),
                "engine": compared(before, of_engine, after, float((engine != true).mean()), 0, 1),
            },
            Edit(recording.kinds[k], before, after, holds, rates.better),
        )


def share(values: Sequence[bool]) -> dict[str, float | int | None]:
    """Return the share that is true, its standard error, and the number."""
    if not values:
        return {"held": None, "error": None, "count": 0}
    mean = float(np.mean(values))
    error = (mean * (1 - mean) / len(values)) ** 0.5
    return {"held": round(mean, 4), "error": round(error, 4), "count": len(values)}


def calibration(edits: Sequence[Edit]) -> list[dict[str, float | int]]:
    """Return what was said and what came true by fifths of the probability of "above"."""
    fifths = [[edit for edit in edits if min(int(edit.above * 5), 4) == k] for k in range(5)]
    return [
        {
            "said": round(float(np.mean([edit.above for edit in fifth])), 4),
            "true": round(float(np.mean([edit.after > edit.before + 1e-9 for edit in fifth])), 4),
            "count": len(fifth),
        }
        for fifth in fifths
        if fifth
    ]


def mean_of(figures: Sequence[Figures], *, interval: bool = True) -> dict[str, float | None]:
    """Return the mean of each figure; None where there is nothing to average."""
    means = {}
    for column in fields(Figures):
        if interval or not column.name.startswith("interval"):
            values = np.array([getattr(step, column.name) for step in figures])
            values = values[~np.isnan(values)]
            means[column.name] = round(float(values.mean()), 4) if len(values) else None
    return means


def measure(recordings: Sequence[Recording], encoder: str) -> dict[str, Any]:
    """Forecast all steps of all recordings."""
    measured: dict[str, dict[str, dict[int, list[Figures]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    edits: list[Edit] = []
    for recording in recordings:
        reader = EngineReader(LocalScanner(encoder))
        readings = [reader.read(topic, recording.prompts) for topic in recording.topics]
        known = [reading for reading in readings if reading is not None]
        for k, figures, edit in forecasts(recording, known):
            edits.append(edit)
            for method, step in figures.items():
                measured[method][recording.guardrail][k].append(step)

    def overall(method: str, *, interval: bool = False) -> dict[str, float | None]:
        steps = [
            step for by in measured[method].values() for group in by.values() for step in group
        ]
        return mean_of(steps, interval=interval)

    return {
        "overall": overall("forecast", interval=True),
        "by": {
            guardrail: {str(k): mean_of(group) for k, group in sorted(by.items())}
            for guardrail, by in measured["forecast"].items()
        },
        "keep": overall("keep"),
        "engine": overall("engine"),
        "by_kind": {
            kind: share([edit.holds for edit in edits if edit.kind == kind])
            for kind in sorted({edit.kind for edit in edits})
        },
        "large": share([edit.holds for edit in edits if abs(edit.after - edit.before) > LARGE]),
        "above": calibration(edits),
    }


def timings(encoder: str) -> dict[str, float]:
    """Return the seconds of a fit (1,000 prompts, 10 scans) and of a forecast (10,000 prompts).

    The forecast is what an edit costs beside the engine's own scores.
    """
    random = np.random.default_rng(7)
    engine = LocalScanner(encoder)
    reader = EngineReader(engine)

    def prompts_of(count: int) -> PromptSet:
        words = [f"word{number}" for number in range(500)]
        texts = [f"{' '.join(random.choice(words, 6))} {row}" for row in range(count)]
        return prompt_set(texts, np.arange(count) % 2 == 0, Intent.BLOCK)

    def topic(number: int) -> Topic:
        return Topic(
            name="Topic",
            description=f"word{number} word{number + 1}",
            examples=("word3 word4", "word5 word6"),
            intent=Intent.BLOCK,
        )

    def scans_of(prompts: PromptSet, count: int) -> list[ScannedDefinition]:
        result = []
        for number in range(count):
            reading = reader.read(topic(number), prompts)
            assert reading is not None
            matched = reading.z > np.median(reading.z)
            result.append(ScannedDefinition(reading, matched.astype(np.int8)))
        return result

    scans = scans_of(prompts_of(1_000), 10)
    fits = []
    for _ in range(5):
        begun = time.perf_counter()
        VerdictModel(scans)
        fits.append(time.perf_counter() - begun)
    many = prompts_of(10_000)
    model = VerdictModel(scans_of(many, 10))
    belongs = many.expected
    after_edit = []
    for number in range(20, 40):
        edited = topic(number)
        engine.z(edited, many, lambda _: None)
        begun = time.perf_counter()
        reading = reader.read(edited, many)
        assert reading is not None
        expected_rates(model.chances(reading), belongs)
        after_edit.append(time.perf_counter() - begun)
    return {"fit": min(fits), "forecast": min(after_edit)}


def main() -> int:
    """Run the benchmark; 2 for bad input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recordings", type=Path, nargs="?")
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--time", action="store_true", help="time a fit and a forecast instead")
    options = parser.parse_args()
    if options.time:
        result: dict[str, Any] = timings(options.encoder)
    elif options.recordings is None:
        parser.error("give RECORDINGS, or --time")
    else:
        try:
            recordings = read_recordings(options.recordings)
        except (ValueError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        result = measure(recordings, options.encoder)
    if options.json or options.time:
        print(json.dumps(result, indent=2))
    else:
        for name in ("overall", "keep", "engine", "by_kind", "large", "above"):
            print(f"{name:8} {json.dumps(result[name])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
