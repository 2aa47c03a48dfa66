"""Fit the scoring constants of an encoder on labelled topic cases, and say how well they transfer.

    python scripts/fit_scoring.py CASES.jsonl [--encoder pair] [--write] [--cache FOLDER]

Besides the cases named, those of `scripts/fit_data` are fitted on. From these alone comes the
direction of the feature `act`: in intent data sets, who asks for the deed and who asks about it
are not told apart.

Every figure printed is of cases that were in no fit: K folds by case, and each family (the part of
a case's id before "/") left out as a whole. With --write the constants fitted on all cases go to
the shipped file. Needs numpy and scipy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.fidelity import Case, fitted, measure, read_cases, table
from guardtui.scanners.local.encoder import ENCODERS, WEIGHTS, Encoder, load_encoder
from guardtui.scanners.local.pair import Pair
from guardtui.scanners.local.scoring import (
    PROMPT_FEATURES,
    SIMILARITY_FEATURES,
    TOPIC_FEATURES,
    Act,
    ScoringModel,
    load_background,
    similarity_rows,
    topic_texts,
)

FOLDS = 5
LABELS = 40
PENALTY = 1e-3
FAMILY_POWER = 0.5  # 0: every case counts the same, 1: every family does
SHARPNESS = 12.0  # of the smooth minimum of TPR and TNR
VARIANTS = (2, 5, 3, 4)  # how many examples the variants of a case have
MERGED = 1.0  # merged topics for each case of a family
MERGED_WEIGHT = 2.0
COVERAGE_SHARE = 0.5  # of the objective; the rest is logistic loss, which keeps the ranking
WIDEST = 15  # narrow topics in a merged one
ACT_PENALTY = 0.05  # of the ridge regression, for each case
OTHERS = 8.0  # weight of the cases that say nothing about acts
ACT_WIDTH = 2.0  # standard deviations of their prompts that count as no act
NEAR_MISS_WEIGHT = 0.3
NEAR_MISSES = Path(__file__).parent / "fit_data"
SCALES = np.geomspace(0.05, 5, 93)
SHIFTS = np.linspace(-1, 1, 81)  # of z, to choose the operating point from

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """A topic's prompts as rows of features [n, f] with their labels; `weight` in the objective."""

    rows: Floats
    expected: NDArray[np.bool_]
    weight: float
    case: Case


class Embedded:
    """Vectors of texts, each embedded once; kept in a folder between runs when one is given."""

    def __init__(self, encoder: Encoder, cache: Path | None) -> None:
        self.encoder = encoder
        self.cache = cache
        self.rows: dict[str, NDArray[np.float32]] = {}

    def add(self, texts: Iterable[str]) -> None:
        """Embed those that are new."""
        new = sorted(set(texts) - self.rows.keys())
        if not new:
            return
        key = hashlib.sha256(json.dumps([self.encoder.id, new]).encode()).hexdigest()[:16]
        file = self.cache / f"{key}.npy" if self.cache else None
        if file and file.exists():
            vectors = np.load(file)
        else:
            vectors = self.encoder.encode(new)
            if file:
                file.parent.mkdir(parents=True, exist_ok=True)
                np.save(file, vectors)
        self.rows.update(zip(new, vectors, strict=True))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.rows[text] for text in texts])


def variants(case: Case, random: np.random.Generator) -> list[Case]:
    """The same topic as other authors might have written it: other examples, more or fewer.

    Prompts that become examples are no longer scored. One variant has a bare description.
    """
    found: list[Case] = []
    positive = np.flatnonzero(case.expected)
    for count in VARIANTS:
        if count <= len(case.examples) and count == 2:
            picked = random.choice(len(case.examples), count, replace=False)
            found.append(replace(case, examples=[case.examples[row] for row in picked]))
            continue
        taken = random.choice(positive, min(count, len(positive) - 5), replace=False)
        kept = np.setdiff1d(np.arange(len(case.prompts)), taken)
        found.append(
            replace(
                case,
                examples=[case.prompts[row] for row in taken],
                prompts=[case.prompts[row] for row in kept],
                expected=case.expected[kept],
                description="" if count == 4 else case.description,
            )
        )
    return found


def merged(cases: Sequence[Case], embedded: Embedded, random: np.random.Generator) -> list[Case]:
    """Broad topics, each the union of neighbouring narrow ones of a family, against all others.

    Broad topics are rare in labelled cases, and a threshold that suits narrow ones misses half of
    their prompts.
    """
    found: list[Case] = []
    for family in sorted({case.family for case in cases}):
        members = [case for case in cases if case.family == family]
        if len(members) < 2 * WIDEST:
            continue
        heads = embedded([topic_texts(case.name, case.description, [])[0] for case in members])
        order = np.argsort(-(heads @ heads.T), axis=1)
        for _ in range(round(MERGED * len(members))):
            width = int(random.integers(4, WIDEST + 1))
            near = order[random.integers(len(members))]
            chosen = [members[row] for row in near[:width]]
            others = [members[row] for row in near[width:]]
            inside = _positives(chosen)
            outside = _positives(others) - inside
            kept = [list(random.permutation(sorted(part))[:200]) for part in (inside, outside)]
            names = ", ".join(case.name for case in chosen)
            picked = random.permutation(width)[: int(random.integers(3, 6))]
            found.append(
                Case(
                    id=f"{family}/merged",
                    name=chosen[0].name.split()[-1],
                    description=f"Questions or requests about {names}",
                    examples=[chosen[row].examples[0] for row in picked],
                    intent="block",
                    prompts=[str(prompt) for prompt in (*kept[0], *kept[1])],
                    expected=np.arange(len(kept[0]) + len(kept[1])) < len(kept[0]),
                )
            )
    return found


def _positives(cases: Sequence[Case]) -> set[str]:
    return {
        prompt
        for case in cases
        for prompt, label in zip(case.prompts, case.expected, strict=True)
        if label
    }


def design(case: Case, names: Sequence[str], model: ScoringModel, embedded: Embedded) -> Design:
    """Features of a case's prompts, in the order of `names`; the weight is still 1."""
    texts = topic_texts(case.name, case.description, case.examples)
    text_vectors = embedded(texts)
    vectors = embedded(case.prompts)
    rows = similarity_rows(vectors, text_vectors, model.english_columns)
    columns: dict[str, Floats] = {
        "description": rows[0].astype(np.float64),
        "nearest": rows[1:].max(axis=0).astype(np.float64),
        "mean": rows.mean(axis=0, dtype=np.float64),
    }
    columns["act"] = np.zeros(len(vectors))
    columns["ordinary"] = model.ordinary(vectors).astype(np.float64)
    for name, value in model.topic_terms(texts, text_vectors).features.items():
        columns[name] = np.full(len(vectors), value)
    return Design(np.stack([columns[name] for name in names], axis=1), case.expected, 1.0, case)


def fit(designs: Sequence[Design]) -> tuple[Floats, float]:
    """Weights [f] and constant with the largest coverage at z = 0, smoothed, and a good ranking.

    A topic's loss is the smooth maximum of its two error rates, with a logistic step in place of
    the verdict, and in part the balanced logistic loss, whose own optimum is the start.
    """
    rows = np.concatenate([item.rows for item in designs])
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    rows = (rows - middle) / spread
    label = np.concatenate([item.expected for item in designs])
    topic = np.repeat(np.arange(len(designs)), [len(item.expected) for item in designs])
    weight = np.array([item.weight for item in designs])
    weight /= weight.sum()
    count = len(designs)
    positives = np.bincount(topic, label, count)
    negatives = np.bincount(topic, ~label, count)
    share = np.where(label, 1 / positives[topic], 1 / negatives[topic])
    sign = np.where(label, 1.0, -1.0)

    def objective(values: Floats, smooth: float) -> tuple[float, Floats]:
        z = rows @ values[:-1] + values[-1]
        wrong = 1 / (1 + np.exp(np.clip(sign * z, -60, 60)))
        missed = np.bincount(topic, wrong * share * label, count)
        false = np.bincount(topic, wrong * share * ~label, count)
        total = np.logaddexp(SHARPNESS * missed, SHARPNESS * false) / SHARPNESS
        pull = 1 / (1 + np.exp(SHARPNESS * (false - missed)))
        side = np.where(label, pull[topic], 1 - pull[topic])
        logistic = np.bincount(topic, np.logaddexp(0, -sign * z) * share / 2, count)
        loss = float(weight @ (smooth * 2 * total + (1 - smooth) * logistic))
        slope = smooth * -2 * side * (1 - wrong) - (1 - smooth) / 2
        slope *= weight[topic] * share * sign * wrong
        loss += PENALTY * float(values[:-1] @ values[:-1])
        gradient = np.append(rows.T @ slope + 2 * PENALTY * values[:-1], slope.sum())
        return loss, gradient

    values = np.zeros(rows.shape[1] + 1)
    for smooth in (0.0, COVERAGE_SHARE):
        values = minimize(
            objective,
            values,
            args=(smooth,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 500},
        ).x
    # Coverage does not depend on the scale of z; the score should be readable as a probability.
    z = rows @ values[:-1] + values[-1]
    loss = [
        float(weight @ np.bincount(topic, np.logaddexp(0, -sign * z * scale) * share, count))
        for scale in SCALES
    ]
    values = values * SCALES[int(np.argmin(loss))]
    weights = values[:-1] / spread
    return weights, float(values[-1] - weights @ middle)


def shift(
    designs: Sequence[Design], near: Sequence[bool], weights: Floats, constant: float
) -> float:
    """The shift of z with the largest mean coverage at z = 0 over families, each weighing the same.

    The weights of features come from all cases, but the operating point of a topic that nobody has
    seen is not that of the family with the most cases. `near` says which designs are near misses;
    their families have the weight `NEAR_MISS_WEIGHT`.
    """
    families = sorted({item.case.family for item in designs})
    coverage = np.zeros((len(families), len(SHIFTS)))
    count = np.zeros(len(families))
    share = np.ones(len(families))
    for item, is_near in zip(designs, near, strict=True):
        family = families.index(item.case.family)
        matches = (item.rows @ weights + constant)[None] + SHIFTS[:, None] >= 0
        rates = matches[:, item.expected].mean(axis=1), 1 - matches[:, ~item.expected].mean(axis=1)
        coverage[family] += np.minimum(*rates)
        count[family] += 1
        share[family] = NEAR_MISS_WEIGHT if is_near else 1.0
    return float(SHIFTS[(share @ (coverage / count[:, None])).argmax()])


def act_direction(cases: Sequence[Case], others: Sequence[Case], embedded: Embedded) -> Act:
    """The direction along which prompts that belong differ from those that do not, in all topics.

    Ridge regression of the label on the prompts' vectors, after the middle of a topic's two classes
    is taken off, so that the subject has no part in it. Prompts of the other cases, which say
    nothing about acts, are to differ little along it.
    """
    size = embedded.encoder.dimensions
    square, target = ACT_PENALTY * len(cases) * np.eye(size), np.zeros(size)
    for case in cases:
        vectors = embedded(case.prompts).astype(np.float64)
        vectors -= (vectors[case.expected].mean(axis=0) + vectors[~case.expected].mean(axis=0)) / 2
        count = np.where(case.expected, case.expected.sum(), (~case.expected).sum())
        square += (vectors / count[:, None]).T @ vectors
        target += vectors.T @ (np.where(case.expected, 1.0, -1.0) / count)
    for case in others:
        vectors = embedded(case.prompts).astype(np.float64)
        vectors -= vectors.mean(axis=0)
        square += vectors.T @ vectors * (OTHERS * len(cases) / len(others) / len(vectors))
    direction = np.linalg.solve(square, target)
    direction = (direction / np.linalg.norm(direction)).astype(np.float16).astype(np.float32)
    usual = np.concatenate([embedded(case.prompts) @ direction for case in others])
    return Act(direction, round(float(usual.mean()), 5), round(ACT_WIDTH * float(usual.std()), 5))


class Fitting:
    """All cases of one encoder, ready to be fitted on any part of them.

    `near_misses` is the number of cases at the end that teach the direction of `act`.
    """

    def __init__(
        self, cases: Sequence[Case], near_misses: int, encoder: Encoder, cache: Path | None
    ) -> None:
        self.cases = list(cases)
        self.teaching = range(len(self.cases) - near_misses, len(self.cases))
        self.embedded = Embedded(encoder, cache)
        self.blank = ScoringModel(
            encoder=encoder.name,
            version="",
            weights={},
            typical=dict.fromkeys(TOPIC_FEATURES, 0.0),
            constant=0.0,
            threshold=0.0,
            background=load_background(encoder.name),
            act=None,
            english_columns=Pair.english_columns if encoder.name == Pair.name else 0,
        )
        texts = {text for case in cases for text in (*case.prompts, *case.examples)}
        self.embedded.add(texts)
        self.names = [*SIMILARITY_FEATURES, *PROMPT_FEATURES, *TOPIC_FEATURES]
        random = np.random.default_rng(0)
        self.own = [
            [self.design(version) for version in (case, *variants(case, random))]
            for case in self.cases
        ]

    def design(self, case: Case) -> Design:
        """A case as rows of features; those of `act` are zeros until the direction is known."""
        self.embedded.add(topic_texts(case.name, case.description, case.examples))
        return design(case, self.names, self.blank, self.embedded)

    def directed(self, item: Design, act: Act) -> Design:
        """The same with the features that depend on the direction."""
        rows = item.rows.copy()
        cosines = self.embedded(item.case.prompts) @ act.direction
        rows[:, self.names.index("act")] = act.leaning(cosines)
        examples = self.embedded(item.case.examples) @ act.direction
        rows[:, self.names.index("examples act")] = examples.mean()
        return replace(item, rows=rows)

    def directions(self, chosen: Sequence[int]) -> dict[str, Act]:
        """The direction for cases of each family, from the other families; "" for all others.

        A direction fits the cases that it was made from better than those it will meet.
        """
        teaching = [self.cases[row] for row in chosen if row in self.teaching]
        others = [self.cases[row] for row in chosen if row not in self.teaching]
        families = {case.family for case in teaching}
        return {
            family: act_direction(
                [case for case in teaching if case.family != family], others, self.embedded
            )
            for family in ("", *families)
        }

    def model(self, chosen: Sequence[int]) -> ScoringModel:
        """Constants fitted on these cases alone."""
        counts: dict[str, int] = {}
        for row in chosen:
            counts[self.cases[row].family] = counts.get(self.cases[row].family, 0) + 1
        directions = self.directions(chosen)
        designs = [
            replace(
                self.directed(item, directions.get(item.case.family, directions[""])),
                weight=counts[self.cases[row].family] ** -FAMILY_POWER
                * (NEAR_MISS_WEIGHT if row in self.teaching else 1),
            )
            for row in chosen
            for item in self.own[row]
        ]
        originals = designs[:: len(self.own[0])]
        random = np.random.default_rng(1)
        for case in merged([self.cases[row] for row in chosen], self.embedded, random):
            weight = MERGED_WEIGHT * counts[case.family] ** -FAMILY_POWER
            item = self.directed(self.design(case), directions[""])
            designs.append(replace(item, weight=weight))
        weights, constant = fit(designs)
        constant += shift(originals, [row in self.teaching for row in chosen], weights, constant)
        original = np.stack([item.rows.mean(axis=0) for item in originals]).mean(axis=0)
        typical = dict(zip(self.names, original, strict=True))
        return replace(
            self.blank,
            weights={name: round(float(w), 5) for name, w in zip(self.names, weights, strict=True)},
            typical={name: round(float(typical.get(name, 0.0)), 5) for name in TOPIC_FEATURES},
            constant=round(constant, 5),
            act=directions[""],
        )

    def scores(self, model: ScoringModel, case: Case) -> NDArray[np.float32]:
        """z of a case's prompts, exactly as the product computes it."""
        texts = topic_texts(case.name, case.description, case.examples)
        self.embedded.add(texts)
        return model.score(texts, self.embedded(texts), self.embedded(case.prompts))

    def held_out(self, parts: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """z of every case by a model fitted on the other parts."""
        result: dict[int, NDArray[np.float32]] = {}
        for part in parts:
            model = self.model([row for row in range(len(self.cases)) if row not in set(part)])
            result |= {row: self.scores(model, self.cases[row]) for row in part}
        return [result[row] for row in range(len(self.cases))]

    def folds(self) -> list[list[int]]:
        """K parts with cases of every family in each, as far as they go."""
        random = np.random.default_rng(2)
        parts: list[list[int]] = [[] for _ in range(FOLDS)]
        for family in self.families():
            for place, row in enumerate(random.permutation(family)):
                parts[place % FOLDS].append(int(row))
        return parts

    def families(self) -> list[list[int]]:
        """Rows of the cases of each family."""
        names = sorted({case.family for case in self.cases})
        return [
            [row for row, case in enumerate(self.cases) if case.family == name] for name in names
        ]


def main() -> int:
    """Fit, report, and write when asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, action="append")
    parser.add_argument("--cache", type=Path, help="folder to keep the vectors in between runs")
    parser.add_argument("--write", action="store_true", help="write the shipped constants")
    arguments = parser.parse_args()
    try:
        cases = read_cases(arguments.cases)
        near_misses = read_cases(NEAR_MISSES)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for name in arguments.encoder or ENCODERS:
        fitting = Fitting(
            [*cases, *near_misses], len(near_misses), load_encoder(name), arguments.cache
        )
        for title, parts in (
            (f"{FOLDS} folds by case", fitting.folds()),
            ("each family left out", fitting.families()),
        ):
            scores = fitting.held_out(parts)
            print(f"{name}, {title}")
            print(table(measure(fitting.cases, scores, 0.0)))
            mean = np.mean(fitted(fitting.cases, scores, LABELS, 0.0))
            print(
                f"threshold fitted to {LABELS} labels: coverage {mean:.3f} on the rest\n",
                flush=True,
            )
        if arguments.write:
            model = fitting.model(range(len(fitting.cases)))
            write(model, fitting.embedded.encoder)
    return 0


def write(model: ScoringModel, encoder: Encoder) -> None:
    """Put a model's constants into the shipped file, beside those of other encoders.

    The version is a hash of all that scores depend on, so that it cannot be forgotten.
    """
    if model.act is None:
        raise ValueError("no direction of acts was fitted")
    file = WEIGHTS / "scoring.json"
    content = json.loads(file.read_text("utf-8")) if file.exists() else {"encoders": {}}
    np.save(WEIGHTS / f"act-{model.encoder}.npy", model.act.direction.astype(np.float16))
    record_file = WEIGHTS / "provenance.json"
    record = json.loads(record_file.read_text("utf-8"))
    name = f"act-{model.encoder}.npy"
    record["files"][name] = hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest()
    record_file.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    constants = {
        "act": {"middle": model.act.middle, "width": model.act.width},
        "threshold": model.threshold,
        "constant": model.constant,
        "english columns": model.english_columns,
        "weights": dict(model.weights),
        "typical": dict(model.typical),
    }
    key = json.dumps([encoder.id, record["files"][name], constants], sort_keys=True).encode()
    version = hashlib.sha256(key).hexdigest()[:8]
    content["encoders"][model.encoder] = {"version": version, **constants}
    file.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
