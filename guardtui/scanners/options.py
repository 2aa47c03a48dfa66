"""Declarations of scanner options, from which command lines and forms are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from typing import Any

SCANNERS = ("engine", "airs", "judge", "decision")
"""Scanners that declare options, by their registered names."""


class OptionKind(Enum):
    """Type of an option's value."""

    TEXT = auto()
    FILE = auto()
    FLAG = auto()
    INTEGER = auto()
    """From `low` to `high`, inclusive."""
    THRESHOLD = auto()
    """`shipped`, `fitted`, or a number between 0 and 1, exclusive."""
    RATE = auto()
    """A number per second, above 0."""
    PRICE = auto()
    """An amount of money, at least 0."""
    AMOUNT = auto()
    """An amount of money, above 0."""


@dataclass(frozen=True, slots=True)
class ScannerOption:
    """One option: its name on the command line (`--rate`), the key of its value, and its type.

    A missing value is None, () if `repeated`, or False for a flag.
    """

    name: str
    key: str
    help: str
    metavar: str | None = None
    kind: OptionKind = OptionKind.TEXT
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False

    def is_given(self, values: Mapping[str, Any]) -> bool:
        """Return whether the option has a value."""
        value = values.get(self.key)
        return value is not None and value is not False and value != ()


CONCURRENCY = ScannerOption(
    "--concurrency",
    "concurrency",
    "Maximum concurrent requests (default: 5, or SCAN_CONCURRENCY for AIRS, which allows 20 and "
    "may throttle above 5).",
    "N",
    OptionKind.INTEGER,
    1,
    512,
)
RATE = ScannerOption(
    "--rate",
    "rate",
    "Maximum requests per second to AIRS or the models.",
    "R",
    OptionKind.RATE,
)
RETRIES = ScannerOption(
    "--retries",
    "retries",
    "Retries per failed prompt (default: 5).",
    "N",
    OptionKind.INTEGER,
    0,
    5,
)
FRESH = ScannerOption("--fresh", "fresh", "Ignore cached verdicts.", kind=OptionKind.FLAG)
COMPANIONS = ScannerOption(
    "--with",
    "companion_paths",
    "Another topic of the profile, or a profile file, to evaluate together with this topic "
    "(repeatable).",
    "FILE",
    OptionKind.FILE,
    repeated=True,
)


def options_of(scanner: str) -> tuple[ScannerOption, ...]:
    """Return the options that a scanner declares."""
    package = "local" if scanner == "engine" else scanner
    module = import_module(f"guardtui.scanners.{package}.command_options")
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
