"""Options of scanners as they declare them: what a command line or a form makes its own from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from typing import Any

SCANNERS = ("local", "airs", "judge", "decision")
"""Scanners that declare options, by their registered names."""


class Kind(Enum):
    """What a value is."""

    TEXT = auto()
    FILE = auto()
    FLAG = auto()
    INTEGER = auto()
    """From `low` to `high`, both included."""
    THRESHOLD = auto()
    """`shipped`, `fitted`, or a number between 0 and 1, both excluded."""
    RATE = auto()
    """A number a second, above 0."""
    PRICE = auto()
    """Money, from 0."""
    AMOUNT = auto()
    """Money, above 0."""


@dataclass(frozen=True, slots=True)
class ScannerOption:
    """One option: its name as typed (`--rate`), the key of its value, and what it takes.

    A value that was not given is None, () with `repeated`, or False for a flag.
    """

    name: str
    key: str
    help: str
    metavar: str | None = None
    kind: Kind = Kind.TEXT
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False

    def is_given(self, values: Mapping[str, Any]) -> bool:
        """Whether there is a value of it."""
        value = values.get(self.key)
        return value is not None and value is not False and value != ()


CONCURRENCY = ScannerOption(
    "--concurrency",
    "concurrency",
    "Maximum concurrent requests (default: 5; for AIRS SCAN_CONCURRENCY, at most 20, and it may "
    "throttle above 5).",
    "N",
    Kind.INTEGER,
    1,
    512,
)
RATE = ScannerOption(
    "--rate",
    "rate",
    "Requests a second that AIRS or the models are sent at most.",
    "R",
    Kind.RATE,
)
RETRIES = ScannerOption(
    "--retries",
    "retries",
    "Retries per failed prompt (default: 5).",
    "N",
    Kind.INTEGER,
    0,
    5,
)
FRESH = ScannerOption("--fresh", "fresh", "Ignore cached verdicts.", kind=Kind.FLAG)
COMPANIONS = ScannerOption(
    "--with",
    "companion_paths",
    "Another topic of the profile, measured together with this one (repeatable).",
    "FILE",
    Kind.FILE,
    repeated=True,
)


def options_of(scanner: str) -> tuple[ScannerOption, ...]:
    """Return the options that a scanner declares."""
    module = import_module(f"guardtui.scanners.{scanner}.command_options")
    options: tuple[ScannerOption, ...] = module.OPTIONS
    return options


def all_options() -> tuple[ScannerOption, ...]:
    """Return the options of all scanners, each once."""
    return tuple(dict.fromkeys(option for name in SCANNERS for option in options_of(name)))


def unfit_option(scanner: str, values: Mapping[str, Any]) -> ScannerOption | None:
    """Return the first option with a value that another scanner declares and this one does not."""
    own = options_of(scanner)
    given = (option for option in all_options() if option.is_given(values))
    return next((option for option in given if option not in own), None)
