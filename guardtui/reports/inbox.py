"""An inbox for programs and for people who label elsewhere: JSON, and a table for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardtui.domain.inbox import InboxPrompt, LabelChange, Production, State, WhyAsked
from guardtui.reports.csv_report import csv_text
from guardtui.reports.json_data import Count

KIND = "inbox"
COLUMNS = ("id", "prompt", "expected", "reason", "why_asked", "origin")

Time = Annotated[str, Field(description="ISO 8601, UTC; empty if it is unknown.")]


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A prompt of an inbox; `chance` is the probability with which an audit drew it."""

    id: str
    prompt: str
    state: State
    expected: Annotated[bool | None, Field(description="The label; null without one.")]
    reason: str
    origin: Annotated[str, Field(description="Where it came from, such as app.log:12.")]
    added_at: Time
    why_asked: WhyAsked | None
    chance: Annotated[float | None, Field(gt=0, le=1)]
    asked_at: Time
    labelled_at: Time
    production: Annotated[
        Production | None,
        Field(description="What a guardrail said in production; null before it has a label."),
    ]
    changes: Annotated[
        tuple[LabelChange, ...], Field(description="Of its label, oldest first; null is no label.")
    ]

    @classmethod
    def of(cls, prompt: InboxPrompt) -> InboxEntry:
        """Return the entry of a prompt."""
        return cls(
            id=prompt.id,
            prompt=prompt.text,
            state=prompt.state,
            expected=prompt.expected,
            reason=prompt.reason,
            origin=prompt.origin,
            added_at=prompt.added_at,
            why_asked=prompt.why_asked,
            chance=prompt.chance,
            asked_at=prompt.asked_at,
            labelled_at=prompt.labelled_at,
            production=None if prompt.expected is None else prompt.production,
            changes=prompt.changes,
        )


@dataclass(frozen=True, slots=True)
class InboxData:
    """The prompts of an inbox, and their number in each state."""

    counts: Mapping[State, Count]
    prompts: tuple[InboxEntry, ...]

    @classmethod
    def of(cls, counts: Mapping[State, int], prompts: Iterable[InboxPrompt]) -> InboxData:
        """Return these prompts with their numbers."""
        return cls(counts, tuple(map(InboxEntry.of, prompts)))


def inbox_csv(prompts: Iterable[InboxPrompt]) -> str:
    """Return a row per prompt, without formulas or control characters.

    Nothing that a machine thinks of a prompt is in it: a person would copy that.
    """
    cells = (
        (one.id, one.text, one.expected, one.reason, one.why_asked, one.origin) for one in prompts
    )
    return csv_text(COLUMNS, (), "", cells)
