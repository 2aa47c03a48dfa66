"""A sample of a large prompt set, small enough to be evaluated at every pause in typing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from guardtui.domain.prompts import SAMPLE, Finding, PromptSet, Severity
from guardtui.shards.large_set import LargeSet

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
        if len(self.prompts) == self.of:
            return f"all {self.of} prompts"
        return f"sample of {len(self.prompts)} of {self.of} prompts"


def draw(large: LargeSet, size: int = SIZE) -> Sample:
    """Draw a sample that depends only on the contents of the prompts and on the shards.

    A shard is a random part of the set: only as many are read as give enough of every stratum.
    Raises FileError.
    """
    wanted = allot(large.strata, size)
    frames: list[pl.DataFrame] = []
    have: dict[tuple[str, bool], int] = dict.fromkeys(wanted, 0)
    for shard in large.all_shards():
        if all(have[stratum] >= wanted[stratum] for stratum in wanted):
            break
        frame = large.read_rows(shard)
        category = large.category_column
        name = pl.lit("") if category is None else pl.col(category)
        frame = frame.with_columns(name.alias("_category"))
        frames.append(frame)
        counts = frame.group_by("_category", "expected").agg(pl.len().alias("_count"))
        for name, expected, count in counts.select("_category", "expected", "_count").iter_rows():
            have[name, expected] += count
    together = pl.concat(frames)
    parts = [
        together.filter((pl.col("_category") == name) & (pl.col("expected") == expected))
        # Keys are hashes, so the smallest are a random but reproducible choice.
        .sort("key")
        .head(count)
        for (name, expected), count in wanted.items()
    ]
    rows = pl.concat(parts).sort("row").drop("_category")
    totals = [sum(counts[index] for counts in large.strata.values()) for index in (0, 1)]
    share = totals[0] / sum(totals)
    drawn_share = sum(count for (_, expected), count in wanted.items() if expected) / max(
        1, rows.height
    )
    proportional = abs(share - drawn_share) < 1 / max(1, rows.height)
    sample = Sample(large.prompts(rows), large.rows, proportional)
    if rows.height == large.rows:
        return sample
    others = "" if proportional else ", and of accuracy, precision and F1 not even that"
    message = f"{sample.text}: rates are estimates for all{others}"
    finding = Finding(Severity.WARNING, SAMPLE, message)
    return replace(sample, prompts=replace(sample.prompts, findings=(finding,)))


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
