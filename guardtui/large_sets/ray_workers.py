"""Workers of a Ray cluster: each chunk of texts is a task, which Ray schedules and retries."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

# Ray's default without accelerators, set to avoid its announcement.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayError, RayTaskError

from guardtui.large_sets.workers import AHEAD, ONE_THREAD, WorkersError, encode_half

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.scanners.local.encoder import Encoder
    from guardtui.scanners.local.vectors import EncodeChunks

_RETRIES = 3
"""Times that Ray repeats a chunk whose worker was lost."""

_PATIENCE = 5.0
"""Seconds in which the cluster must answer; Ray itself would wait for minutes."""

_WANTED = (
    "\n  if the cluster wants a token: set RAY_AUTH_MODE=token, "
    "and RAY_AUTH_TOKEN or ~/.ray/auth_token"
)


@contextmanager
def ray_workers(address: str = "") -> Iterator[EncodeChunks]:
    """Tasks on a cluster, or on one that is started on this machine without an address.

    `address` is that of a cluster, as `ray://head:10001` or `auto`, which is joined at the first
    chunk. Its nodes need the same version of guardtui; they see no file of this machine. What is
    yielded raises `WorkersError`.
    """
    task: Any = None
    joined = False

    def encode_chunks(
        encoder: Encoder,
        texts: Sequence[str],
        *,
        stopped: Callable[[], bool],
        behind: bool = False,
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        import numpy as np

        from guardtui.scanners.local.vectors import chunks_of, in_order

        nonlocal task, joined
        try:
            if task is None:
                if not ray.is_initialized():
                    _join(address)
                    joined = True
                task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_encode)
            remote, name, weights = task.remote, encoder.name, encoder.id
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            for rows, halves in in_order(
                chunks_of(encoder, texts),
                lambda rows: remote(name, weights, [texts[row] for row in rows]).future(),
                AHEAD * cores,
                stopped,
            ):
                yield rows, halves.astype(np.float32)
        except RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise WorkersError(
                    f"a node of the cluster cannot import guardtui as it is here ({error.cause})\n"
                    "  install the same version on every node"
                ) from error
            # Raise the worker's error as if it had happened here.
            raise error.cause from error
        except (RayError, ConnectionError) as error:
            raise WorkersError(
                f"the cluster gave up ({type(error).__name__})\n"
                "  finished prompts are cached: run it again"
            ) from error

    try:
        yield encode_chunks
    finally:
        if joined:
            ray.shutdown()


def _join(address: str) -> None:
    """Join or start a cluster. Raises `WorkersError`."""
    if address:
        _probe(address)
    own = {} if address else {"include_dashboard": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"env_vars": ONE_THREAD},
                **own,
            )
    except Exception as error:  # ray raises many kinds here
        raise _not_joined(address, error) from error


def _encode(name: str, weights: str, texts: Sequence[str]) -> NDArray[np.float16]:
    """Embed on a node of the cluster, by an encoder of this name and id."""
    from guardtui.scanners.local.encoder import load_encoder

    if load_encoder(name).id != weights:
        raise WorkersError(
            "a node of the cluster has other weights of the engine\n"
            "  install the same version of guardtui on every node"
        )
    return encode_half(name, texts)


def _not_joined(address: str, error: Exception) -> WorkersError:
    message = str(error).strip().partition("\n")[0][:200]
    # Ray sends its token to a cluster at a given address only if configured to.
    token = "" if os.environ.get("RAY_AUTH_MODE") else _WANTED
    return WorkersError(
        f"no Ray cluster can be joined at {address or 'this machine'} "
        f"({type(error).__name__}: {message})\n"
        "  is it running, with the same versions of ray and Python as this machine? "
        f"'ray status' shows it{token}"
    )


def _probe(address: str) -> None:
    """Raise `WorkersError` if nothing listens; skip an address without a port."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise WorkersError(f"{address!r} is not the address of a cluster ({error})") from error
    if host is None or port is None:
        return
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        raise WorkersError(
            f"no Ray cluster can be joined at {address} ({error.strerror or error})\n"
            "  is it running, and is the port that of its clients (10001) or of its head (6379)?"
        ) from error
