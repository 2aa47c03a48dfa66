"""Thresholds of Python's garbage collector: each collection stops the screen."""

from __future__ import annotations

import gc

_THRESHOLDS = (5_000, 10, 1_000)


def make_full_collections_rare() -> None:
    """Set the collector's thresholds for this process; called before the app is imported.

    A collection holds the interpreter, and a full one walks every object: with the default ones
    it stopped the screen for 131 ms in the loop with 100 000 rows. With these no full collection
    came, and the longest other one took 9 ms. Imports make many objects too, all of which stay: the
    default thresholds walk them over and over.
    """
    gc.set_threshold(*_THRESHOLDS)
