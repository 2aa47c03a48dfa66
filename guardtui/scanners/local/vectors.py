"""Vectors of prompts on disk: computed once, bounded, shared by processes, ignored if damaged."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from guardtui.scanners.local.encoder import Encoder

LIMIT_BYTES = 2 * 1024**3
"""Default bound of the cache file; the oldest vectors go first."""

_LOOK_UP = 500  # keys in one query, which must not block the interpreter for long
_CALM = 5  # nice value of threads that embed behind a screen
_FREE_SHARE = 0.8  # a full cache is emptied down to this share of its limit

Floats: TypeAlias = "NDArray[np.float32]"
_Result = TypeVar("_Result")


def cache_folder() -> Path:
    """Return the folder of cached data: GUARDTUI_CACHE, or that of the system."""
    if named := os.environ.get("GUARDTUI_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("guardtui", appauthor=False)


def text_key(text: str) -> bytes:
    """Return the key of a text, a hash of 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def rounded(vectors: Floats) -> Floats:
    """Return vectors rounded as in the cache: new and cached ones must score alike."""
    return vectors.astype(np.float16).astype(np.float32)


class VectorCache:
    """Vectors by encoder and text in one SQLite file (WAL: readers and writers do not wait).

    Failures of the file (damage, a full disk, a read-only folder) are not raised: a vector is then
    not cached. A damaged file is deleted and created again.
    """

    def __init__(self, folder: Path, encoder_id: str, dimensions: int, limit: int = LIMIT_BYTES):
        self._file = folder / f"vectors-{encoder_id}.sqlite3"
        self._dimensions = dimensions
        self._limit = limit
        self._works = self._prepare()

    @property
    def works(self) -> bool:
        """Return whether the file can be used."""
        return self._works

    def _prepare(self) -> bool:
        """Create the file, or a new one in the place of a damaged one; return whether it works."""
        for _ in range(2):
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with self._connection() as database:
                    database.execute("PRAGMA journal_mode=WAL")
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS vectors(number INTEGER PRIMARY KEY,"
                        " key BLOB UNIQUE NOT NULL, vector BLOB NOT NULL)"
                    )
                    database.execute("SELECT key, vector FROM vectors WHERE number < 2").fetchone()
                return True
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    return False
                self._forget()
            except OSError:
                return False
        return False

    def _failed(self, error: Exception) -> None:
        """Replace the file if it is damaged; otherwise it is no longer used."""
        damaged = _is_damage(error)
        if damaged:
            self._forget()
        self._works = damaged and self._prepare()

    def _forget(self) -> None:
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{self._file}{ending}").unlink()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._file, timeout=5)
        try:
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute("PRAGMA cache_size=-32768")  # KiB, for the index of many keys
            with database:
                yield database
        finally:
            database.close()

    def read(self, keys: Sequence[bytes], into: Floats) -> list[int]:
        """Fill rows of `into` ([n, d]) for cached keys; return the positions of the others."""
        missing: list[int] = []
        if not self._works:
            return list(range(len(keys)))
        size = self._dimensions * 2
        try:
            with self._connection() as database:
                for start in range(0, len(keys), _LOOK_UP):
                    part = keys[start : start + _LOOK_UP]
                    marks = ",".join("?" * len(part))
                    rows = database.execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})",  # noqa: S608
                        part,
                    ).fetchall()
                    cached = {
                        key: vector
                        for key, vector in rows
                        if isinstance(vector, bytes) and len(vector) == size
                    }
                    for position, key in enumerate(part, start):
                        vector = cached.get(key)
                        if vector is None:
                            missing.append(position)
                        else:
                            into[position] = np.frombuffer(vector, np.float16)
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._failed(error)
            return list(range(len(keys)))
        # A damaged page can give vectors that are not of unit length: they are computed again.
        known = np.ones(len(keys), bool)
        known[missing] = False
        lengths = np.einsum("ij,ij->i", into, into)
        spoilt = known & ~(np.abs(lengths - 1) < 0.02)
        return sorted([*missing, *np.flatnonzero(spoilt).tolist()])

    def write(self, keys: Sequence[bytes], vectors: Floats) -> None:
        """Store vectors ([n, d]) by their keys; a failure is not raised."""
        if not self._works:
            return
        halves = vectors.astype(np.float16)
        rows = ((key, half.tobytes()) for key, half in zip(keys, halves, strict=True))
        try:
            with self._connection() as database:
                database.executemany(
                    "INSERT OR REPLACE INTO vectors(key, vector) VALUES (?, ?)", rows
                )
                self._bound(database)
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._failed(error)

    def _bound(self, database: sqlite3.Connection) -> None:
        row_bytes = self._dimensions * 2 + 60
        (count,) = database.execute(
            "SELECT coalesce(max(number) - min(number) + 1, 0) FROM vectors"
        ).fetchone()
        if count * row_bytes > self._limit:
            stay = int(self._limit * _FREE_SHARE) // row_bytes
            database.execute(
                "DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?",
                (stay,),
            )


_DAMAGE = {
    sqlite3.SQLITE_ERROR,  # other tables
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_NOTADB,
}


def _is_damage(error: Exception) -> bool:
    """Return whether the content of the file is the cause, and not the disk or another process."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
    return isinstance(error, UnicodeDecodeError)  # raised for damaged names of tables


class EncodeChunks(Protocol):
    """Embeds texts in chunks, somewhere."""

    def __call__(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        *,
        stopped: Callable[[], bool],
        behind: bool = False,
    ) -> Iterator[tuple[list[int], Floats]]:
        """Yield positions in `texts` with their vectors [n, d], rounded; ends early if stopped.

        A vector depends on its text alone, and not on the chunk. With `behind`, threads of this
        process have a low priority, so that others, such as the screen, come first.
        """


def encode_chunks(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    stopped: Callable[[], bool],
    behind: bool = False,
) -> Iterator[tuple[list[int], Floats]]:
    """Embed in threads of this process; see `EncodeChunks`.

    Each core works on a chunk; the encoders release the interpreter while they compute.
    """
    chunks = chunks_of(encoder, texts)

    def vectors(rows: list[int]) -> Floats:
        return rounded(encoder.encode([texts[row] for row in rows]))

    workers = min(len(chunks), cores())
    if workers < 2:
        for rows in chunks:
            if stopped():
                return
            yield rows, vectors(rows)
        return
    calm = _yield_to_others if behind else None
    with ThreadPoolExecutor(workers, thread_name_prefix="encoder", initializer=calm) as pool:
        yield from in_order(chunks, lambda rows: pool.submit(vectors, rows), workers, stopped)


def chunks_of(encoder: Encoder, texts: Sequence[str]) -> list[list[int]]:
    """Return the positions of texts, in chunks for the encoder."""
    # Texts of similar length in one chunk make larger batches of equal length.
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    return [order[start : start + encoder.chunk] for start in range(0, len(order), encoder.chunk)]


def in_order(
    chunks: Iterable[list[int]],
    submit: Callable[[list[int]], Future[_Result]],
    ahead: int,
    stopped: Callable[[], bool],
) -> Iterator[tuple[list[int], _Result]]:
    """Yield chunks with their results in order, with `ahead` more submitted; early if stopped."""
    waiting: deque[tuple[list[int], Future[_Result]]] = deque()
    for rows in chunks:
        if stopped():
            break
        waiting.append((rows, submit(rows)))
        if len(waiting) > ahead:
            rows, job = waiting.popleft()
            yield rows, job.result()
    while waiting:
        rows, job = waiting.popleft()
        if not (stopped() and job.cancel()):  # chunks in work are finished
            yield rows, job.result()


def _yield_to_others() -> None:
    """Give this thread a lower priority, if the system has priorities of threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _CALM)


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
