"""Port to a guardrail that answers about several definitions of one experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict
from guardtui.scanners.base import Report


@dataclass(frozen=True, eq=False)
class DefinitionRows:
    """Rows (intp [k]) to be answered with a definition, in this order.

    `number` identifies the definition in the experiment: 0 is the current one, candidates follow.
    """

    number: int
    topic: Topic
    rows: NDArray[np.intp]


Arrived: TypeAlias = Callable[[int, int, Verdict], None]
"""Gets the number of a definition, a row, and the verdict on it; called on the event loop."""


class Answering(Protocol):
    """A guardrail during one experiment; entered once, and left in the state it was found in."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the guardrail whose verdicts these are."""

    @property
    def calls(self) -> int:
        """Number of verdicts that the service was asked for so far; cached ones do not count."""

    @property
    def probes(self) -> int:
        """Number of further calls so far, which watched for a changed definition to arrive."""

    @property
    def stored_template(self) -> tuple[str, str] | None:
        """Id and text of the template that verdicts depend on, for the session; None without."""

    def cached(self, definitions: Sequence[Topic], prompts: PromptSet) -> NDArray[np.bool_]:
        """Return which verdicts take no call, bool [k, N]. Blocks."""

    async def __aenter__(self) -> Self:
        """Prepare the guardrail. Raises ScannerError, AirsError, ServiceError and StoreError."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Revert whatever was changed, also after an error or a cancellation."""

    async def ask(
        self, wanted: Sequence[DefinitionRows], prompts: PromptSet, arrived: Arrived, report: Report
    ) -> None:
        """Ask for all wanted verdicts; each arrives once, as soon as it is known.

        A request that failed arrives as a verdict with a problem; a row that was not asked, since
        the budget is spent or too many requests failed, may not arrive. Cancelling stops soon;
        what arrived is kept by the caller. Raises ScannerError if nothing can be asked.
        """

    def hold(self, held: bool) -> None:
        """Pause or resume sending; requests in flight are completed."""
