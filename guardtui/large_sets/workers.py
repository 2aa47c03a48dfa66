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
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from guardtui.domain.errors import GuardtuiError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.scanners.local.encoder import Encoder
    from guardtui.scanners.local.vectors import EncodeChunks

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


@contextmanager
def processes(jobs: int) -> Iterator[EncodeChunks]:
    """Several processes on this machine, each with its own encoder, started at the first chunk.

    What is yielded raises `WorkersError`.
    """
    pool: ProcessPoolExecutor | None = None

    def encode_chunks(
        encoder: Encoder,
        texts: Sequence[str],
        *,
        stopped: Callable[[], bool],
        behind: bool = False,
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        import multiprocessing

        import numpy as np

        from guardtui.scanners.local.vectors import chunks_of, in_order

        nonlocal pool
        if pool is None:
            # A fork would copy locks that threads of this process hold.
            pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin)
        submit, name = pool.submit, encoder.name
        try:
            for rows, halves in in_order(
                chunks_of(encoder, texts),
                lambda rows: submit(encode_half, name, [texts[row] for row in rows]),
                AHEAD * jobs,
                stopped,
            ):
                yield rows, halves.astype(np.float32)
        except BrokenProcessPool as error:
            raise WorkersError(
                "a worker ended during its work; was memory exhausted?\n"
                "  finished prompts are cached: run it again, if necessary with fewer --jobs"
            ) from error

    try:
        yield encode_chunks
    finally:
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


def make_workers(jobs: int | None, ray: str | None) -> AbstractContextManager[EncodeChunks]:
    """Return workers: Ray's, at an address ("" for this machine), or else `jobs` processes.

    Raises `WorkersError` if Ray is not installed.
    """
    if ray is None:
        return processes(jobs or 1)
    try:
        from guardtui.large_sets.ray_workers import ray_workers
    except ImportError as error:
        raise WorkersError(
            f"the package {error.name or 'ray'} is missing, which --ray needs\n"
            "  pip install 'guardtui[ray]'"
        ) from error
    return ray_workers(ray)


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
