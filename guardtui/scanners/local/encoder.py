"""What turns texts into vectors: the protocol of the encoders, and loading one by name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from guardtui.domain.errors import GuardtuiError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODERS = ("pair", "minilm", "static")
"""Names that `load_encoder` knows, the default first."""

WEIGHTS = Path(__file__).parent / "weights"
"""The folder of the shipped weights files."""


class EncoderError(GuardtuiError):
    """An encoder cannot be loaded; the message is meant for the author."""


class Encoder(Protocol):
    """Texts to unit vectors. Safe to call from several threads at once."""

    @property
    def id(self) -> str:
        """Name, version and a short hash of the weights: equal ids give equal vectors."""

    @property
    def name(self) -> str:
        """The name that `load_encoder` knows it by."""

    @property
    def dimensions(self) -> int:
        """Columns of a vector."""

    @property
    def chunk(self) -> int:
        """Texts in one call of `encode` between two looks at whether to stop: below 0.5 s."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows [n, dimensions]. Never fails on odd text; long text is cut to the window."""


def load_encoder(name: str, *, threads: int = 1) -> Encoder:
    """The encoder of this name, ready to use; loading it twice gives the same object.

    `threads` is the number of threads that one call of `encode` may use (not static).
    Raises `EncoderError` for an unknown name, and for a weights file that is missing or damaged.
    """
    if name == "minilm":
        return _minilm(threads)
    if name == "pair":
        return _pair(threads)
    if name == "static":
        return _static()
    raise EncoderError(f"unknown encoder {name!r}: choose one of {', '.join(ENCODERS)}")


@cache
def _minilm(threads: int) -> Encoder:
    from guardtui.scanners.local.minilm import MiniLM

    return MiniLM(WEIGHTS, threads=threads)


@cache
def _pair(threads: int) -> Encoder:
    from guardtui.scanners.local.pair import Pair

    return Pair(WEIGHTS, threads=threads)


@cache
def _static() -> Encoder:
    from guardtui.scanners.local.static import Static

    return Static(WEIGHTS)


def checked_bytes(folder: Path, name: str) -> tuple[bytes, str]:
    """Content of a weights file and its sha256, once it equals the one recorded at build time.

    Raises `EncoderError` when the file or the record is missing, unreadable or different.
    """
    try:
        recorded = json.loads((folder / "provenance.json").read_text("utf-8"))["files"][name]
        content = (folder / name).read_bytes()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(name) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != recorded:
        raise _damaged(name)
    return content, digest


def _damaged(name: str) -> EncoderError:
    return EncoderError(f"guardtui's encoder file {name} is damaged: reinstall guardtui")


def load_tokenizer(definition: bytes) -> Any:
    """The tokenizer of this definition; raises `EncoderError` when its library is missing."""
    # With its own threads it would take the second core from the screen, and it prints a warning
    # into the terminal when the process forks after it has used them.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EncoderError("the encoders need tokenizers: reinstall guardtui") from error
    return Tokenizer.from_str(definition.decode("utf-8"))


def load_session(model: bytes, threads: int) -> Any:
    """The onnxruntime session of a model; raises `EncoderError` when the library is missing.

    `threads` is the number of threads that one run may use.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise EncoderError("the encoders need onnxruntime: reinstall guardtui") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between runs would take the processor from the screen.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def equal_lengths(tokens: Sequence[Sequence[int]], at_most: int) -> Iterator[list[int]]:
    """Rows of texts with equally many tokens, at most so many tokens at a time.

    Nothing is padded, so that a text's vector does not depend on the texts in its batch.
    """
    rows: dict[int, list[int]] = {}
    for row, ids in enumerate(tokens):
        rows.setdefault(len(ids), []).append(row)
    for length, members in rows.items():
        size = max(1, at_most // length)
        for start in range(0, len(members), size):
            yield members[start : start + size]


def clean_text(text: str, limit: int) -> str:
    """The first `limit` characters, with what UTF-8 cannot carry as "?", one for one.

    Offsets into the result are offsets into the original, which the explanation relies on.
    """
    part = text[:limit]
    if part.isascii():
        return part
    return part.encode("utf-8", "replace").decode("utf-8")
