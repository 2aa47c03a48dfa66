"""Processes that embed the prompts of a large set, a chunk of texts at a time.

Only embedding is distributed: it is nearly all of the work, and a vector depends on nothing but its
text. Everything else is computed where one process would compute it, so that a report does not
depend on the workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from guardtui.domain.errors import GuardtuiError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.scanners.local.encoder import Encoder

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment of workers: each keeps to one core, because there are many."""

AHEAD = 2
"""Chunks submitted for each worker, so that none waits for the next one."""


class WorkersError(GuardtuiError):
    """Prompts cannot be embedded by these workers; the message is for the author."""


class Workers(Protocol):
    """Embed prompts; started at the first chunk, and ended when the context is left."""

    def __enter__(self) -> Workers: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def encode_chunks(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        *,
        stopped: Callable[[], bool],
        behind: bool = False,
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """See `EncodeChunks`. Raises `WorkersError`."""


class Processes:
    """Several processes on this machine, each with its own encoder."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def encode_chunks(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        *,
        stopped: Callable[[], bool],
        behind: bool = False,
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """See `Workers`."""
        import multiprocessing

        import numpy as np

        from guardtui.scanners.local.vectors import chunks_of, in_order

        if self._pool is None:
            # A fork would copy locks that threads of this process hold.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, spawn, _begin)
        pool, name = self._pool, encoder.name
        try:
            for rows, halves in in_order(
                chunks_of(encoder, texts),
                lambda rows: pool.submit(encode_half, name, [texts[row] for row in rows]),
                AHEAD * self._jobs,
                stopped,
            ):
                yield rows, halves.astype(np.float32)
        except BrokenProcessPool as error:
            raise WorkersError(
                "a worker ended during its work; was memory exhausted?\n"
                "  finished prompts are cached: run it again, if necessary with fewer --jobs"
            ) from error


def make_workers(jobs: int | None, ray: str | None) -> Workers:
    """Return workers: Ray's, at an address ("" for this machine), or else `jobs` processes.

    Raises `WorkersError` if Ray is not installed.
    """
    if ray is None:
        return Processes(jobs or 1)
    try:
        from guardtui.large_sets.ray_workers import RayWorkers
    except ImportError as error:
        raise WorkersError(
            f"the package {error.name or 'ray'} is missing, which --ray needs\n"
            "  pip install 'guardtui[ray]'"
        ) from error
    return RayWorkers(ray)


def encode_half(name: str, texts: Sequence[str]) -> NDArray[np.float16]:
    """Return the vectors [n, d] of texts by the encoder of this name, which is loaded once."""
    import numpy as np

    from guardtui.scanners.local.encoder import load_encoder

    return load_encoder(name).encode(texts).astype(np.float16)


def _begin() -> None:
    """Begin a worker process, before it imports any library that computes."""
    import signal
    from threading import Thread

    os.environ.update(ONE_THREAD)
    Thread(target=_leave_with_parent, daemon=True).start()
    # An interrupt is handled by the main process, which ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_with_parent() -> None:
    """End this process when its parent has ended, even if that was killed.

    Otherwise it would wait for work forever: it holds its own pipe open.
    """
    import multiprocessing

    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
