"""Executor for a Ray cluster: a pool of actors, each with the encoder loaded once."""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

# Ray's default without accelerators, set to avoid its announcement.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from guardtui.shards.executors import ONE_THREAD, ExecutorError
from guardtui.shards.large_set import Stopped
from guardtui.shards.shard import Shard

if TYPE_CHECKING:
    from guardtui.shards.parts import Manifest
    from guardtui.shards.work import ShardJob, Worker

_ATTEMPTS = 3
"""Maximum number of workers lost over one shard before giving up."""

_PATIENCE = 5.0
"""Seconds in which the cluster must answer; Ray itself would wait for minutes."""


class _Actor:
    """Holds the encoder on its node; its methods run one at a time."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._worker: Worker | None = None

    def evaluate(self, shard: Shard) -> Manifest | None:
        """See `Worker.evaluate`."""
        if self._worker is None:
            # Not when it is made: Ray reports errors there as the loss of an actor.
            self._worker = self._job.worker()
        return self._worker.evaluate(shard)


@dataclass(frozen=True)
class RayExecutor:
    """Actors on a cluster, or on one that is started on this machine.

    `address` is that of a cluster, as `ray://head:10001` or `auto`. Its nodes need the same version
    of guardtui and the folder of the prompts under the same path. Each actor has one shard at a
    time, so that work in flight is bounded and the next shard goes to a free actor. Without `jobs`
    there is one actor per core of the cluster.
    """

    jobs: int | None = 1
    address: str | None = None

    def run(
        self, job: ShardJob, shards: Sequence[Shard], stopped: Stopped = lambda: False
    ) -> Iterator[Manifest]:
        """See `Executor`."""
        # Workers may have another working folder than this process.
        job = replace(job, folder=job.folder.absolute())
        connected = self._connect()
        try:
            yield from self._work(job, list(shards), stopped)
        except RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise ExecutorError(
                    f"a node of the cluster cannot import guardtui as it is here ({error.cause})\n"
                    "  install the same version on every node"
                ) from error
            # Raise the worker's error as if it had happened here.
            raise error.cause from error
        except (RayError, ConnectionError) as error:
            raise ExecutorError(
                f"the cluster gave up ({type(error).__name__})\n"
                "  finished shards are kept: run it again"
            ) from error
        finally:
            if connected:
                ray.shutdown()

    def _connect(self) -> bool:
        """Join or start a cluster; returns False if this process is in one already."""
        if ray.is_initialized():
            return False
        if self.address:
            _probe(self.address)
        own = {} if self.address else {"num_cpus": self.jobs, "include_dashboard": False}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(
                    address=self.address or "local",
                    log_to_driver=False,
                    logging_level="ERROR",
                    runtime_env={"env_vars": ONE_THREAD},
                    **own,
                )
        except Exception as error:  # ray raises many kinds here
            address = self.address or "this machine"
            message = str(error).strip().partition("\n")[0][:200]
            # Ray sends its token to a cluster at a given address only if configured to.
            token = "" if os.environ.get("RAY_AUTH_MODE") else _WANTED
            raise ExecutorError(
                f"no Ray cluster can be joined at {address} ({type(error).__name__}: {message})\n"
                "  is it running, with the same versions of ray and Python as this machine? "
                f"'ray status' shows it{token}"
            ) from error
        return True

    def _work(self, job: ShardJob, remaining: list[Shard], stopped: Stopped) -> Iterator[Manifest]:
        kind = ray.remote(num_cpus=1)(_Actor)
        lost: dict[Shard, int] = {}
        working: dict[Any, tuple[Any, Shard]] = {}
        jobs = self.jobs if self.jobs is not None else int(ray.cluster_resources().get("CPU", 1))
        idle = [kind.remote(job) for _ in range(max(1, min(jobs, len(remaining))))]
        remaining.reverse()
        try:
            while remaining or working:
                if stopped():
                    return
                while remaining and idle:
                    actor, shard = idle.pop(), remaining.pop()
                    working[actor.evaluate.remote(shard)] = actor, shard
                # Idle actors make room for actors that wait for a core.
                _dismiss(idle)
                done, _ = ray.wait(list(working), timeout=0.1)
                for task in done:
                    actor, shard = working.pop(task)
                    try:
                        manifest = ray.get(task)
                    except RayActorError:
                        # Its node is gone, or was short of memory: retry the shard on a new actor.
                        lost[shard] = lost.get(shard, 0) + 1
                        if lost[shard] == _ATTEMPTS:
                            raise
                        idle.append(kind.remote(job))
                        remaining.append(shard)
                        continue
                    idle.append(actor)
                    if manifest is not None:
                        yield manifest
        finally:
            _dismiss(idle)
            _dismiss([actor for actor, _ in working.values()])


_WANTED = (
    "\n  if the cluster wants a token: set RAY_AUTH_MODE=token, "
    "and RAY_AUTH_TOKEN or ~/.ray/auth_token"
)


def _dismiss(actors: list[Any]) -> None:
    """Kill these actors, and empty the list."""
    while actors:
        with contextlib.suppress(RayError, ConnectionError):
            ray.kill(actors.pop())


def _probe(address: str) -> None:
    """Raise `ExecutorError` if nothing listens; skip an address without a port."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ExecutorError(f"{address!r} is not the address of a cluster ({error})") from error
    if host is None or port is None:
        return
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        raise ExecutorError(
            f"no Ray cluster can be joined at {address} ({error.strerror or error})\n"
            "  is it running, and is the port that of its clients (10001) or of its head (6379)?"
        ) from error
