"""Audit of several topics over all their prompts; each distinct text is scanned once."""

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
    """A topic and its labelled prompts; without prompts it is measured on all others.

    `given` is False for a topic that was not named but read from the profile.
    """

    topic: Topic
    prompts: PromptSet | None = None
    given: bool = True


@dataclass(frozen=True, eq=False)
class Together:
    """The distinct prompts of all sets, and the positions of each set's rows among them.

    The labels of `prompts` are meaningless. `rows` has an intp [k] or None for each source.
    """

    prompts: PromptSet
    rows: tuple[NDArray[np.intp] | None, ...]

    @property
    def texts(self) -> list[str]:
        """The N texts."""
        texts: list[str] = self.prompts.prompts.to_list()
        return texts


def put_together(sources: Sequence[Source]) -> Together:
    """Return all prompts of the sources, each distinct text once, in order."""
    positions: dict[str, int] = {}
    rows: list[NDArray[np.intp] | None] = []
    for source in sources:
        if source.prompts is None:
            rows.append(None)
            continue
        texts = source.prompts.prompts.to_list()
        rows.append(
            np.fromiter(
                (positions.setdefault(text, len(positions)) for text in texts), np.intp, len(texts)
            )
        )
    texts = list(positions)
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
    """Return the topics with their labels and matches (int8 [N] each)."""
    count = len(together.prompts)
    members = []
    for source, rows, answers in zip(sources, together.rows, matches, strict=True):
        labels = np.full(count, Label.UNLABELLED, np.int8)
        lines = np.zeros(count, np.int32)
        repeats, file = 0, ""
        if source.prompts is not None and rows is not None:
            labels, repeats = labels_over(rows, source.prompts.expected, count)
            # Reversed, so that a repeated text gets its first line.
            lines[rows[::-1]] = source.prompts.frame["line"].to_numpy()[::-1]
            file = source.prompts.source
        members.append(Member(source.topic, labels, answers, lines, file, repeats, source.given))
    return tuple(members)


@dataclass
class Auditor:
    """Scans topic after topic with a live scanner; `progress` is the latest, for polling."""

    scanner: Scanner
    progress: Progress | None = field(default=None, init=False)

    async def audit(self, sources: Sequence[Source], together: Together, *, closed: bool) -> Audit:
        """Scan all topics on all prompts. Raises `ScannerError`."""
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
        def store(progress: Progress) -> None:
            phase = f"topic {number} of {count}: {progress.phase}"
            self.progress = replace(progress, phase=phase)

        # A scan by the embedded engine reports only the embedding of prompts, for the first topic.
        store(Progress("scanning", 0, prompts))
        return store


def made(
    together: Together,
    members: tuple[Member, ...],
    stopped: NDArray[np.int8],
    *,
    closed: bool,
    errors: Mapping[int, str],
    notes: Mapping[int, str],
) -> Audit:
    """Return the audit; each row without a verdict of the profile (int8 [N]) has an error."""
    missing = np.flatnonzero(~is_answered(stopped)).tolist()
    explained = {
        row: errors.get(row, "not asked" if stopped[row] == Triggered.NOT_ASKED else "no verdict")
        for row in missing
    }
    return Audit(together.texts, members, closed, stopped, explained, dict(notes))
