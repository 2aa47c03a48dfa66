"""Options of prompt sets too large for one piece."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import FILE

_EXECUTORS = ("serial", "processes", "ray")


def shard_options(function: Function) -> Function:
    """Add the options of large prompt sets."""
    options = (
        click.option(
            "--out",
            type=FILE,
            metavar="DIR",
            help="For large prompt sets: folder of rows, vectors and verdicts, in shards.",
        ),
        click.option(
            "--shard",
            "shard_text",
            metavar="I/N",
            help="With --out: only shard I of N, from 0; auto or auto/N in a job array.",
        ),
        click.option(
            "--shards",
            "shard_count",
            type=click.IntRange(min=1),
            metavar="N",
            help="With --out: cut into N shards (default: one for each 25000 prompts).",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1, 512),
            metavar="N",
            help="With --out: number of processes (default: one for each core).",
        ),
        click.option(
            "--executor",
            type=click.Choice(_EXECUTORS),
            help="With --out: executor (default: processes, or serial with --jobs 1).",
        ),
        click.option(
            "--address",
            metavar="URL",
            help="With --executor ray: the cluster, as ray://HOST:10001 (default: this machine).",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class ShardFlags:
    """Values of the options of shards."""

    out: Path | None = None
    shard_text: str | None = None
    shard_count: int | None = None
    jobs: int | None = None
    executor: str | None = None
    address: str | None = None

    def wanted(self, prompts: Path) -> bool:
        """Return whether to evaluate the prompts in shards. Raises usage errors."""
        if self.out is not None or (prompts / "set.json").is_file():
            self._check()
            return True
        for option, value in self._others().items():
            if value is not None:
                raise click.UsageError(f"{option} needs --out: a folder for the shards")
        return False

    def require_one_process(self, kind: str) -> None:
        """Raise a usage error for options of several processes, which this kind does not use."""
        given = {
            "--jobs": (self.jobs or 1) > 1,
            "--executor": self.executor not in (None, "serial"),
        }
        for option, is_given in given.items():
            if is_given:
                raise click.UsageError(
                    f"{option} does not fit a guardrail of kind {kind}, which evaluates one shard "
                    "after the other: start a process for each --shard I/N instead"
                )

    def _others(self) -> dict[str, object]:
        return {
            "--shard": self.shard_text,
            "--shards": self.shard_count,
            "--jobs": self.jobs,
            "--executor": self.executor,
            "--address": self.address,
        }

    def _check(self) -> None:
        if self.shard_text is not None:
            for option in ("--shards", "--jobs", "--executor", "--address"):
                if self._others()[option] is not None:
                    raise click.UsageError(f"{option} does not fit --shard: one shard is one task")
        if self.address is not None and self.executor != "ray":
            raise click.UsageError("--address needs --executor ray")
        if self.executor == "serial" and (self.jobs or 1) > 1:
            raise click.UsageError("--executor serial has one job: omit --jobs")


def shard_flags(values: dict[str, Any]) -> ShardFlags:
    """Take the values of the options of shards out of a command's values."""
    names = ("out", "shard_text", "shard_count", "jobs", "executor", "address")
    return ShardFlags(**{name: values.pop(name, None) for name in names})
