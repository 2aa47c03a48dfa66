"""What a scanner is: the protocol, its progress, its errors, and finding one by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from guardtui.domain.errors import GuardtuiError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.domain.evaluation import ScannerSettings
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.domain.verdicts import Usage, Verdict, Verdicts


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests of a remote scan at one moment.

    `in_flight` of at most `limit` are under way; `sent`, `retries` and `refused` (answers with
    status 429) are counted since the scan began; `paused` is how many seconds the service asked to
    wait, `held` whether the author did; `rate` is prompts per second over the last seconds; `used`
    is what a model has cost so far.
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
    """How far a scan is: `done` of `total` prompts in the named phase; `errors` have no verdict.

    `known` of those that are done came from the cache. Of a remote scan `traffic` tells its
    requests, and `partial` gives the verdicts so far, for as many rows as the prompt set has (the
    others are NOT_ASKED); both may be asked from any thread, as often as a screen likes.
    """

    phase: str
    done: int
    total: int
    errors: int = 0
    known: int = 0
    traffic: Callable[[], Traffic] | None = field(default=None, compare=False, repr=False)
    partial: Callable[[], Verdicts] | None = field(default=None, compare=False, repr=False)


Report = Callable[[Progress], None]
"""Takes the newest progress; called from any thread, so it only stores what it is given."""


class ScannerError(GuardtuiError):
    """The scan as a whole could not be done; the message is meant for the author."""


class Scanner(Protocol):
    """Answers for every prompt of a set whether it triggers a topic."""

    @property
    def live(self) -> bool:
        """Whether a scan is free and fast enough to follow every pause in typing."""

    @property
    def settings(self) -> ScannerSettings:
        """What the next scan's verdicts depend on besides topic and prompts."""

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        """Verdicts in the order of the prompts.

        Cancelling the task stops it soon, leaves no half-state, and keeps what can be reused.
        A prompt that fails gets no verdict; raises `ScannerError` when nothing can be scanned.
        """


class RemoteScanner(Scanner, Protocol):
    """A scanner whose calls cost time and money: it is asked, never run by itself."""

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        """As `Scanner.scan`; with `rows` only these, in this order, and the others are NOT_ASKED.

        Another `epoch` (from 1) asks again: what another one was answered is not known to it.
        """

    def known(self, topic: Topic, prompts: PromptSet) -> NDArray[np.bool_]:
        """Which prompts would be answered without a call, bool [N]."""

    def hold(self, held: bool) -> None:
        """Send nothing more for now, or go on; what is under way is finished."""


class VerdictCache(Protocol):
    """Verdicts that were given before, by `verdict_key`; errors are never among them."""

    def find(self, key: bytes) -> Verdict | None:
        """The verdict under a key, or None."""

    def keep(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict, in the place of an older one; any end of the process keeps it."""


def verdict_key(*parts: str) -> bytes:
    """32 bytes that name all that a verdict depends on; they do not give it away."""
    digest = hashlib.blake2b(digest_size=32)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


def scanner_names() -> tuple[str, ...]:
    """Names of all registered scanners, sorted."""
    return tuple(sorted(point.name for point in entry_points(group="guardtui.scanners")))


def load_scanner(name: str, **options: Any) -> Scanner:
    """A scanner by its registered name; raises `ScannerError` for an unknown one."""
    for point in entry_points(group="guardtui.scanners", name=name):
        factory = point.load()
        scanner: Scanner = factory(**options)
        return scanner
    raise ScannerError(f"unknown scanner {name!r}: choose one of {', '.join(scanner_names())}")
