"""An inbox for programs and for people who label elsewhere: JSON, and a table for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from guardtui.domain.inbox import InboxPrompt, State
from guardtui.reports.csv_report import csv_text
from guardtui.reports.json_data import encode

COLUMNS = ("id", "prompt", "expected", "reason", "why_asked", "origin")


def inbox_csv(prompts: Iterable[InboxPrompt]) -> str:
    """Return a row per prompt, without formulas or control characters.

    Nothing that a machine thinks of a prompt is in it: a person would copy that.
    """
    cells = (
        (one.id, one.text, one.expected, one.reason, one.why_asked, one.origin) for one in prompts
    )
    return csv_text(COLUMNS, (), "", cells)


def inbox_json(counts: Mapping[State, int], prompts: Iterable[InboxPrompt]) -> str:
    """Return the number of prompts in each state, and all that is known of each prompt.

    Without verdicts of production for those that have no label yet.
    """
    return encode(
        "inbox",
        {
            "counts": {state.value: count for state, count in counts.items()},
            "prompts": [_entry(prompt) for prompt in prompts],
        },
    )


def _entry(prompt: InboxPrompt) -> dict[str, Any]:
    known = prompt.production if prompt.expected is not None else None
    return {
        "id": prompt.id,
        "prompt": prompt.text,
        "state": prompt.state.value,
        "expected": prompt.expected,
        "reason": prompt.reason,
        "origin": prompt.origin,
        "added_at": prompt.added_at or None,
        "why_asked": prompt.why_asked,
        "chance": prompt.chance,
        "asked_at": prompt.asked_at or None,
        "labelled_at": prompt.labelled_at or None,
        "production": None if known is None else known.as_json(),
        "changes": [
            {
                "at": change.at or None,
                "from": change.before,
                "to": change.after,
                "reason": change.reason,
                "why_asked": change.why_asked,
            }
            for change in prompt.changes
        ],
    }
