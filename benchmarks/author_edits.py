"""Record simulated guardrails along chains of edits as authors make them.

    python benchmarks/author_edits.py CASES.jsonl --guardrail FILE.py … > RECORDINGS.jsonl

Cases and guardrails are those of `evidence.py`, each at its own operating point, that an edit does
not move; RECORDINGS is for `forecast.py` and `first_scan.py`. An edit adds, swaps or drops an
example, rewrites the description, or excludes something. Six of ten new examples are prompts that
the guardrail missed, as an author takes them; exclusions name what it wrongly stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from evidence import Score, load_guardrail, operating_point
from fidelity import Case, read_cases

from guardtui.scanners.local.encoder import load_encoder

STEPS = 5
KINDS = {"add": 27, "swap": 23, "drop": 15, "rewrite": 20, "exclude": 15}
REWRITES = (
    "Somebody asks about {name} or wants help with it",
    "{name}: questions, requests, complaints and everything that belongs to it",
    "Messages on {name}, above all about {words}",
    "{description}; also when it is only hinted at",
    "{words}",
)
_MOST_EXAMPLES = 5
_WORD = re.compile(r"\w{5,}")


def chain(case: Case, score: Score, seed: int) -> list[dict[str, Any]]:
    """Return the first definition and those after `STEPS` edits, with the guardrail's verdicts."""
    choose = random.Random(seed)
    belongs = np.array(case.expected, bool)
    description, examples = case.description, list(case.examples)
    cut, kind = None, ""
    steps: list[dict[str, Any]] = []
    while True:
        texts = list(case.prompts)
        scores = np.asarray(score(case.name, description, list(examples), texts), np.float64)
        cut = operating_point(scores, belongs) if cut is None else cut
        matches = scores >= cut
        content = {"name": case.name, "description": description, "examples": list(examples)}
        steps.append({**content, "kind": kind, "matches": matches.astype(int).tolist()})
        if len(steps) > STEPS:
            return steps
        ours = [text for text, belong in zip(texts, belongs, strict=True) if belong]
        missed = [text for text, wrong in zip(texts, belongs & ~matches, strict=True) if wrong]
        stopped = [text for text, wrong in zip(texts, ~belongs & matches, strict=True) if wrong]
        before = (description, list(examples))
        while (description, examples) == before:
            kind = choose.choices(list(KINDS), list(KINDS.values()))[0]
            example = choose.choice(missed if missed and choose.random() < 0.6 else ours)
            if kind == "add" and len(examples) < _MOST_EXAMPLES and example not in examples:
                examples.append(example)
            elif kind == "swap" and examples and example not in examples:
                examples[choose.randrange(len(examples))] = example
            elif kind == "drop" and len(examples) > 1:
                examples.pop(choose.randrange(len(examples)))
            elif kind == "rewrite":
                words = ", ".join(_WORD.findall(" ".join(choose.sample(ours, 3)))[:6])
                wording = choose.choice(REWRITES)
                description = wording.format(name=case.name, description=description, words=words)
            elif kind == "exclude" and stopped:
                words = " ".join(_WORD.findall(choose.choice(stopped))[:3])
                description = f"{description}, but not {words}"


def recordings(cases: Sequence[Case], guardrails: dict[str, Score]) -> Iterator[dict[str, Any]]:
    """Yield a recording of each guardrail on each case."""
    for case in cases:
        for name, score in guardrails.items():
            yield {
                "id": case.id,
                "guardrail": name,
                "intent": case.intent,
                "prompts": list(case.prompts),
                "expected": [bool(belongs) for belongs in case.expected],
                "steps": chain(case, score, zlib.crc32(f"{case.id} {name}".encode())),
            }


@lru_cache(maxsize=8)
def _encoded(texts: tuple[str, ...]) -> NDArray[np.float32]:
    return np.asarray(load_encoder("minilm").encode(list(texts)), np.float32)


def nearest_meaning(
    name: str, description: str, examples: list[str], prompts: list[str]
) -> Sequence[float]:
    """Score by the nearest text, with the encoder `minilm`."""
    texts = _encoded((f"{name}: {description}", *examples))
    scores: Sequence[float] = (_encoded(tuple(prompts)) @ texts.T).max(axis=1)
    return scores


def all_words(
    _name: str, description: str, examples: list[str], prompts: list[str]
) -> Sequence[float]:
    """Score by the words in common with all texts: more text matches more."""
    texts = [set(re.findall(r"\w+", text.lower())) for text in (description, *examples)]
    words = [set(re.findall(r"\w+", text.lower())) for text in prompts]
    return [sum(len(own & text) for text in texts) / (3 + len(own)) for own in words]


SIMULATED: dict[str, Score] = {"nearest_meaning": nearest_meaning, "all_words": all_words}


def main() -> None:
    """Print the recordings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--guardrail", type=Path, action="append", default=[])
    options = parser.parse_args()
    guardrails = {path.stem: load_guardrail(path) for path in options.guardrail} or SIMULATED
    for recording in recordings(read_cases(options.cases), guardrails):
        print(json.dumps(recording))


if __name__ == "__main__":
    main()
