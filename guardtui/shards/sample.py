"""A sample of a large prompt set, small enough to be judged at every pause in typing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from guardtui.domain.prompts import SAMPLE, Finding, PromptSet, Severity
from guardtui.shards.large_set import LargeSet

SIZE = 5_000
"""Prompts in a sample: a rate is then sure to about ±0.02."""

LEAST = 1_000
"""Of each class at least so many, as far as there are: both rates of coverage are to be sure."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some prompts of a large set, drawn by class and category.

    Within a class categories have their shares, so that TPR, TNR and coverage are estimates for
    all; with `proportional` the classes have theirs too, and so are the other rates.
    """

    prompts: PromptSet
    of: int
    proportional: bool

    @property
    def text(self) -> str:
        """What it is, in a few words."""
        if len(self.prompts) == self.of:
            return f"all {self.of} prompts"
        return f"sample of {len(self.prompts)} of {self.of} prompts"


def draw(large: LargeSet, size: int = SIZE) -> Sample:
    """A sample that depends on the prompts' contents alone, and on how they are cut.

    A shard is a random part of the set: only as many are read as give enough of every stratum.
    Raises FileError.
    """
    wanted = allot(large.strata, size)
    frames: list[pl.DataFrame] = []
    have: dict[tuple[str, bool], int] = dict.fromkeys(wanted, 0)
    for shard in large.all_shards():
        if all(have[one] >= wanted[one] for one in wanted):
            break
        frame = large.read_rows(shard)
        category = large.category_column
        name = pl.lit("") if category is None else pl.col(category)
        frame = frame.with_columns(name.alias("_category"))
        frames.append(frame)
        counts = frame.group_by("_category", "expected").agg(pl.len().alias("_count"))
        for one, expected, count in counts.select("_category", "expected", "_count").iter_rows():
            have[one, expected] += count
    together = pl.concat(frames)
    parts = [
        together.filter((pl.col("_category") == name) & (pl.col("expected") == expected))
        # Keys are hashes: the smallest are as good as any, and always the same.
        .sort("key")
        .head(count)
        for (name, expected), count in wanted.items()
    ]
    rows = pl.concat(parts).sort("row").drop("_category")
    totals = [sum(counts[place] for counts in large.strata.values()) for place in (0, 1)]
    share = totals[0] / sum(totals)
    taken = sum(count for (_, expected), count in wanted.items() if expected) / max(1, rows.height)
    proportional = abs(share - taken) < 1 / max(1, rows.height)
    sample = Sample(large.prompts(rows), large.rows, proportional)
    if rows.height == large.rows:
        return sample
    others = "" if proportional else ", and of accuracy, precision and F1 not even that"
    message = f"{sample.text}: rates are estimates for all{others}"
    finding = Finding(Severity.WARNING, SAMPLE, message)
    return replace(sample, prompts=replace(sample.prompts, findings=(finding,)))


def allot(strata: Mapping[str, tuple[int, int]], size: int) -> dict[tuple[str, bool], int]:
    """How many prompts of each category and label are drawn, of `size` in all.

    Classes have their shares, but each at least `LEAST` as far as there are so many; within a
    class categories have theirs, by the largest remainders.
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
    rarer = min(totals, key=lambda one: totals[one])
    of_class[not rarer] = min(of_class[not rarer], size - of_class[rarer])
    found: dict[tuple[str, bool], int] = {}
    for expected, count in of_class.items():
        counts_of = {name: counts[0 if expected else 1] for name, counts in strata.items()}
        exact = {name: count * one / max(1, totals[expected]) for name, one in counts_of.items()}
        given = {name: int(one) for name, one in exact.items()}
        left = count - sum(given.values())
        order = sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name))
        for name in order[:left]:
            given[name] += 1
        found.update({(name, expected): one for name, one in given.items()})
    return found
