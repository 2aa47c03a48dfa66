"""A sample keeps the shares of categories, enough of each class, and is always the same."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.shards.large_set import LargeSet, cut
from guardtui.shards.sample import LEAST, allot, draw

STRATA = st.dictionaries(
    st.text(max_size=3), st.tuples(st.integers(0, 5000), st.integers(0, 5000)), max_size=6
)


@given(STRATA, st.integers(2, 6000))
def test_sample_size_is_the_requested_or_available_number(
    strata: dict[str, tuple[int, int]], size: int
) -> None:
    wanted = allot(strata, size)
    every = sum(map(sum, strata.values()))
    assert sum(wanted.values()) == min(size, every)
    for (name, expected), count in wanted.items():
        assert 0 <= count <= strata[name][0 if expected else 1]


@given(STRATA)
def test_rare_class_has_the_minimum_number(strata: dict[str, tuple[int, int]]) -> None:
    wanted = allot(strata, 5000)
    for place, label in ((0, True), (1, False)):
        there = sum(counts[place] for counts in strata.values())
        drawn = sum(count for (_, expected), count in wanted.items() if expected is label)
        assert drawn >= min(there, LEAST)


def made(folder: Path, count: int, shards: int) -> LargeSet:
    path = folder / "prompts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category"])
        for number in range(count):
            label = "yes" if number % 4 == 0 else "no"
            writer.writerow([f"prompt {number}", label, "block", "ab"[number % 8 == 0]])
    large = cut(path, folder / f"set{shards}", shards)
    assert large is not None
    return large


def test_sample_contains_rows_of_the_set(tmp_path: Path) -> None:
    large = made(tmp_path, 4000, 6)
    sample = draw(large, 400)
    assert sample.text == "sample of 400 of 4000 prompts"
    assert len(sample.prompts) == 400
    assert int(sample.prompts.expected.sum()) == 200  # more than its share: the least of a class
    assert not sample.proportional
    groups, names = sample.prompts.groups("category")
    of_class = groups[sample.prompts.expected]
    assert names == ["a", "b"]
    assert int((of_class == 1).sum()) == 100
    assert draw(large, 400).prompts.frame.equals(sample.prompts.frame)
    lines = sample.prompts.frame["line"].to_list()
    assert lines == sorted(lines)


def test_few_prompts_are_all_drawn(tmp_path: Path) -> None:
    sample = draw(made(tmp_path, 40, 3))
    assert sample.text == "all 40 prompts"
    assert sample.proportional


@pytest.mark.parametrize("shards", [1, 50])
def test_shares_of_classes_are_kept_where_both_are_common(tmp_path: Path, shards: int) -> None:
    sample = draw(made(tmp_path, 8000, shards), 5000)
    assert int(sample.prompts.expected.sum()) == 1250
    assert sample.proportional
