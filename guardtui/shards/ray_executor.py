"""Shards on a Ray cluster: a pool of actors, each with the encoder loaded once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from guardtui.shards.executors import ONE_THREAD, ExecutorError
from guardtui.shards.large_set import Stopped
from guardtui.shards.shard import Shard

if TYPE_CHECKING:
    from guardtui.shards.parts import Manifest
    from guardtui.shards.work import Job

_ATTEMPTS = 3
"""How many workers may be lost over one shard before it is given up."""


class _Actor:
    """Holds the encoder on its node; its methods run one at a time."""

    def __init__(self, job: Job) -> None:
        self._worker = job.worker()

    def evaluate(self, shard: Shard) -> Manifest | None:
        """See `Worker.evaluate`."""
        return self._worker.evaluate(shard)


@dataclass(frozen=True)
class RayExecutor:
    """Actors on a cluster that all see the folder of the prompts, under the same path.

    Without an address the cluster is begun on this machine. An actor has one shard at a time, so
    that work in flight is bounded and the next shard goes to whoever is free.
    """

    jobs: int = 1
    address: str | None = None

    def run(
        self, job: Job, shards: Sequence[Shard], stopped: Stopped = lambda: False
    ) -> Iterator[Manifest]:
        """See `Executor`."""
        begun = self._connect()
        try:
            yield from self._work(job, list(shards), stopped)
        except RayTaskError as error:
            # What went wrong in a worker is what would go wrong here.
            raise error.cause from error
        except RayError as error:
            raise ExecutorError(
                f"the cluster gave up ({type(error).__name__})\n"
                "  finished shards are kept: run it again"
            ) from error
        finally:
            if begun:
                ray.shutdown()

    def _connect(self) -> bool:
        """Join the cluster, or begin one; False where this process is in one already."""
        if ray.is_initialized():
            return False
        own = {} if self.address else {"num_cpus": self.jobs, "include_dashboard": False}
        try:
            ray.init(
                address=self.address,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"env_vars": ONE_THREAD},
                **own,
            )
        except Exception as error:  # ray raises many kinds here
            where = self.address or "this machine"
            raise ExecutorError(
                f"no Ray cluster can be reached at {where} ({type(error).__name__})\n"
                "  is it running, and of the same version as here? 'ray status' tells"
            ) from error
        return True

    def _work(self, job: Job, left: list[Shard], stopped: Stopped) -> Iterator[Manifest]:
        kind = ray.remote(num_cpus=1)(_Actor)
        lost: dict[Shard, int] = {}
        working: dict[Any, tuple[Any, Shard]] = {}
        actors = [kind.remote(job) for _ in range(max(1, min(self.jobs, len(left))))]
        idle = list(actors)
        left.reverse()
        try:
            while left or working:
                while left and idle and not stopped():
                    actor, shard = idle.pop(), left.pop()
                    working[actor.evaluate.remote(shard)] = actor, shard
                if not working:
                    return
                done, _ = ray.wait(list(working), timeout=0.1)
                for one in done:
                    actor, shard = working.pop(one)
                    try:
                        manifest = ray.get(one)
                    except RayActorError:
                        # Its node is gone, or was short of memory: another begins anew.
                        lost[shard] = lost.get(shard, 0) + 1
                        if lost[shard] == _ATTEMPTS:
                            raise
                        actors.remove(actor)
                        actor = kind.remote(job)
                        actors.append(actor)
                        left.append(shard)
                        idle.append(actor)
                        continue
                    idle.append(actor)
                    if manifest is not None:
                        yield manifest
        finally:
            for actor in actors:
                with contextlib.suppress(RayError):
                    ray.kill(actor)
