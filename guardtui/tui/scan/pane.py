"""The progress line of a remote scan or experiment: progress, rate, requests in flight, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from guardtui.domain.figures import duration_text
from guardtui.domain.guardrail import REMOTE
from guardtui.domain.text import display_text
from guardtui.scanners.base import Traffic
from guardtui.tui.kit.block_chart import progress_bar
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed

if TYPE_CHECKING:
    from guardtui.app.state import ScanStatus
    from guardtui.domain.evaluation import Evaluation

_NARROW = 100
"""Columns below which words are left out."""

_AROUND = 4
"""Cells of the line's padding, and between words and keys."""


class ScanPane(Static):
    """The line; hidden without a scan."""

    def __init__(self) -> None:
        super().__init__("", id="scan")

    def show(self, line: Callable[[int], Text] | None, keys: str = "") -> None:
        """Show a line for so many columns, and the keys that follow; None hides it."""
        self.set_class(line is not None, "active")
        if line is not None:
            width = self.app.size.width
            text = line(width)
            if keys:
                # The words are cut, never the key.
                text.truncate(max(0, width - len(keys) - _AROUND), overflow="ellipsis")
                text.append(f"  {keys}", "bold $text-accent")
            self.update(themed(text), layout=False)


def with_counts_of(evaluation: Evaluation | None, status: ScanStatus | None) -> ScanStatus | None:
    """Return the status with the counts of the shown evaluation, if that is of a running scan.

    All panes then count the same verdicts; the scan itself may be a moment ahead of them.
    """
    progress = None if status is None else status.progress
    if status is None or progress is None or evaluation is None or status.check is not None:
        return status
    metrics = evaluation.metrics
    of_scan = evaluation.settings.kind in REMOTE and 0 < metrics.open < metrics.prompts
    if not of_scan or metrics.prompts != progress.total or progress.phase.startswith("epoch"):
        return status
    counted = replace(progress, done=metrics.prompts - metrics.open, errors=metrics.errors)
    return replace(status, progress=counted)


def scan_text(state: ScanStatus, width: int) -> Text:
    """Return the line for a screen of so many columns."""
    text = Text(f"{state.who} ", "bold")
    if state.problem:
        text.append("✗ ", "bold $text-error")
    progress = state.progress
    if progress is None:
        return text.append(display_text(state.step))
    wide = width >= _NARROW
    cells = max(8, min(24, width // 6))
    done, total = progress.done, progress.total
    check = state.check
    if check is not None:
        # Open requests of the round count as calls, but are not answered yet.
        done, total = max(0, check.calls - (total - done)), check.most_calls
    if progress.phase.startswith("epoch"):
        text.append(f"{progress.phase.partition(':')[0]} ")
    text.append(f"{progress_bar(done, total, cells)} {done}/{total}")
    if check is not None:
        text.append(f" calls  coverage ±{check.coverage.half_width:.3f}, wanted ±{check.within:g}")
    traffic = state.traffic or Traffic()
    if traffic.held:
        text.append("  ⏸ paused", "bold $text-warning")
    elif traffic.paused >= 1:
        text.append(f"  waits {traffic.paused:.0f} s, as asked", "$text-warning")
    elif traffic.rate > 0 and check is None:
        left = (progress.total - progress.done) / traffic.rate
        text.append(f"  {traffic.rate:.0f}/s  {duration_text(left)} left")
    parts = [(f"in flight {traffic.in_flight}", "")] if wide else []
    if progress.known:
        parts.append((f"known {progress.known}", ""))
    if traffic.retries and wide:
        parts.append((f"retries {traffic.retries}", ""))
    if traffic.refused:
        parts.append((f"refused {traffic.refused}", "$text-warning"))
    if traffic.used is not None and check is None:  # a round has only its own usage
        used = traffic.used
        parts.append((f"tokens {used.input_tokens + used.output_tokens}", ""))
        if used.cost:
            parts.append((f"cost {used.cost:.4g}", ""))
    parts.append((f"errors {progress.errors}", "bold $text-error" if progress.errors else ""))
    for words, style in parts:
        text.append(f"  {words}", style)
    return text
