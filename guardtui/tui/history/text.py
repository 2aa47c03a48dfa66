"""Texts of the history: chart, lines, a definition, the comparison of two iterations."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.text import Text

from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.figures import (
    ON_NEW_PROMPTS,
    capitalized,
    change_text,
    interval_text,
    rate_text,
)
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import RATES
from guardtui.domain.prompts import PromptSet
from guardtui.domain.series import BestOfSeries
from guardtui.domain.significance import CHANGES
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.session.experiments import ExperimentRecord
from guardtui.session.history import HistoryEntry, incomparable
from guardtui.session.session import Decision, Session
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.block_chart import columns
from guardtui.tui.metrics.pane import delta

SIGNS = {Decision.KEEP: "✓", Decision.DISCARD: "✗", Decision.UNDECIDED: "?"}
_STYLES = {Decision.KEEP: "$text-success", Decision.DISCARD: "$text-error"}
_MARKS = {"best": "★", "baseline": "◆"}
LEGEND = "★ best, ◆ baseline"
"""What the marks say, for the frame of a list."""
_TITLES = dict(zip(RATES, ("coverage", "TPR", "TNR", "accuracy", "precision", "F1"), strict=True))
_AXIS = 5
_STEPS = 20
"""The axis of the chart begins and ends at a multiple of one twentieth."""
_LISTED = 200
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the list: its width in cells, and the least width of a line that shows it."""

    title: str
    cells: int
    least_width: int = 0


_COLUMNS = (
    _Column("", 2),
    _Column("#", 6),
    _Column("★◆", 3),
    _Column("decision", 12, 96),
    _Column("✓✗", 3),
    _Column("coverage", 9),
    _Column(ON_NEW_PROMPTS, 15, 96),
    _Column("TPR", 7, 64),
    _Column("TNR", 7, 64),
    _Column("guardrail", 10),
    _Column("time", 12, 72),
    _Column("zone", 6, 84),
)


def local_time(created: str) -> str:
    """Return an ISO 8601 time as local date, minute and zone; without a zone it is UTC.

    An invalid time is returned as it is, in at most 16 characters; "" stays "".
    """
    try:
        moment = datetime.fromisoformat(created)
        local = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone()
    except (OverflowError, ValueError):
        return display_text(created[:16])
    return local.strftime("%Y-%m-%d %H:%M %Z")


def chart_text(entries: Sequence[HistoryEntry], height: int, width: int, cursor: int) -> Text:
    """Return the coverage of the last iterations that fit, oldest first, with decisions below.

    The axis reaches from a little below the lowest shown to the highest. `cursor` is the index of
    the highlighted entry, which has a pointer below it.
    """
    wide = 2 if 2 * len(entries) <= width - _AXIS else 1
    first = max(0, len(entries) - (width - _AXIS) // wide)
    # The highlighted entry stays visible.
    first = min(first, max(cursor, 0))
    shown = entries[first : first + (width - _AXIS) // wide]
    low, high = _axis([entry.coverage for entry in shown if entry.coverage is not None])
    scaled = [
        None if entry.coverage is None else (entry.coverage - low) / (high - low) for entry in shown
    ]
    text = Text()
    for level, line in enumerate(columns(scaled, height)):
        label = f"{high:.2f}" if level == 0 else f"{low:.2f}" if level == height - 1 else ""
        text.append(f"{label:<{_AXIS}}", "$text-muted")
        for sign, entry in zip(line, shown, strict=True):
            text.append(f"{sign:<{wide}}", _STYLES.get(entry.decision, ""))
        text.append("\n")
    text.append(" " * _AXIS)
    for entry in shown:
        text.append(f"{SIGNS[entry.decision]:<{wide}}", _STYLES.get(entry.decision, ""))
    text.append("\n" + " " * (_AXIS + wide * (cursor - first)) + "▲", "bold")
    return text


def _axis(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axis, with which the lowest value still has a bar."""
    if not values:
        return 0.0, 1.0
    low = max(0, math.floor(round(min(values) * _STEPS, 6)) - 1)
    high = max(math.ceil(round(max(values) * _STEPS, 6)), low + 1)
    return low / _STEPS, high / _STEPS


def head_line(width: int, *, of_one: bool = False) -> Text:
    """Return the titles over lines of so many cells; with `of_one` no guardrail is named."""
    line = Text(style="$text-muted")
    for column in _columns(width, of_one=of_one):
        line.append(f"{column.title:<{column.cells}}")
    return line.append("edit")


def entry_line(
    entry: HistoryEntry,
    width: int,
    *,
    marked: bool = False,
    marks: Collection[str] = (),
    of_one: bool = False,
) -> Text:
    """Return a line of the list for `width` cells; the edit is last and may be cut by the list."""
    style, created = _STYLES.get(entry.decision, ""), local_time(entry.created)
    cells = {
        "": ("●" if marked else "", "bold"),
        "#": (entry.name, "bold"),
        "★◆": ("".join(_MARKS[mark] for mark in marks), "bold $text-success"),
        "decision": (f"{SIGNS[entry.decision]} {_decision(entry)}", style),
        "✓✗": (SIGNS[entry.decision], style),
        "coverage": (_about(entry, entry.coverage), "bold"),
        ON_NEW_PROMPTS: (_interval(entry), "$text-muted"),
        "TPR": (_about(entry, entry.true_positive_rate), ""),
        "TNR": (_about(entry, entry.true_negative_rate), ""),
        "guardrail": (_name(entry.settings), "$text-muted"),
        "time": (created[5:16], "$text-muted"),
        "zone": (created[17:22], "$text-muted"),
    }
    line = Text()
    for column in _columns(width, of_one=of_one):
        shown, look = cells[column.title]
        line.append(f"{shown:<{column.cells}}", look)
    return line.append(entry.what_changed)


def _decision(entry: HistoryEntry) -> str:
    """Return what was decided, of a definition measured while editing only that it was left."""
    is_open = entry.iteration is None and entry.decision is Decision.UNDECIDED
    return "measured" if is_open else entry.decision


def _name(settings: ScannerSettings) -> str:
    return display_start(settings.guardrail.title or settings.kind, 9)


def _columns(width: int, *, of_one: bool) -> list[_Column]:
    shown = [column for column in _COLUMNS if column.least_width <= width]
    left_out = {"guardrail"} if of_one else set()
    if any(column.title == "decision" for column in shown):
        left_out.add("✓✗")
    return [column for column in shown if column.title not in left_out]


def _interval(entry: HistoryEntry) -> str:
    if entry.iteration is None:
        return ""
    return interval_text(entry.iteration.evaluation.coverage_interval, 2)


def history_marks(session: Session) -> dict[str, list[str]]:
    """Return "best" and "baseline" by the name of the entry."""
    marks: dict[str, list[str]] = {}
    for mark, iteration in (("best", session.best), ("baseline", session.baseline)):
        if iteration is not None:
            marks.setdefault(f"#{iteration.number}", []).append(mark)
    return marks


def _about(entry: HistoryEntry, rate: float | None) -> str:
    """Return a rate, with "≈" for that of a forecast."""
    return f"{'≈' if entry.settings.is_forecast else ''}{rate_text(rate)}"


def entry_details(
    entry: HistoryEntry,
    marks: Collection[str],
    series: BestOfSeries | None = None,
    experiments: Sequence[ExperimentRecord] = (),
) -> Text:
    """Return an entry in full, with experiments on its definition, the newest first.

    The best entry is that of a `series`, or None.
    """
    text = Text(capitalized(entry.title), "bold")
    for mark in marks:
        name = series.text if series is not None and mark == "best" else mark
        text.append(f"  {_MARKS[mark]} {name}", "bold $text-success")
    text.append(f"  {_decision(entry)}", _STYLES.get(entry.decision, ""))
    text.append(f"  coverage {_about(entry, entry.coverage)} {_interval(entry)}".rstrip())
    text.append(f"  TPR {_about(entry, entry.true_positive_rate)}")
    text.append(f"  TNR {_about(entry, entry.true_negative_rate)}")
    text.append(f"\n{local_time(entry.created)}  ")
    forecast = "forecast of " if entry.settings.is_forecast else ""
    text.append(f"{forecast}{display_start(entry.settings.guardrail.text(), 70)}", "$text-muted")
    if entry.iteration is None:
        text.append("  measured while editing: no verdicts", "$text-warning")
    text.append(f"\n{entry.what_changed}")
    for record in reversed(experiments):
        if record.topic == entry.topic:
            text.append(f"\n{record.text}", "$text-muted")
    return text


def definition_text(entry: HistoryEntry, current: Topic) -> Text:
    """Return the difference of a definition to its origin, and to the current definition."""
    text = Text()
    origin = entry.came_from
    if origin is None:
        text.append("The first iteration:\n", "bold")
        text.append_text(difference_text(Topic(intent=entry.topic.intent), entry.topic))
    else:
        text.append(f"Edited from {origin.title}:\n", "bold")
        text.append_text(difference_text(origin.topic, entry.topic))
        if not entry.changes:
            text.append("the same definition\n", "$text-muted")
    text.append("\nRestoring it changes the current definition:\n", "bold")
    if current == entry.topic:
        text.append("nothing: it is the current definition\n", "$text-muted")
    else:
        text.append_text(difference_text(current, entry.topic))
    return text


def comparison_text(
    before: HistoryEntry, after: HistoryEntry, comparison: Comparison | None, prompts: PromptSet
) -> Text:
    """Return two entries: rates, significance of the difference, definitions, changed rows."""
    text = Text()
    reason = incomparable(before, after)
    _rates(text, before, after, comparison, comparable=not reason)
    if comparison is None:
        text.append(
            "\nA definition measured while editing has no verdicts: it is not known which prompts\n"
            "changed, nor whether the difference could be chance.\n",
            "$text-warning",
        )
        if reason:
            text.append(f"⚠ The rates cannot be compared: {reason}.\n", "$text-warning")
    else:
        text.append(f"\n{capitalized(comparison.describe(before.title))}\n", "bold")
        for caveat in comparison.caveats:
            text.append(f"⚠ {caveat}\n", "$text-warning")
    text.append(f"\nThe definition, from {before.title} to {after.title}\n", "bold")
    difference = difference_text(before.topic, after.topic)
    text.append_text(difference if difference else Text("the same\n", "$text-muted"))
    if comparison is not None and after.iteration is not None:
        keys = after.iteration.evaluation.keys.tolist()
        known = dict(zip(prompts.keys.tolist(), prompts.prompts, strict=True))
        for title, sign, kind in (
            ("Regressions", "✗", Change.REGRESSION),
            ("Fixes", "✓", Change.FIX),
        ):
            rows = [keys[row] for row in (comparison.changes == kind).nonzero()[0].tolist()]
            _list(text, title, sign, rows, known)
    return text


def _rates(
    text: Text,
    before: HistoryEntry,
    after: HistoryEntry,
    comparison: Comparison | None,
    *,
    comparable: bool,
) -> None:
    text.append(f"{'':<10}{before.name:<7}{after.name:<7}change\n", "$text-muted")
    recorded = comparison is not None and before.iteration and after.iteration
    for name in RATES if recorded else CHANGES:
        then, now = _rate(before, name), _rate(after, name)
        change = interval = None
        if comparison is not None and not comparison.open:
            change = comparison.deltas[name]
            interval = comparison.significance.intervals.get(name)
        elif comparison is None and comparable and then is not None and now is not None:
            change = now - then
        sign, style = delta(change, "same")
        text.append(f"{_TITLES[name]:<10}{rate_text(then):<7}{rate_text(now):<7}")
        text.append(f"{sign:<9}", style)
        if interval is not None:
            ends = f"({change_text(interval.low)} to {change_text(interval.high)})"
            text.append(ends, "$text-muted")
        text.append("\n")


def _rate(entry: HistoryEntry, name: str) -> float | None:
    if entry.iteration is not None:
        return entry.iteration.evaluation.rate(name)
    value: float | None = getattr(entry, name)
    return value


def _list(text: Text, title: str, sign: str, rows: Sequence[int], known: Mapping[int, str]) -> None:
    if not rows:
        return
    text.append(f"\n{title} ({len(rows)})\n", "bold")
    for key in rows[:_LISTED]:
        text.append(f"{sign} ")
        prompt = known.get(key)
        if prompt is None:
            text.append("(no longer in the prompt file)\n", "$text-muted")
        else:
            text.append(f"{display_start(prompt, _SHOWN)}\n")
    if len(rows) > _LISTED:
        text.append(f"and {len(rows) - _LISTED} more\n", "$text-muted")
