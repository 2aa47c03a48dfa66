"""Options of the embedded scanner."""

from __future__ import annotations

from guardtui.scanners.options import COMPANIONS, OptionKind, ScannerOption

ENCODERS = ("pair", "minilm", "static")
"""Names of the encoders, the default first."""

ENCODER = ScannerOption(
    "--encoder",
    "encoder",
    "Encoder of the engine: pair (16 languages; the default), minilm (English) or "
    "static (fastest).",
    choices=ENCODERS,
)

THRESHOLD = ScannerOption(
    "--threshold",
    "threshold",
    "Minimum score of a match: a number between 0 and 1, shipped, or fitted (to the labels). "
    "Default: that of the topic's session; else fitted, if each class has 10 labels.",
    "X",
    OptionKind.THRESHOLD,
)

ENGINE = (ENCODER, THRESHOLD)
"""Options of the engine, for all commands that run it."""

OPTIONS = (*ENGINE, COMPANIONS)
