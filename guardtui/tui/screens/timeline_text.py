"""The texts of the timeline: chart, lines, one definition, two iterations held together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.text import Text

from guardtui.domain.comparison import Change, Comparison
from guardtui.domain.figures import capitalized
from guardtui.domain.metrics import RATES
from guardtui.domain.prompts import PromptSet
from guardtui.domain.significance import CHANGES
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.session.history import Entry
from guardtui.session.session import Decision
from guardtui.tui.definition_text import difference_text
from guardtui.tui.widgets.block_chart import columns
from guardtui.tui.widgets.metrics_panel import delta, number

SIGNS = {Decision.KEEP: "✓", Decision.DISCARD: "✗", Decision.UNDECIDED: "?"}
_STYLES = {Decision.KEEP: "$text-success", Decision.DISCARD: "$text-error"}
_TITLES = dict(zip(RATES, ("coverage", "TPR", "TNR", "accuracy", "precision", "F1"), strict=True))
_AXIS = 4
_LISTED = 200
_SHOWN = 200
HEAD = (
    f"   {'':<5}{'decision':<12}{'coverage':<20}{'TPR':<6}{'TNR':<6}{'scanner':<9}{'UTC':<12}edit"
)


def chart_text(entries: Sequence[Entry], height: int, width: int, cursor: int) -> Text:
    """Coverage by iteration, oldest first, the last ones that fit; signs of decisions below.

    `cursor` is the place of the entry looked at, which has a pointer below it.
    """
    wide = 2 if 2 * len(entries) <= width - _AXIS else 1
    first = max(0, len(entries) - (width - _AXIS) // wide)
    # What is looked at stays in sight.
    first = min(first, max(cursor, 0))
    shown = entries[first : first + (width - _AXIS) // wide]
    text = Text()
    for place, line in enumerate(columns([entry.coverage for entry in shown], height)):
        label = "1.0" if place == 0 else "0.0" if place == height - 1 else ""
        text.append(f"{label:<{_AXIS}}", "$text-muted")
        for sign, entry in zip(line, shown, strict=True):
            text.append(f"{sign:<{wide}}", _STYLES.get(entry.decision, ""))
        text.append("\n")
    text.append(" " * _AXIS)
    for entry in shown:
        text.append(f"{SIGNS[entry.decision]:<{wide}}", _STYLES.get(entry.decision, ""))
    text.append("\n" + " " * (_AXIS + wide * (cursor - first)) + "▲", "bold")
    return text


def entry_line(entry: Entry, *, marked: bool) -> Text:
    """One line of the table under `HEAD`."""
    line = Text(" ● " if marked else "   ", "bold")
    line.append(f"{entry.name:<5}", "bold")
    line.append(f"{SIGNS[entry.decision]} {entry.decision:<10}", _STYLES.get(entry.decision, ""))
    line.append(f"{number(entry.coverage):<6}", "bold")
    line.append(f"{_interval(entry):<14}", "$text-muted")
    rates = (entry.true_positive_rate, entry.true_negative_rate)
    line.append("".join(f"{number(rate):<6}" for rate in rates))
    line.append(f"{display_start(entry.scanner, 8):<9}", "$text-muted")
    line.append(f"{entry.created[5:16].replace('T', ' '):<12}", "$text-muted")
    return line.append(entry.what_changed)


def _interval(entry: Entry) -> str:
    if entry.iteration is None:
        return ""
    interval = coverage_interval(entry.iteration.evaluation.metrics)
    return "" if interval is None else f"[{interval.low:.2f} – {interval.high:.2f}]"


def entry_told(entry: Entry, marks: Collection[str]) -> Text:
    """What the line of an entry may have no room for."""
    text = Text(entry.name, "bold")
    if entry.iteration is not None:
        settings = entry.iteration.evaluation.settings
        text.append(f"  {entry.created[:16].replace('T', ' ')} UTC  {display_text(settings.name)}")
        text.append(f", {display_start(settings.identity, 60)}", "$text-muted")
    else:
        text.append("  imported: rates and definition only, no verdicts", "$text-warning")
    if marks:
        text.append(f"  {', '.join(marks)}", "bold $text-success")
    return text.append(f"\n{entry.what_changed}")


def definition_text(entry: Entry, here: Topic) -> Text:
    """The definition of an entry against the one that it came from, and against the one here."""
    text = Text()
    origin = entry.came_from
    if origin is None:
        text.append("The first one of the history:\n", "bold")
        text.append_text(difference_text(Topic(intent=entry.topic.intent), entry.topic))
    else:
        text.append(f"Against {origin.name}, the nearest one before it:\n", "bold")
        text.append_text(difference_text(origin.topic, entry.topic))
        if not entry.changes:
            text.append("the same definition\n", "$text-muted")
    text.append("\nWhat restoring it would change in the definition here:\n", "bold")
    if here == entry.topic:
        text.append("nothing: it is the definition here\n", "$text-muted")
    else:
        text.append_text(difference_text(here, entry.topic))
    return text


def comparison_text(
    before: Entry, after: Entry, comparison: Comparison | None, prompts: PromptSet
) -> Text:
    """Two entries: rates, what the difference is worth, the definitions, and the rows."""
    text = Text()
    _rates(text, before, after, comparison)
    if comparison is None:
        text.append(
            "\nAn imported iteration has no verdicts: which prompts changed, and whether the\n"
            "difference may be chance, cannot be told.\n",
            "$text-warning",
        )
    else:
        text.append(f"\n{capitalized(comparison.describe(before.name))}\n", "bold")
        for caveat in comparison.caveats:
            text.append(f"⚠ {caveat}\n", "$text-warning")
    text.append(f"\nThe definition, from {before.name} to {after.name}\n", "bold")
    difference = difference_text(before.topic, after.topic)
    text.append_text(difference if difference else Text("the same\n", "$text-muted"))
    if comparison is not None and after.iteration is not None:
        keys = after.iteration.evaluation.keys.tolist()
        known = dict(zip(prompts.keys.tolist(), prompts.prompts, strict=True))
        for title, sign, kind in (
            ("Regressions", "✗R", Change.REGRESSION),
            ("Fixes", "✓F", Change.FIX),
        ):
            rows = [keys[row] for row in (comparison.changes == kind).nonzero()[0].tolist()]
            _list(text, title, sign, rows, known)
    return text


def _rates(text: Text, before: Entry, after: Entry, comparison: Comparison | None) -> None:
    text.append(f"{'':<10}{before.name:<7}{after.name:<7}change\n", "$text-muted")
    recorded = comparison is not None and before.iteration and after.iteration
    for name in RATES if recorded else CHANGES:
        then, now = _rate(before, name), _rate(after, name)
        if comparison is not None:
            change = comparison.deltas[name]
            interval = comparison.significance.intervals.get(name)
        else:
            change = None if then is None or now is None else now - then
            interval = None
        sign, style = delta(change)
        text.append(f"{_TITLES[name]:<10}{number(then):<7}{number(now):<7}")
        text.append(f"{sign:<9}", style)
        if interval is not None:
            text.append(f"[{interval.low:+.3f} – {interval.high:+.3f}]", "$text-muted")
        text.append("\n")


def _rate(entry: Entry, name: str) -> float | None:
    if entry.iteration is not None:
        value: float | None = getattr(entry.iteration.evaluation.metrics, name)
    else:
        value = getattr(entry, name)
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
