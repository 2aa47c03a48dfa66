"""A sample of a large prompt set, small enough to be evaluated at every pause in typing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import SAMPLE, PromptSet

SIZE = 5_000
"""Number of prompts in a sample: the precision of a rate is then about ±0.02."""

LEAST = 1_000
"""Minimum number of prompts per class, if available: coverage needs both rates to be precise."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some prompts of a large set, drawn by class and category.

    Within a class, categories have their shares, so that TPR, TNR and coverage are estimates for
    all prompts. If `proportional`, classes have their shares too, and so the other rates are also
    estimates.
    """

    prompts: PromptSet
    of: int
    proportional: bool

    @property
    def text(self) -> str:
        """A short description."""
        return f"sample of {len(self.prompts)} of {self.of} prompts"


def draw(prompts: PromptSet, size: int = SIZE) -> Sample:
    """Draw a sample that depends only on the contents of the prompts; `size` is below their number.

    Its only findings are that it is a sample, and those on rows left out of the file.
    """
    column = prompts.category_column
    groups, names = (
        (np.zeros(len(prompts), np.int32), [""]) if column is None else prompts.groups(column)
    )
    members = {
        (name, expected): np.flatnonzero((groups == code) & (prompts.expected == expected))
        for code, name in enumerate(names)
        for expected in (True, False)
    }
    strata = {name: (len(members[name, True]), len(members[name, False])) for name in names}
    # Keys are hashes, so the smallest are a random but reproducible choice.
    drawn = [
        members[stratum][np.argsort(prompts.keys[members[stratum]], kind="stable")[:count]]
        for stratum, count in allot(strata, size).items()
    ]
    rows = np.sort(np.concatenate(drawn))
    expected = prompts.expected
    proportional = abs(float(expected.mean()) - float(expected[rows].mean())) < 1 / len(rows)
    chosen = replace(prompts, frame=prompts.frame[rows], findings=())
    sample = Sample(chosen, len(prompts), proportional)
    others = "" if proportional else ", and of accuracy, precision and F1 not even that"
    message = f"{sample.text}: rates are estimates for all{others}"
    findings = (*prompts.left_out, Finding(Severity.WARNING, SAMPLE, message))
    return replace(sample, prompts=replace(chosen, findings=findings))


def allot(strata: Mapping[str, tuple[int, int]], size: int) -> dict[tuple[str, bool], int]:
    """Return the number of prompts to draw by category and label, `size` in total.

    Classes have their shares, but at least `LEAST` prompts if available. Within a class, categories
    have their shares, by the largest remainder method.
    """
    totals = {
        expected: sum(counts[0 if expected else 1] for counts in strata.values())
        for expected in (True, False)
    }
    every = sum(totals.values())
    if every <= size:
        return {
            (name, expected): counts[0 if expected else 1]
            for name, counts in strata.items()
            for expected in (True, False)
        }
    least = min(LEAST, size // 2)
    of_class = {}
    for expected, total in totals.items():
        other = totals[not expected]
        share = round(size * total / every)
        of_class[expected] = min(total, max(share, least, size - other))
    rarer = min(totals, key=lambda label: totals[label])
    of_class[not rarer] = min(of_class[not rarer], size - of_class[rarer])
    allotted: dict[tuple[str, bool], int] = {}
    for expected, count in of_class.items():
        counts_of = {name: counts[0 if expected else 1] for name, counts in strata.items()}
        exact = {
            name: count * number / max(1, totals[expected]) for name, number in counts_of.items()
        }
        given = {name: int(share_of_name) for name, share_of_name in exact.items()}
        remaining = count - sum(given.values())
        order = sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name))
        for name in order[:remaining]:
            given[name] += 1
        allotted.update({(name, expected): number for name, number in given.items()})
    return allotted
