"""A sample keeps the shares of categories, enough of each class, and is always the same."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent
from guardtui.large_sets.sample import LEAST, allot, draw

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
    for index, label in ((0, True), (1, False)):
        available = sum(counts[index] for counts in strata.values())
        drawn = sum(count for (_, expected), count in wanted.items() if expected is label)
        assert drawn >= min(available, LEAST)


def prompts_of(count: int, *, category: bool = True, reverse: bool = False) -> PromptSet:
    texts = [f"prompt {number}" for number in range(count)]
    frame = pl.DataFrame(
        {
            "key": pl.Series(prompt_keys(texts), dtype=pl.UInt64),
            "line": pl.Series(range(2, count + 2), dtype=pl.UInt32),
            "prompt": texts,
            "expected": [number % 4 == 0 for number in range(count)],
            **(
                {"category": ["ab"[number % 8 == 0] for number in range(count)]} if category else {}
            ),
        }
    )
    return PromptSet(frame.reverse() if reverse else frame, Intent.BLOCK, "prompts.csv")


def test_sample_contains_rows_of_the_set_in_its_order() -> None:
    prompts = prompts_of(4000)
    sample = draw(prompts, 400)
    assert sample.text == "sample of 400 of 4000 prompts"
    assert len(sample.prompts) == 400
    assert int(sample.prompts.expected.sum()) == 200  # more than its share: the least of a class
    assert not sample.proportional
    assert "accuracy, precision and F1 not even that" in sample.prompts.findings[0].message
    groups, names = sample.prompts.groups("category")
    assert names == ["a", "b"]
    assert int((groups[sample.prompts.expected] == 1).sum()) == 100
    lines = sample.prompts.frame["line"].to_list()
    assert lines == sorted(lines)
    assert sample.prompts.frame.equals(prompts.frame.filter(pl.col("line").is_in(lines)))


def test_sample_does_not_depend_on_the_order_of_the_file() -> None:
    sample, other = draw(prompts_of(4000), 400), draw(prompts_of(4000, reverse=True), 400)
    assert other.prompts.frame.reverse().equals(sample.prompts.frame)


@pytest.mark.parametrize("category", [True, False])
def test_shares_of_classes_are_kept_where_both_are_common(category: bool) -> None:
    sample = draw(prompts_of(8000, category=category), 5000)
    assert int(sample.prompts.expected.sum()) == 1250
    assert sample.proportional
