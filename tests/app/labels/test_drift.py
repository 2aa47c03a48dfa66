"""Labels that were changed lately, in words."""

from __future__ import annotations

from datetime import UTC, datetime

from guardtui.app.labels.drift import changes_text
from guardtui.domain.inbox import InboxPrompt, LabelChange

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)  # a Thursday


def text(*days: str) -> str:
    first = LabelChange("2026-03-04T10:00:00+00:00", None, True)
    changes = [LabelChange(f"{day}T10:00:00+00:00", True, False) for day in days]
    return changes_text([InboxPrompt("1", "x", changes=(first, *changes))], NOW)


def test_labels_changed_in_the_last_days_are_counted_from_the_first_of_them() -> None:
    assert text("2026-03-03", "2026-03-05") == "2 labels changed since Tuesday"
    assert text("2026-03-05") == "1 label changed today"
    assert text("2026-02-20") == text() == text("by hand") == ""
