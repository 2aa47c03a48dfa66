"""Shards: every prompt is in exactly one; numbers come from the author or the job array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.shards.merge import spans
from guardtui.shards.shard import Shard, ShardError, all_shards, found_shard, parse_shard


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 40))
def test_every_prompt_is_in_exactly_one_shard(numbers: list[int], count: int) -> None:
    digests = np.array(numbers, np.uint64)
    held = [shard.holds(digests) for shard in all_shards(count)]
    np.testing.assert_array_equal(np.sum(held, axis=0), np.ones(len(numbers)))


def test_shard_names_sort_like_shards() -> None:
    names = [shard.name for shard in all_shards(1234)]
    assert sorted(names) == names


@pytest.mark.parametrize(
    ("text", "environment", "wanted"),
    [
        ("3/16", {}, Shard(3, 16)),
        (" 0/1 ", {}, Shard(0, 1)),
        ("auto", {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4"}, Shard(2, 4)),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "7",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_STEP": "2",
            },
            Shard(3, 4),
        ),
        ("auto/8", {"JOB_COMPLETION_INDEX": "5"}, Shard(5, 8)),
        ("auto/8", {"SLURM_ARRAY_TASK_ID": "5"}, Shard(5, 8)),
    ],
)
def test_shard_is_parsed_from_an_option_or_a_job_array(
    text: str, environment: dict[str, str], wanted: Shard
) -> None:
    assert parse_shard(text, environment) == wanted


@pytest.mark.parametrize(
    ("text", "environment", "says"),
    [
        ("16/16", {}, "numbered from 0 to 15"),
        ("1/0", {}, "0 shards"),
        ("1/1000000", {}, "1 to 100000"),
        ("3", {}, "write 0/16"),
        ("-1/4", {}, "write 0/16"),
        ("a/b", {}, "write 0/16"),
        ("", {}, "write 0/16"),
        ("auto", {}, "neither SLURM_ARRAY_TASK_ID"),
        ("auto", {"JOB_COMPLETION_INDEX": "5"}, "write --shard auto/N"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "5"}, "SLURM_ARRAY_TASK_COUNT is not set"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "five"}, "is no"),
        (
            "auto/3",
            {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "4"},
            "has 4 tasks .* not 3",
        ),
    ],
)
def test_invalid_shard_is_reported(text: str, environment: dict[str, str], says: str) -> None:
    with pytest.raises(ShardError, match=says):
        parse_shard(text, environment)


def test_shard_outside_of_a_job_array_is_none() -> None:
    assert found_shard({}) is None


def test_consecutive_shards_are_shown_as_ranges() -> None:
    shards = [Shard(index, 20) for index in (0, 3, 4, 5, 12, 19)]
    assert spans(shards) == "0, 3-5, 12, 19"
