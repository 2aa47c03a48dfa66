"""What is told in words of a whole large set: its rates beside a sample's, changes, progress."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from guardtui.domain.figures import duration_text, rate_text
from guardtui.domain.metrics import RATE_TITLES, Metrics
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.base import Progress
from guardtui.shards.parts import Run
from guardtui.shards.sample import Sample
from guardtui.shards.whole_set import EMBEDDING, WholeChange
from guardtui.tui.listing import RowsView
from guardtui.tui.pages import category_table
from guardtui.tui.whole_rows import GROUPS, Wrong
from guardtui.tui.widgets.metrics_panel import ESTIMATED, delta

_LONGEST = 60
_EDITS = 6


def progress_text(now: Progress, rate: float | None, width: int) -> str:
    """How far it is: a bar, prompts done, and with a rate per second how long it takes yet."""
    cells = max(5, min(30, width // 4))
    filled = int(cells * now.done / max(now.total, 1))
    line = f"{now.phase} {'█' * filled}{'░' * (cells - filled)} {now.done}/{now.total}"
    if rate and now.phase == EMBEDDING:
        line += f"  {rate:.0f}/s  {duration_text((now.total - now.done) / rate)} left, once"
    return line


def headline(run: Run, how: str, notes: Sequence[str]) -> Text:
    """What was evaluated, by what, and how one came to know."""
    settings = run.settings
    text = Text(f"All {run.large.rows} prompts of {display_text(run.large.source)}", "bold")
    text.append(f"  {how}\n", "not bold $text-success")
    threshold = "" if settings.threshold is None else f"  threshold {settings.threshold:.3f}"
    source = f" ({settings.threshold_source})" if settings.threshold_source else ""
    text.append(
        f"proxy: {display_start(settings.identity, _LONGEST)}{threshold}{source}\n",
        "not bold $text-muted",
    )
    for note in notes:
        text.append(f"⚠ {note}\n", "not bold $text-warning")
    return text


def rates_text(whole: Metrics, sample: Sample, of_sample: Metrics | None) -> Text:
    """The rates of all prompts with 95 % intervals, beside those of the sample."""
    intervals = rate_intervals(whole)
    there = rate_intervals(of_sample) if of_sample is not None else {}
    taken, every = len(sample.prompts), sample.of
    text = Text(f"{'':<10}{'all ' + str(every):<23}", "$text-muted")
    text.append(f"{'sample of ' + str(taken)}\n" if of_sample is not None else "\n")
    for name, title in RATE_TITLES.items():
        text.append(
            f"{title:<10}", "bold not dim $foreground" if name == "coverage" else "$foreground"
        )
        text.append(f"{rate_text(getattr(whole, name)):<6}", "bold $foreground")
        interval = intervals.get(name)
        told = "" if interval is None else f"[{interval.low:.3f} – {interval.high:.3f}]"
        text.append(f"{told:<17}", "$text-muted")
        if of_sample is not None:
            text.append(f"{rate_text(getattr(of_sample, name)):<6}", "$foreground")
            interval = there.get(name)
            if not sample.proportional and name not in ESTIMATED:
                text.append("of the sample", "$text-muted")
            elif interval is not None:
                text.append(f"[{interval.low:.2f} – {interval.high:.2f}]", "$text-muted")
        text.append("\n")
    text.append(
        f"TP {whole.tp}  FN {whole.fn}  FP {whole.fp}  TN {whole.tn}  errors {whole.errors}\n",
        "$foreground",
    )
    return text


def change_text(change: WholeChange | None) -> Text:
    """What changed over all prompts since the evaluation before."""
    if change is None:
        return Text(
            "Nothing to compare with: no other definition was held by it yet.\n", "$text-muted"
        )
    pairs, worth = change.pairs, change.significance
    text = Text(f"\nSince run {change.before.run.id}", "bold")
    edits = [display_text(one) for one in change.edits]
    told = ", ".join(edits[:_EDITS]) + (" …" if len(edits) > _EDITS else "")
    text.append(f"  {told or 'the same definition'}\n", "not bold $text-muted")
    text.append("regressions ", "not bold $foreground")
    broken = worth.regressions
    text.append(str(broken), "bold $text-error" if broken else "bold $foreground")
    text.append(
        f" (TP → FN {pairs.positive[1]}, TN → FP {pairs.negative[1]})", "not bold $text-muted"
    )
    text.append("   fixes ", "not bold $foreground")
    text.append(str(worth.fixes), "bold $text-success" if worth.fixes else "bold $foreground")
    text.append(
        f" (FN → TP {pairs.positive[2]}, FP → TN {pairs.negative[2]})\n", "not bold $text-muted"
    )
    deltas = change.deltas
    for name in ESTIMATED:
        sign, style = delta(deltas[name])
        if sign:
            text.append(f"{RATE_TITLES[name]} ", "not bold $foreground")
            text.append(f"{sign}   ", f"not bold {style}")
    text.append("\n")
    text.append(f"{worth.sentence}\n", "not bold $text-muted")
    for caveat in change.caveats:
        text.append(f"⚠ {caveat}\n", "not bold $text-warning")
    return text


def figures_text(parts: Sequence[Text], by_category: dict[str, Metrics]) -> Text:
    """All of it, and the rates by category."""
    text = Text()
    for part in parts:
        text.append_text(part)
    if by_category:
        head, lines = category_table(by_category)
        text.append("\nBy category\n", "bold").append_text(Text("\n").join([head, *lines]))
        text.append("\n")
    return text


def groups_line(wrong: Wrong, view: RowsView) -> Text:
    """The groups with their sizes, brackets around the one that is shown, and the words sought."""
    text = Text()
    for name, count in wrong.sizes.items():
        chosen = name == view.group
        told = f"{GROUPS[name]} {count}"
        text.append(f"[{told}]" if chosen else f" {told} ", "bold reverse" if chosen else "")
        text.append(" ")
    if view.text.strip():
        text.append(f" with “{display_start(view.text.strip(), _LONGEST)}”", "bold")
    if len(wrong) < wrong.of:
        text.append(f" {len(wrong)} of {wrong.of} wrong ones are listed", "$text-warning")
    return text


def empty_rows(wrong: Wrong | None, view: RowsView) -> str:
    """Why no row is shown, and which key helps."""
    if wrong is None:
        return "The prompts are listed as soon as the parts are written."
    if not len(wrong):
        return "No prompt is wrong or without a verdict."
    if view.text.strip():
        return "No prompt here has these words: Esc takes them away, f looks in the next group."
    return "There are none. f shows others."
