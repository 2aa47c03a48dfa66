"""Several topics of one profile over all their prompts: each distinct text scanned once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.audit import Audit, Label, Member, labels_over, whole_profile
from guardtui.domain.profile import matches_of
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.scanners.base import Progress, Report, Scanner


@dataclass(frozen=True, eq=False)
class Source:
    """A topic and its labelled prompts; without prompts it is measured on those of the others.

    `given` is false for a topic that was only found in the profile.
    """

    topic: Topic
    prompts: PromptSet | None = None
    given: bool = True


@dataclass(frozen=True, eq=False)
class Together:
    """The distinct prompts of all sets, and where each set's rows stand among them.

    `prompts` has no labels that mean anything; `rows` are intp [k] for each source, or None.
    """

    prompts: PromptSet
    rows: tuple[NDArray[np.intp] | None, ...]

    @property
    def texts(self) -> list[str]:
        """The texts, N of them."""
        texts: list[str] = self.prompts.prompts.to_list()
        return texts


def put_together(sources: Sequence[Source]) -> Together:
    """All prompts of the sources, each distinct text once, in the order in which they come."""
    places: dict[str, int] = {}
    rows: list[NDArray[np.intp] | None] = []
    for source in sources:
        if source.prompts is None:
            rows.append(None)
            continue
        texts = source.prompts.prompts.to_list()
        rows.append(
            np.fromiter((places.setdefault(one, len(places)) for one in texts), np.intp, len(texts))
        )
    texts = list(places)
    frame = pl.DataFrame(
        {
            "key": pl.Series(prompt_keys(texts), dtype=pl.UInt64),
            "line": pl.Series(range(1, len(texts) + 1), dtype=pl.UInt32),
            "prompt": pl.Series(texts, dtype=pl.String),
            "expected": pl.Series([False] * len(texts), dtype=pl.Boolean),
        }
    )
    return Together(PromptSet(frame, Intent.BLOCK, "all prompt sets"), tuple(rows))


def members_of(
    sources: Sequence[Source], together: Together, matches: Sequence[NDArray[np.int8]]
) -> tuple[Member, ...]:
    """The topics with their labels and with what they match (int8 [N] each)."""
    count = len(together.prompts)
    found = []
    for source, rows, answers in zip(sources, together.rows, matches, strict=True):
        labels = np.full(count, Label.UNLABELLED, np.int8)
        lines = np.zeros(count, np.int32)
        repeats, file = 0, ""
        if source.prompts is not None and rows is not None:
            labels, repeats = labels_over(rows, source.prompts.expected, count)
            # The first line of a text that stands there more than once.
            lines[rows[::-1]] = source.prompts.frame["line"].to_numpy()[::-1]
            file = source.prompts.source
        found.append(Member(source.topic, labels, answers, lines, file, repeats, source.given))
    return tuple(found)


@dataclass
class Auditor:
    """Scans topic after topic with a live scanner; `progress` is the newest, to be polled."""

    scanner: Scanner
    progress: Progress | None = field(default=None, init=False)

    async def audit(self, sources: Sequence[Source], together: Together, *, closed: bool) -> Audit:
        """Evaluate all topics on all prompts. Raises `ScannerError`."""
        matches: list[NDArray[np.int8]] = []
        reasons: dict[int, str] = {}
        notes: dict[int, str] = {}
        for number, source in enumerate(sources, start=1):
            verdicts = await self.scanner.scan(
                source.topic,
                together.prompts,
                self._telling(number, len(sources), len(together.prompts)),
            )
            matches.append(matches_of(source.topic, verdicts))
            for row, reason in verdicts.errors.items():
                reasons.setdefault(row, f"{source.topic.name}: {reason}")
            notes.update(verdicts.notes)
        self.progress = None
        members = members_of(sources, together, matches)
        stopped = whole_profile(members, closed=closed, count=len(together.prompts))
        return made(together, members, stopped, closed=closed, errors=reasons, notes=notes)

    def _telling(self, number: int, count: int, prompts: int) -> Report:
        def tell(progress: Progress) -> None:
            phase = f"topic {number} of {count}: {progress.phase}"
            self.progress = replace(progress, phase=phase)

        # A scan by the embedded engine tells of prompts only, which it embeds for the first topic.
        tell(Progress("scanning", 0, prompts))
        return tell


def made(
    together: Together,
    members: tuple[Member, ...],
    stopped: NDArray[np.int8],
    *,
    closed: bool,
    errors: Mapping[int, str],
    notes: Mapping[int, str],
) -> Audit:
    """The audit; every row without a verdict of the profile (int8 [N]) says why."""
    missing = np.flatnonzero(~is_answered(stopped)).tolist()
    told = {
        row: errors.get(row, "not asked" if stopped[row] == Triggered.NOT_ASKED else "no verdict")
        for row in missing
    }
    return Audit(together.texts, members, closed, stopped, told, dict(notes))
