"""Vectors of a shard's prompts: computed once, as int8 in a file that is mapped into memory."""

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
from guardtui.scanners.local.matrix import CompactMatrix, compact
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import rounded
from guardtui.shards.large_set import Advance, LargeSet, Stopped
from guardtui.shards.leftovers import write_shared
from guardtui.shards.shard import Shard

_SLICE = 4096  # prompts whose vectors are held before they are written
_LOOKED_AT = 16  # prompts of a shard whose terms are computed anew


def keys_digest(keys: NDArray[np.uint64]) -> str:
    """Sha256 (64 hex digits) of the keys of some prompts, in their order."""
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
    """The vectors of a shard, whose prompts have these keys (uint64 [n]); None when stopped.

    From the files where these are of the same prompts and encoder, else computed and kept.
    `advance` is told how many prompts are embedded. Raises FileError and ScannerError.
    """
    encoder, _, _ = scanner.load()
    folder = large.folder / f"vectors-{encoder.id}"
    about = {"encoder": encoder.id, "keys_sha256": keys_digest(keys), "rows": len(keys)}
    if (there := _mapped(folder, shard, about, scanner)) is not None:
        advance(len(keys))
        return there
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = _compute(large, shard, scanner, folder, advance, stopped)
    except OSError as error:
        raise from_os_error(folder, error) from error
    if not done:
        return None
    # Written last: without it the other two files count for nothing.
    told = {**about, "terms_sha256": _digest(folder / f"{shard.name}.terms.npy")}
    write_shared(folder / f"{shard.name}.json", json.dumps(told).encode())
    if (made := _mapped(folder, shard, about, scanner)) is None:
        raise FileError(
            folder / f"{shard.name}.json",
            "these vectors were changed while they were written",
            "run it again",
        )
    return made


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _mapped(
    folder: Path, shard: Shard, about: dict[str, object], scanner: LocalScanner
) -> PromptVectors | None:
    """What is there, if it is what is asked for."""
    encoder, scoring, _ = scanner.load()
    dimensions = encoder.dimensions
    try:
        told = json.loads((folder / f"{shard.name}.json").read_bytes())
        if any(told[name] != value for name, value in about.items()):
            return None
        if told.get("terms_sha256") not in (None, _digest(folder / f"{shard.name}.terms.npy")):
            return None
        count = told["rows"]
        if not count:  # an empty file cannot be mapped
            none = np.empty(0, np.float32)
            return PromptVectors(CompactMatrix(0, dimensions), none)
        values = np.load(folder / f"{shard.name}.values.npy", mmap_mode="r", allow_pickle=False)
        scales, terms = np.load(folder / f"{shard.name}.terms.npy", allow_pickle=False)
    except (OSError, EOFError, ValueError, KeyError, TypeError, SyntaxError):
        return None
    if values.shape != (count, dimensions) or len(scales) != count:
        return None
    # To read all of them would cost as much as to use them: some tell whose they are.
    some = np.linspace(0, count - 1, min(count, _LOOKED_AT)).astype(np.intp)
    if not np.allclose(scoring.compact_prompt_terms(values[some], scales[some]), terms[some]):
        return None
    return PromptVectors(CompactMatrix.of(values, scales), terms)


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
    terms = np.empty((2, count), np.float32)  # scale and prompt term of each
    about = {"descr": "|i1", "fortran_order": False, "shape": (count, encoder.dimensions)}
    # Written, not mapped: on a full disk a mapping would end the process without a word.
    path = folder / f"{shard.name}.values.npy"
    with _replacing(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, about)
        for start in range(0, count, _SLICE):
            part = texts[start : start + _SLICE].to_list()
            # Texts of like length in one batch spare the padding.
            order = sorted(range(len(part)), key=lambda place: len(part[place]))
            vectors = np.empty((len(part), encoder.dimensions), np.float32)
            for first in range(0, len(order), encoder.chunk):
                if stopped():
                    temporary.unlink(missing_ok=True)
                    return False
                places = order[first : first + encoder.chunk]
                vectors[places] = rounded(encoder.encode([part[place] for place in places]))
                advance(start + first + len(places))
            rows = slice(start, start + len(part))
            small, scales = compact(vectors)
            file.write(small.tobytes())
            terms[0, rows] = scales
            terms[1, rows] = scoring.compact_prompt_terms(small, scales)
    with _replacing(folder / f"{shard.name}.terms.npy") as temporary, temporary.open("wb") as file:
        np.save(file, terms, allow_pickle=False)
    return True


class _replacing(contextlib.AbstractContextManager[Path]):  # noqa: N801 - used as a function is
    """A name to write under, renamed when all went well and removed when not."""

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
