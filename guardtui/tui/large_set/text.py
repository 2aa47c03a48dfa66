"""Texts about a whole large set: rates beside those of the sample, changes, progress."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from guardtui.domain.figures import bracketed, duration_text, rate_text
from guardtui.domain.metrics import RATE_TITLES, Metrics
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.base import Progress
from guardtui.shards.parts import Run
from guardtui.shards.sample import Sample
from guardtui.shards.whole_set import EMBEDDING, WholeChange
from guardtui.tui.kit.progress_bar import progress_bar
from guardtui.tui.kit.table_dialog import NO_WORDS, PromptTableView, groups_text
from guardtui.tui.large_set.rows import GROUPS, WrongRows
from guardtui.tui.metrics.pane import ESTIMATED, delta
from guardtui.tui.prompts.check_text import category_table

_LONGEST = 60
_EDITS = 6


def progress_text(now: Progress, rate: float | None, width: int) -> str:
    """Return a progress bar with counts, and with a rate per second the remaining time."""
    cells = max(5, min(30, width // 4))
    line = f"{now.phase} {progress_bar(now.done, now.total, cells)} {now.done}/{now.total}"
    if rate and now.phase == EMBEDDING:
        line += f"  {rate:.0f}/s  {duration_text((now.total - now.done) / rate)} left, once"
    return line


def headline(run: Run, how: str, notes: Sequence[str]) -> Text:
    """Return what was evaluated, by which scanner, and how."""
    settings = run.settings
    text = Text(f"All {run.large.rows} prompts of {display_text(run.large.source)}", "bold")
    text.append(f"  {how}\n", "not bold $text-success")
    threshold = "" if settings.threshold is None else f"  threshold {settings.threshold:.3f}"
    source = f" ({settings.threshold_source})" if settings.threshold_source else ""
    text.append(
        f"{display_start(settings.guardrail.text(), _LONGEST)}{threshold}{source}\n",
        "not bold $text-muted",
    )
    for note in notes:
        text.append(f"⚠ {note}\n", "not bold $text-warning")
    return text


def rates_text(whole: Metrics, sample: Sample, of_sample: Metrics | None) -> Text:
    """Return the rates of all prompts with 95 % intervals, beside those of the sample."""
    intervals = rate_intervals(whole)
    sample_intervals = rate_intervals(of_sample) if of_sample is not None else {}
    sampled, every = len(sample.prompts), sample.of
    text = Text(f"{'':<10}{'all ' + str(every):<23}", "$text-muted")
    text.append(f"{'sample of ' + str(sampled)}\n" if of_sample is not None else "\n")
    for name, title in RATE_TITLES.items():
        text.append(
            f"{title:<10}", "bold not dim $foreground" if name == "coverage" else "$foreground"
        )
        text.append(f"{rate_text(getattr(whole, name)):<6}", "bold $foreground")
        interval = intervals.get(name)
        text.append(f"{bracketed(interval, 3):<17}", "$text-muted")
        if of_sample is not None:
            text.append(f"{rate_text(getattr(of_sample, name)):<6}", "$foreground")
            interval = sample_intervals.get(name)
            if not sample.proportional and name not in ESTIMATED:
                text.append("of the sample", "$text-muted")
            else:
                text.append(bracketed(interval), "$text-muted")
        text.append("\n")
    text.append(
        f"TP {whole.tp}  FN {whole.fn}  FP {whole.fp}  TN {whole.tn}  errors {whole.errors}\n",
        "$foreground",
    )
    return text


def change_text(change: WholeChange | None) -> Text:
    """Return the changes over all prompts since the previous evaluation."""
    if change is None:
        return Text(
            "Nothing to compare with: no other definition was evaluated yet.\n", "$text-muted"
        )
    pairs, worth = change.pairs, change.significance
    text = Text(f"\nSince run {change.before.run.id}", "bold")
    edits = [display_text(edit) for edit in change.edits]
    changes = ", ".join(edits[:_EDITS]) + (" …" if len(edits) > _EDITS else "")
    text.append(f"  {changes or 'the same definition'}\n", "not bold $text-muted")
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
    """Return the parts, and the rates by category."""
    text = Text()
    for part in parts:
        text.append_text(part)
    if by_category:
        head, lines = category_table(by_category)
        text.append("\nBy category\n", "bold").append_text(Text("\n").join([head, *lines]))
        text.append("\n")
    return text


def groups_line(wrong: WrongRows, view: PromptTableView) -> Text:
    """Return the groups with their sizes, and how many of the rows are listed."""
    text = groups_text(wrong.sizes, GROUPS, view)
    if len(wrong) < wrong.of:
        text.append(f" {len(wrong)} of {wrong.of} wrong ones are listed", "$text-warning")
    return text


def empty_rows(wrong: WrongRows | None, view: PromptTableView) -> str:
    """Return why no row is shown, and which key helps."""
    if wrong is None:
        return "The prompts are listed as soon as the parts are written."
    if not len(wrong):
        return "No prompt is wrong or without a verdict."
    if view.text.strip():
        return NO_WORDS
    return "No prompts in this group. f shows others."
