"""Protocol of scanners, their progress and errors, and loading them by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from guardtui.domain.errors import GuardtuiError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.guardrail import ScannerSettings
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.domain.verdicts import Usage, Verdict, Verdicts


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests of a remote scan at one moment.

    At most `limit` requests are in flight. `sent`, `retries` and `refused` (responses with status
    429) are counts since the start. `paused` is the number of seconds that the service asked to
    wait; `held` tells whether the author paused the scan. `rate` is prompts per second over the
    last seconds; `used` is the usage of a model so far.
    """

    in_flight: int = 0
    limit: int = 0
    sent: int = 0
    retries: int = 0
    refused: int = 0
    paused: float = 0.0
    held: bool = False
    rate: float = 0.0
    used: Usage | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a scan: `done` of `total` prompts in a phase; `errors` of them have no verdict.

    `known` prompts came from the cache. For a remote scan, `traffic` returns its requests, and
    `partial` the verdicts so far for all rows of the prompt set (NOT_ASKED if missing); both may be
    called from any thread at any rate.
    """

    phase: str
    done: int
    total: int
    errors: int = 0
    known: int = 0
    traffic: Callable[[], Traffic] | None = field(default=None, compare=False, repr=False)
    partial: Callable[[], Verdicts] | None = field(default=None, compare=False, repr=False)


Report = Callable[[Progress], None]
"""Receives the newest progress; called from any thread, so it should only store it."""


class ScannerError(GuardtuiError):
    """The whole scan failed; the message is for the author."""


class Scanner(Protocol):
    """Decides for every prompt of a set whether it triggers a topic."""

    @property
    def live(self) -> bool:
        """Return whether a scan is free and fast enough to follow every pause in typing."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings on which verdicts depend, besides topic and prompts."""

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        """Return verdicts in the order of the prompts.

        Cancelling the task stops the scan soon and keeps reusable results. A prompt that fails gets
        no verdict; raises `ScannerError` if nothing can be scanned.
        """


@runtime_checkable
class FittedScanner(Protocol):
    """A scanner whose threshold may be fitted to the labels at each definition."""

    async def evaluate(self, topic: Topic, prompts: PromptSet, report: Report) -> Evaluation:
        """Scan as `Scanner.scan`, and return the verdicts with the settings that they are by."""


class RemoteScanner(Scanner, Protocol):
    """A scanner whose calls cost time and money; it runs only on request."""

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        """Scan like `Scanner.scan`; with `rows`, only these in this order; others are NOT_ASKED.

        Each `epoch` (from 1) has its own cached verdicts.
        """

    def known(self, topic: Topic, prompts: PromptSet) -> NDArray[np.bool_]:
        """Return which prompts have cached verdicts, bool [N]."""

    def hold(self, held: bool) -> None:
        """Pause or resume sending; requests in flight are completed."""


class VerdictCache(Protocol):
    """Cache of verdicts by `verdict_key`; errors are never stored."""

    def find(self, key: bytes) -> Verdict | None:
        """Return the verdict with this key, or None."""

    def keep(self, key: bytes, verdict: Verdict) -> None:
        """Store a verdict durably at once, replacing an older one."""


def verdict_key(*parts: str) -> bytes:
    """Return a hash (32 bytes) of everything that a verdict depends on."""
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()
