"""Encoders, which turn texts into vectors: their protocol, and loading one by name."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from guardtui.scanners.base import ScannerError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.scanners.local.minilm import MiniLM
    from guardtui.scanners.local.pair import Pair
    from guardtui.scanners.local.static import Static

ENCODERS = ("pair", "minilm", "static")
"""Names for `load_encoder`, the default first."""

WEIGHTS = Path(__file__).parent / "weights"
"""The folder of the shipped weights files."""


class EncoderError(ScannerError):
    """An encoder cannot be loaded; the message is for the author."""


class Encoder(Protocol):
    """Turns texts into unit vectors. Thread-safe."""

    @property
    def id(self) -> str:
        """Name, version and a short hash of the weights: equal ids give equal vectors."""

    @property
    def name(self) -> str:
        """Its name for `load_encoder`."""

    @property
    def dimensions(self) -> int:
        """Columns of a vector."""

    @property
    def chunk(self) -> int:
        """Number of texts per call of `encode`: a call cannot be stopped, and takes below 0.5 s."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions]; long text is cut to the window.

        No text makes it fail. Raises `EncoderError` if the weights cannot be loaded.
        """


def load_encoder(name: str) -> Encoder:
    """Return the encoder of this name, loaded (0.1 to 0.5 s); the same object each time.

    Raises `EncoderError` for an unknown name, and for a weights file that is missing or damaged.
    """
    with _LOADING:
        return _loaded(name)


_LOADING = threading.Lock()


@cache
def _loaded(name: str) -> Encoder:
    return _kind(name)(WEIGHTS)


def _kind(name: str) -> type[MiniLM | Pair | Static]:
    if name == "minilm":
        from guardtui.scanners.local.minilm import MiniLM

        return MiniLM
    if name == "pair":
        from guardtui.scanners.local.pair import Pair

        return Pair
    if name == "static":
        from guardtui.scanners.local.static import Static

        return Static
    raise EncoderError(f"unknown encoder {name!r}: choose one of {', '.join(ENCODERS)}")


class LazyEncoder:
    """An encoder that is loaded when it first encodes: its id finds cached vectors without it."""

    def __init__(self, name: str) -> None:
        """Read its id. Raises `EncoderError` as `load_encoder`, but for damaged weights."""
        kind = _kind(name)
        self.name, self.dimensions, self.chunk = name, kind.dimensions, kind.chunk
        self.id = encoder_id(WEIGHTS, name, kind.files, kind.version)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions]. Raises `EncoderError` if it cannot be loaded."""
        return load_encoder(self.name).encode(texts)


def encoder_id(folder: Path, name: str, files: Sequence[str], version: int) -> str:
    """Return the name, a short hash of the recorded hashes of its files, and the version."""
    recorded = "".join(_recorded(folder, file) for file in files)
    return f"{name}-{hashlib.sha256(recorded.encode()).hexdigest()[:16]}-{version}"


def checked_file(folder: Path, name: str) -> Path:
    """Return the path of a weights file, after a check of its sha256 against the record.

    Raises `EncoderError` if the file or the record is missing or unreadable, or if they differ.
    """
    recorded, path = _recorded(folder, name), folder / name
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _damaged(name) from error
    if digest != recorded:
        raise _damaged(name)
    return path


def checked_bytes(folder: Path, name: str) -> bytes:
    """Return the content of a weights file; see `checked_file`."""
    return checked_file(folder, name).read_bytes()


def _recorded(folder: Path, name: str) -> str:
    try:
        record = json.loads((folder / "provenance.json").read_text("utf-8"))
        return str(record["files"][name])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(name) from error


def _damaged(name: str) -> EncoderError:
    return EncoderError(f"guardtui's encoder file {name} is damaged: reinstall guardtui")


def load_tokenizer(definition: bytes) -> Any:
    """Return the tokenizer of a definition. Raises `EncoderError` without its library."""
    # Its own threads would take the second core from the screen, and after a fork of the process
    # they print a warning into the terminal.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return import_library("tokenizers").Tokenizer.from_str(definition.decode("utf-8"))


def import_library(module: str) -> Any:
    """Return a module of a compiled library. Raises `EncoderError` if it cannot be imported."""
    try:
        return import_module(module)
    except Exception as error:
        library = module.partition(".")[0]
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EncoderError(
            f"the encoders need {library}, which cannot be imported: {reason}\n"
            f"  python -m pip install --upgrade --force-reinstall {library}"
        ) from error


def load_session(model: Path) -> Any:
    """Return the onnxruntime session of a model file. Raises `EncoderError` without its library.

    A run uses one thread: several run side by side (`encode_chunks`).
    """
    # Without this, its releases of 2026 report each start to their maker.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    onnxruntime = import_library("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Spinning threads would take the processor from the screen.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    # It would keep a plan of the memory for every length of texts.
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def equal_lengths(tokens: Sequence[Sequence[int]], at_most: int) -> Iterator[list[int]]:
    """Yield rows of texts with the same number of tokens, together at most `at_most` tokens.

    Without padding, a text's vector does not depend on the other texts in its batch.
    """
    rows: dict[int, list[int]] = {}
    for row, ids in enumerate(tokens):
        rows.setdefault(len(ids), []).append(row)
    for length, members in rows.items():
        size = max(1, at_most // length)
        for start in range(0, len(members), size):
            yield members[start : start + size]


def clean_text(text: str, limit: int) -> str:
    """Return the first `limit` characters, with "?" for each that UTF-8 cannot encode.

    Offsets are those of the original, which the explanation relies on.
    """
    part = text[:limit]
    if part.isascii():
        return part
    return part.encode("utf-8", "replace").decode("utf-8")
