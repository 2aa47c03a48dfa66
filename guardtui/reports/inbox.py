"""An inbox for programs and for people who label elsewhere: JSON, and a table for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardtui.advice.drafts import Draft
from guardtui.domain.inbox import InboxPrompt, LabelChange, Production, State, WhyAsked
from guardtui.reports.csv_report import csv_text
from guardtui.reports.json_data import Count

KIND = "inbox"
DRAFTS_KIND = "drafts"
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
    draft: Annotated[bool, Field(description="Made for the set: no user wrote it.")]
    added_at: Time
    why_asked: WhyAsked | None
    chance: Annotated[float | None, Field(gt=0, le=1)]
    asked_at: Time
    labelled_at: Time
    production: Annotated[
        tuple[Production, ...],
        Field(description="What guardrails said in production; empty before it has a label."),
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
            draft=prompt.draft,
            added_at=prompt.added_at,
            why_asked=prompt.why_asked,
            chance=prompt.chance,
            asked_at=prompt.asked_at,
            labelled_at=prompt.labelled_at,
            production=() if prompt.expected is None else prompt.production,
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


@dataclass(frozen=True, slots=True)
class DraftEntry:
    """A draft that was added to an inbox."""

    id: str
    prompt: str
    kind: Annotated[str, Field(description="What was changed, such as advice into fact.")]
    source: Annotated[str, Field(description="Where its prompt is, such as line 12; may be empty.")]
    origin: str


@dataclass(frozen=True, slots=True)
class DraftsData:
    """Drafts that were added to an inbox, and the model that wrote them; "" for rules."""

    added: tuple[DraftEntry, ...]
    model: str

    @classmethod
    def of(cls, added: Iterable[tuple[Draft, InboxPrompt]], model: str) -> DraftsData:
        """Return these drafts with their prompts in the inbox."""
        entries = (
            DraftEntry(prompt.id, prompt.text, draft.kind, draft.source, prompt.origin)
            for draft, prompt in added
        )
        return cls(tuple(entries), model)


def inbox_csv(prompts: Iterable[InboxPrompt]) -> str:
    """Return a row per prompt, without formulas or control characters.

    Nothing that a machine thinks of a prompt is in it: a person would copy that.
    """
    cells = (
        (prompt.id, prompt.text, prompt.expected, prompt.reason, prompt.why_asked, prompt.origin)
        for prompt in prompts
    )
    return csv_text(COLUMNS, (), "", cells)
