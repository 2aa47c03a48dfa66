"""The engine for a command, with the threshold for its topic and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.domain.evaluation import should_trigger
from guardtui.domain.operating_point import (
    BUILT_IN,
    FITTED,
    OperatingPointError,
    Threshold,
    Wanted,
    require_classes,
)
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import EncodeChunks, encode_chunks

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.scanners.base import Progress


def show_progress(now: Progress) -> None:
    """Show the progress of the engine on standard error."""
    diagnostics.progress(f"{now.phase} {now.done}/{now.total}")


def unfittable(reason: ValueError) -> OperatingPointError:
    """Return the error that a threshold cannot be fitted, with its remedy."""
    return OperatingPointError(
        f"the threshold cannot be fitted: {reason}\n"
        "  label more prompts, or use --threshold built-in or a number"
    )


def settled_engine(
    encoder: str | None,
    wanted: Wanted,
    topic: Topic,
    prompts: PromptSet,
    encode: EncodeChunks = encode_chunks,
) -> LocalScanner:
    """Return the engine with the wanted threshold for these prompts.

    By default it is fitted to the labels at each definition, or, with too few of them, the built-in
    one. `encode` embeds prompts that are not cached. Raises `OperatingPointError` if a fitted one
    is wanted and there are too few.
    """
    if wanted == FITTED:
        try:
            require_classes(should_trigger(prompts.expected, topic.intent))
        except ValueError as reason:
            raise unfittable(reason) from reason
    if wanted == BUILT_IN:
        wanted_threshold: Threshold = None
    else:
        wanted_threshold = FITTED if wanted is None else wanted
    return LocalScanner(encoder or ENCODERS[0], wanted_threshold, encode=encode)
