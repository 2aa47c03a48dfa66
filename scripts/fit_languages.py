"""Fit what tells English texts from others by their vectors, for the encoder `pair`.

    python scripts/fit_languages.py CASES.jsonl

`minilm` has learnt English only; of a text in another language `pair` takes the half that has
learnt it. Logistic regression on the raw vectors: the prompts of `scripts/fit_data`, whose
language is recorded, and those of the English cases named. Prints how many texts are mistaken of
languages, and of English texts, that were in no fit. Writes `pair-languages.npy`, and the
background vectors, which depend on it; run `fit_scoring.py` next. Needs numpy and scipy.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.fidelity import read_cases
from guardtui.scanners.local.encoder import WEIGHTS
from guardtui.scanners.local.pair import Pair

FIT_DATA = Path(__file__).parent / "fit_data"
PENALTY = 1e-5
FOLDS = 5

Floats = NDArray[np.float64]


def labelled_texts(cases: Path) -> dict[str, str]:
    """Return the language (ISO 639-1) of each text."""
    texts = {text: "en" for case in read_cases(cases) for text in case.prompts}
    for file in sorted(FIT_DATA.glob("*/*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            texts |= {row["prompt"]: row["language"] for row in csv.DictReader(lines)}
    return texts


def fit(vectors: Floats, foreign: NDArray[np.bool_]) -> Floats:
    """Return weights [d] and constant: above 0 is another language; both classes weigh the same."""
    sign = np.where(foreign, 1.0, -1.0)
    weight = np.where(foreign, 0.5 / foreign.sum(), 0.5 / (~foreign).sum())

    def objective(values: Floats) -> tuple[float, Floats]:
        z = sign * (vectors @ values[:-1] + values[-1])
        loss = float(weight @ np.logaddexp(0, -z)) + PENALTY * float(values[:-1] @ values[:-1])
        slope = -weight * sign / (1 + np.exp(z))
        return loss, np.append(vectors.T @ slope + 2 * PENALTY * values[:-1], slope.sum())

    start = np.zeros(vectors.shape[1] + 1)
    found: Floats = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return found


def mistaken(vectors: Floats, languages: NDArray[np.str_]) -> None:
    """Print how many texts are mistaken when their language, or their fold, is left out."""
    foreign = languages != "en"
    missed = 0
    for language in sorted(set(languages[foreign].tolist())):
        part = languages == language
        values = fit(vectors[~part], foreign[~part])
        missed += int((vectors[part] @ values[:-1] + values[-1] < 0).sum())
    fold = np.random.default_rng(0).permutation(len(vectors)) % FOLDS
    wrong = 0
    for number in range(FOLDS):
        part = fold == number
        values = fit(vectors[~part], foreign[~part])
        wrong += int((vectors[part & ~foreign] @ values[:-1] + values[-1] > 0).sum())
    print(f"languages left out: {missed} of {foreign.sum()} texts taken for English")
    print(f"{FOLDS} folds: {wrong} of {(~foreign).sum()} English texts taken for others")


def main() -> int:
    """Fit, report and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    arguments = parser.parse_args()
    try:
        texts = labelled_texts(arguments.cases)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    vectors = Pair(WEIGHTS).raw(list(texts)).astype(np.float64)
    languages = np.array(list(texts.values()))
    mistaken(vectors, languages)
    record_file = WEIGHTS / "provenance.json"
    record = json.loads(record_file.read_text("utf-8"))

    def write(name: str, values: NDArray[np.generic]) -> None:
        np.save(WEIGHTS / name, values, allow_pickle=False)
        record["files"][name] = hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest()
        record_file.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")

    write("pair-languages.npy", fit(vectors, languages != "en").astype(np.float32))
    requests = (WEIGHTS / "background.txt").read_text("utf-8").splitlines()
    write("background-pair.npy", Pair(WEIGHTS).encode(requests).astype(np.float16))
    return 0


if __name__ == "__main__":
    sys.exit(main())
