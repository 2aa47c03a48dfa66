"""Shards: which part of a prompt set a process works on, as given or from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError

MOST = 100_000
"""Maximum number of shards of a prompt set; each has a few files."""

_FORM = re.compile(r"(?:(\d{1,9})|auto)(?:/(\d{1,9}))?")


class ShardError(GuardtuiError, ValueError):
    """An invalid shard; the message is for the author."""

    exit_code = 2


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """Shard `index` (from 0) of `count`: the prompts whose digest has this remainder."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise ShardError(f"{self.count} shards: choose 1 to {MOST}")
        if not 0 <= self.index < self.count:
            raise ShardError(
                f"invalid shard {self}: shards are numbered from 0 to {self.count - 1}"
            )

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def name(self) -> str:
        """Base name of its files; names sort like the shards."""
        return f"{self.index:05d}-of-{self.count:05d}"

    def holds(self, digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which prompts are in it, bool [N], by the digests of their texts (uint64 [N])."""
        members: NDArray[np.bool_] = digests % np.uint64(self.count) == np.uint64(self.index)
        return members


def all_shards(count: int) -> list[Shard]:
    """Return all shards of `count`."""
    return [Shard(index, count) for index in range(count)]


def parse_shard(text: str, environment: Mapping[str, str]) -> Shard:
    """Parse the shard named by an author: `3/16`, `auto` or `auto/16` (see `found_shard`).

    Raises `ShardError`.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or (match[1] is not None and match[2] is None):
        raise ShardError(f"{text!r} is not a shard: write 0/16, auto/16 or auto")
    count = None if match[2] is None else int(match[2])
    if match[1] is not None:
        return Shard(int(match[1]), count or 0)
    shard = found_shard(environment, count)
    if shard is None:
        raise ShardError(
            "the environment specifies no shard: neither SLURM_ARRAY_TASK_ID nor "
            "JOB_COMPLETION_INDEX is set; write it as 0/16"
        )
    return shard


def found_shard(environment: Mapping[str, str], count: int | None = None) -> Shard | None:
    """Return the shard that a job array assigned to this process, or None.

    SLURM provides number, first number, step and count of its array tasks. Kubernetes provides only
    the number (JOB_COMPLETION_INDEX), so that `count` is required. Raises `ShardError` for a
    `count` that contradicts SLURM, and for values that are not numbers.
    """
    task = environment.get("SLURM_ARRAY_TASK_ID")
    if task:
        first = _number(environment, "SLURM_ARRAY_TASK_MIN", 0)
        step = max(1, _number(environment, "SLURM_ARRAY_TASK_STEP", 1))
        task_count = _number(environment, "SLURM_ARRAY_TASK_COUNT", count)
        if count is not None and task_count != count:
            raise ShardError(
                f"the array has {task_count} tasks (SLURM_ARRAY_TASK_COUNT), not {count}"
            )
        return Shard((_number(environment, "SLURM_ARRAY_TASK_ID") - first) // step, task_count)
    if not environment.get("JOB_COMPLETION_INDEX"):
        return None
    index = _number(environment, "JOB_COMPLETION_INDEX")
    if count is None:
        raise ShardError(
            f"this is task {index} of an indexed job (JOB_COMPLETION_INDEX) of unknown size: "
            "write --shard auto/N with N the job's completions"
        )
    return Shard(index, count)


def _number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environment.get(name)
    if not text:
        if default is None:
            raise ShardError(f"{name} is not set: write the shard as 0/16")
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ShardError(f"{name} is not a number: {text[:40]!r}")
    return int(text)


def spans(shards: list[Shard]) -> str:
    """Return the numbers of shards with ranges: "0, 3-7, 12"."""
    parts: list[list[int]] = []
    for shard in sorted(shards):
        if parts and parts[-1][-1] + 1 == shard.index:
            parts[-1][1:] = [shard.index]
        else:
            parts.append([shard.index])
    return ", ".join("-".join(map(str, part)) for part in parts)
