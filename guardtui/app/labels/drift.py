"""Labels that were changed lately: what an author means by a topic drifts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from guardtui.domain.figures import count_text
from guardtui.domain.inbox import InboxPrompt

_DRIFT_DAYS = 6  # a day of the week names one day
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def changes_text(prompts: Iterable[InboxPrompt], now: datetime) -> str:
    """Return how many labels were changed to the other one in the last days, or "".

    Such as "9 labels changed since Tuesday": what an author means by a topic drifts.
    """
    start = (now - timedelta(days=_DRIFT_DAYS)).date()
    days = [
        day
        for prompt in prompts
        for change in prompt.changes
        if change.before is not None and change.after is not None
        if (day := _day(change.at)) is not None and day >= start
    ]
    if not days:
        return ""
    first = min(days)
    since = "today" if first == now.date() else f"since {_WEEKDAYS[first.weekday()]}"
    return f"{count_text(len(days), 'label')} changed {since}"


def _day(time: str) -> date | None:
    """Return the day of a time, or None for one that somebody wrote by hand."""
    try:
        return date.fromisoformat(time[:10])
    except ValueError:
        return None
