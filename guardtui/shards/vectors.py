"""Vectors of a shard's prompts: computed once, stored as int8 in a memory-mapped file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.files.problems import FileError, from_os_error
from guardtui.scanners.local.embedding import PromptVectors
from guardtui.scanners.local.matrix import (
    CompactMatrix,
    compact,
    stretched,
    unstretched,
)
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import rounded
from guardtui.shards.large_set import Advance, LargeSet, Stopped
from guardtui.shards.leftovers import write_shared
from guardtui.shards.shard import Shard

_SLICE = 4096  # prompts whose vectors are held in memory before writing
_LOOKED_AT = 16  # prompts of a shard whose terms are recomputed as a check


def keys_digest(keys: NDArray[np.uint64]) -> str:
    """Return the SHA-256 (64 hex digits) of the keys of some prompts, in order."""
    return hashlib.sha256(keys.tobytes()).hexdigest()


def stored_vectors(
    large: LargeSet,
    shard: Shard,
    scanner: LocalScanner,
    keys: NDArray[np.uint64],
    *,
    advance: Advance = lambda prompts: None,
    stopped: Stopped = lambda: False,
) -> PromptVectors | None:
    """Return the vectors of a shard with these keys (uint64 [n]); None if stopped.

    They are read from files for the same prompts and encoder, or computed and stored. `advance` is
    called with the number of embedded prompts. Raises FileError and ScannerError.
    """
    encoder, _, _ = scanner.load()
    folder = large.folder / f"vectors-{encoder.id}"
    record = {"encoder": encoder.id, "keys_sha256": keys_digest(keys), "rows": len(keys)}
    if (stored := _mapped(folder, shard, record, scanner)) is not None:
        advance(len(keys))
        return stored
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = _compute(large, shard, scanner, folder, advance, stopped)
    except OSError as error:
        raise from_os_error(folder, error) from error
    if not done:
        return None
    # Written last: without it the other two files are ignored.
    data = {**record, "terms_sha256": _digest(folder / f"{shard.name}.terms.npy")}
    write_shared(folder / f"{shard.name}.json", json.dumps(data).encode())
    if (vectors := _mapped(folder, shard, record, scanner)) is None:
        raise FileError(
            folder / f"{shard.name}.json",
            "these vectors were changed while they were written",
            "run it again",
        )
    return vectors


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _mapped(
    folder: Path, shard: Shard, record: dict[str, object], scanner: LocalScanner
) -> PromptVectors | None:
    """Return the stored vectors if they match."""
    encoder, scoring, _ = scanner.load()
    dimensions = encoder.dimensions
    try:
        data = json.loads((folder / f"{shard.name}.json").read_bytes())
        if any(data[name] != value for name, value in record.items()):
            return None
        if data.get("terms_sha256") not in (None, _digest(folder / f"{shard.name}.terms.npy")):
            return None
        count = data["rows"]
        if not count:  # an empty file cannot be mapped
            no_terms = np.empty(0, np.float32)
            return PromptVectors(CompactMatrix(0, dimensions), no_terms)
        values = np.load(folder / f"{shard.name}.values.npy", mmap_mode="r", allow_pickle=False)
        scales, terms = np.load(folder / f"{shard.name}.terms.npy", allow_pickle=False)
    except (OSError, EOFError, ValueError, KeyError, TypeError, SyntaxError):
        return None
    if values.shape != (count, dimensions) or len(scales) != count:
        return None
    # Reading all would cost as much as using them: check a few.
    checked = np.linspace(0, count - 1, min(count, _LOOKED_AT)).astype(np.intp)
    unit = unstretched(values[checked], scales[checked], scoring.english_columns)
    if not np.allclose(scoring.compact_prompt_terms(values[checked], unit), terms[checked]):
        return None
    return PromptVectors(CompactMatrix.of(values, scales, scoring.english_columns), terms)


def _compute(
    large: LargeSet,
    shard: Shard,
    scanner: LocalScanner,
    folder: Path,
    advance: Advance,
    stopped: Stopped,
) -> bool:
    encoder, scoring, _ = scanner.load()
    texts = large.read_rows(shard, ["prompt"])["prompt"]
    count = len(texts)
    if not count:
        return True
    terms = np.empty((2, count), np.float32)  # scale and prompt term of each prompt
    header = {"descr": "|i1", "fortran_order": False, "shape": (count, encoder.dimensions)}
    # Written, not mapped: on a full disk a mapping would crash the process.
    path = folder / f"{shard.name}.values.npy"
    with _replacing(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, count, _SLICE):
            part = texts[start : start + _SLICE].to_list()
            # Batches of similar text lengths need less padding.
            order = sorted(range(len(part)), key=lambda index: len(part[index]))
            vectors = np.empty((len(part), encoder.dimensions), np.float32)
            for first in range(0, len(order), encoder.chunk):
                if stopped():
                    temporary.unlink(missing_ok=True)
                    return False
                batch = order[first : first + encoder.chunk]
                vectors[batch] = rounded(encoder.encode([part[index] for index in batch]))
                advance(start + first + len(batch))
            rows = slice(start, start + len(part))
            small, scales = compact(vectors)
            file.write(small.tobytes())
            terms[0, rows] = stretched(small, scales, scoring.english_columns)[1]
            terms[1, rows] = scoring.compact_prompt_terms(small, scales)
    with _replacing(folder / f"{shard.name}.terms.npy") as temporary, temporary.open("wb") as file:
        np.save(file, terms, allow_pickle=False)
    return True


class _replacing(contextlib.AbstractContextManager[Path]):  # noqa: N801 - used as a function is
    """Temporary file name, renamed on success and removed on failure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")

    def __enter__(self) -> Path:
        return self._temporary

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._temporary.exists():
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)
