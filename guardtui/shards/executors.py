"""Executors that evaluate shards: in this process, in several processes, or on a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from guardtui.domain.errors import GuardtuiError
from guardtui.shards.large_set import Stopped
from guardtui.shards.shard import Shard

if TYPE_CHECKING:
    from guardtui.shards.parts import Manifest
    from guardtui.shards.work import ShardJob, Worker

_BUILT_IN = {
    "serial": "guardtui.shards.executors:Serial",
    "processes": "guardtui.shards.executors:Processes",
    "ray": "guardtui.shards.ray_executor:RayExecutor",
}

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment of workers: each keeps to one core, because there are many."""


class ExecutorError(GuardtuiError):
    """Shards cannot be evaluated in this way; the message is for the author."""


class Executor(Protocol):
    """Evaluates the shards of a job."""

    def run(
        self, job: ShardJob, shards: Sequence[Shard], stopped: Stopped = lambda: False
    ) -> Iterator[Manifest]:
        """Yield manifests as they are finished, in any order; fewer if stopped.

        Finished parts are on disk, and the next run does not repeat them. Raises ExecutorError,
        FileError, ScannerError and ShardError.
        """


def make_executor(name: str, jobs: int | None = 1, address: str | None = None) -> Executor:
    """Create an executor by name, with this number of workers; `address` is that of a cluster.

    With `jobs` None there is one worker per core of this machine, or of the cluster. Raises
    `ExecutorError` for an unknown name, or if its package is not installed.
    """
    if name not in _BUILT_IN:
        raise ExecutorError(f"unknown executor {name!r}: choose one of {', '.join(_BUILT_IN)}")
    module, kind = _BUILT_IN[name].split(":")
    try:
        if jobs is None and (address is None or name != "ray"):
            jobs = os.cpu_count() or 1
        executor: Executor = getattr(import_module(module), kind)(jobs, address)
    except ImportError as error:
        raise ExecutorError(
            f"the package {error.name or name} is missing, which the executor {name} needs\n"
            f"  pip install 'guardtui[{name}]'"
        ) from error
    return executor


@dataclass(frozen=True)
class Serial:
    """Evaluates one shard after the other in this process."""

    jobs: int = 1
    address: str | None = None

    def run(
        self, job: ShardJob, shards: Sequence[Shard], stopped: Stopped = lambda: False
    ) -> Iterator[Manifest]:
        """See `Executor`."""
        worker = job.worker()
        for shard in shards:
            manifest = worker.evaluate(shard, stopped)
            if manifest is None:
                return
            yield manifest


@dataclass(frozen=True)
class Processes:
    """Evaluates shards in several processes on this machine, each with its own encoder."""

    jobs: int = 2
    address: str | None = None

    def run(
        self, job: ShardJob, shards: Sequence[Shard], stopped: Stopped = lambda: False
    ) -> Iterator[Manifest]:
        """See `Executor`."""
        import multiprocessing

        # A fork would copy locks that threads of this process hold.
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        count = max(1, min(self.jobs, len(shards)))
        with _environment(ONE_THREAD):
            pool = ProcessPoolExecutor(count, context, _begin, (job, stop))
            waiting: set[Future[Manifest | None]] = {
                pool.submit(_evaluate, shard) for shard in shards
            }
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    manifest = future.result()
                    if manifest is not None:
                        yield manifest
                if stopped():
                    return
        except BrokenProcessPool as error:
            raise ExecutorError(
                "a worker ended during its work; was memory exhausted?\n"
                "  finished shards are kept: run it again, if necessary with fewer --jobs"
            ) from error
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes started in this context."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# State of a worker process: created once, used for all its shards.
_job: ShardJob | None = None
_worker: Worker | None = None
_stop: Any = None


def _begin(job: ShardJob, stop: Any) -> None:
    import signal
    from threading import Thread

    global _job, _stop
    Thread(target=_leave_with_parent, daemon=True).start()
    # An interrupt is handled by the main process, which stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _job, _stop = job, stop


def _leave_with_parent() -> None:
    """End this process when its parent has ended, even if that was killed.

    Otherwise it would wait for work forever: it holds its own pipe open.
    """
    import multiprocessing

    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _evaluate(shard: Shard) -> Manifest | None:
    global _worker
    if _job is None:
        raise RuntimeError("no job was started")
    if _stop.is_set():
        return None
    if _worker is None:
        # Not in _begin: errors there are reported as a broken pool.
        _worker = _job.worker()
    return _worker.evaluate(shard, _stop.is_set)
