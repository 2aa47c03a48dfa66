"""Metrics of scorers as text: figures with standard errors, also by group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from rich.text import Text

from guardtui.domain.text import display_text
from guardtui.scorer.aggregate import ScorerSummary
from guardtui.session.score_run import ScoreGroup
from guardtui.tui.kit.progress_bar import progress_bar
from guardtui.tui.scoring.rows import ScoreColumn
from guardtui.tui.scoring.scorer_run import NOT_YET

_COUNTED = 5
_BAR_CELLS = 20


def figure(value: float) -> str:
    """Return the figure of a metric; "n/a" if undefined."""
    if math.isnan(value):
        return "n/a"
    if value == int(value) and abs(value) >= 10:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"


def figures(summary: ScorerSummary) -> str:
    """Return all metrics of a summary in a line, each with its standard error."""
    parts: list[str] = []
    for name, metric in summary.metrics.items():
        if name.endswith("stderr") and parts:
            parts[-1] += f" ± {figure(metric.value)}"
        else:
            parts.append(f"{display_text(name)} {figure(metric.value)}")
    return "  ".join(parts) or "no metrics"


def metric_lines(column: ScoreColumn, tried: bool) -> Text:
    """Return a scorer's sign, name, figures and values, with a line for each further summary."""
    run = column.run
    text = Text()
    text.append("▶ " if tried else "◆ ", "bold $text-accent")
    text.append(f"{column.name}  ", "bold")
    measured = run.measured
    counts = column.states
    if run.problem:
        text.append(display_text(run.problem.split("\n")[0]), "$text-error")
        return text
    if not run.finished:
        bar = progress_bar(run.done, run.total, _BAR_CELLS)
        text.append(f"{bar} {run.done:,}/{run.total:,}  ")
        if run.asks:
            text.append("Esc stops  ", "bold $text-warning")
    elif counts["to come"]:
        text.append(f"stopped at {run.done:,} of {run.total:,}  ", "bold $text-warning")
    if measured is not None:
        single = len(measured.summaries) == 1
        for index, summary in enumerate(measured.summaries):
            text.append("\n    " if index else "")
            title = [] if single or summary.name == column.name else [display_text(summary.name)]
            title += [] if summary.reducer is None else [f"[{display_text(summary.reducer)}]"]
            text.append(" ".join([*title, figures(summary)]), "" if index else "bold")
            if not index:
                text.append("  ")
                _append_counts(text, column, counts)
    else:
        if run.finished:
            text.append("measuring…  ", "$text-muted")
        _append_counts(text, column, counts)
    return text


def _append_counts(text: Text, column: ScoreColumn, counts: Mapping[str, int]) -> None:
    values = [(value, count) for value, count in column.counts if value != NOT_YET]
    if len(values) <= _COUNTED:
        text.append("  ".join(f"{display_text(value[:20])} {count:,}" for value, count in values))
    else:
        text.append(f"{len(values)} different values")
    others = [
        f"{name} {counts[name]:,}"
        for name in ("unscored", "declined", "errors")
        if counts[name] and len(values) > _COUNTED
    ]
    if others:
        text.append("  " + "  ".join(others), "$text-warning")


def group_text(
    name: str, by_scorer: Iterable[tuple[str, Sequence[ScorerSummary], Sequence[ScoreGroup]]]
) -> Text:
    """Return the metrics over all rows and for each value of a column, a block for each scorer."""
    text = Text()
    for scorer, overall, groups in by_scorer:
        text.append(f"{scorer} by {display_text(name)}\n", "bold")
        rows: list[tuple[str, int | None, Sequence[ScorerSummary]]] = [("all rows", None, overall)]
        rows += [(group.name or "(empty)", group.rows, group.summaries) for group in groups]
        width = min(30, max(len(display_text(title)[:30]) for title, _, _ in rows))
        for title, count, summaries in rows:
            shown = display_text(title)
            shown = shown if len(shown) <= width else f"{shown[: width - 1]}…"
            for index, summary in enumerate(summaries):
                text.append(f"  {'' if index else shown:<{width}}  ")
                text.append(f"{'' if count is None or index else f'n {count:,}':<9} ")
                label = [] if len(summaries) == 1 else [display_text(summary.name)]
                label += [] if summary.reducer is None else [f"[{display_text(summary.reducer)}]"]
                text.append(" ".join([*label, figures(summary)]) + "\n")
        text.append("\n")
    return text


def warnings_text(warnings: Mapping[str, int]) -> Text:
    """Return the warnings of scorers and metrics, with their counts."""
    text = Text()
    if warnings:
        text.append("Warnings\n", "bold")
    for message, count in warnings.items():
        times = f" ({count:,} times)" if count > 1 else ""
        text.append(f"  ⚠ {display_text(message[:500])}{times}\n", "$text-warning")
    return text


def scorer_list() -> list[tuple[str, str, str]]:
    """Return name, signature and first line of the description of every scorer."""
    from guardtui.scorer.factory_signature import FactorySignature
    from guardtui.scorer.registry import load_entry_points, load_own, lookup, names

    load_own()
    with suppress(ImportError):  # a scorer that cannot be loaded is reported when it is used
        load_entry_points()
    scorers = []
    for name in names("scorer"):
        factory = lookup("scorer", name)
        description = (factory.__doc__ or "").strip().split("\n")[0]
        scorers.append((name, FactorySignature(name, factory).shown(), description))
    return scorers
