"""How this process collects and keeps memory: each collection stops the screen."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_THRESHOLDS = (5_000, 10, 1_000)
_LARGE = 256 * 1024
_M_MMAP_THRESHOLD = -3  # in glibc's malloc.h


def prepare_memory() -> None:
    """Make full collections rare, and return large blocks; called before the app is imported.

    A collection holds the interpreter, and a full one walks every object: with the default
    thresholds it stopped the screen for 131 ms in the loop with 100 000 rows. With these no full
    collection came, and the longest other one took 9 ms. Imports make many objects too, all of
    which stay: the default thresholds walk them over and over.

    glibc keeps ever larger blocks that were freed once, such as those of the weights: a fifth of
    the memory with 50 000 prompts. Other libraries than glibc are left as they are.
    """
    gc.set_threshold(*_THRESHOLDS)
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
