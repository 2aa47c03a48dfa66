"""The line of a remote scan: how far it is, how fast, what is in flight, what went wrong."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from guardtui.app.state import ScanStatus
from guardtui.domain.figures import duration_text
from guardtui.domain.text import display_text
from guardtui.scanners.base import Traffic
from guardtui.tui.content import themed

_NARROW = 100
"""Columns below which words are left out."""

_AROUND = 4
"""Cells of the line's padding, and between words and keys."""


class ScanPane(Static):
    """Hidden while there is nothing to tell."""

    def __init__(self) -> None:
        super().__init__("", id="scan", markup=False)

    def show(self, state: ScanStatus | None, keys: str = "") -> None:
        """Tell this, and which key goes on from here; None hides the line."""
        self.set_class(state is not None, "told")
        if state is not None:
            width = self.app.size.width
            text = scan_text(state, width)
            if keys:
                # The key stays in sight, and the words are cut.
                text.truncate(max(0, width - len(keys) - _AROUND), overflow="ellipsis")
                text.append(f"  {keys}", "bold $text-accent")
            self.update(themed(text), layout=False)


def scan_text(state: ScanStatus, width: int) -> Text:
    """The line, for a screen of so many columns."""
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
        # What the round has not answered yet is asked for, but no call that was made.
        done, total = max(0, check.calls - (total - done)), check.goal.calls
    filled = int(cells * done / max(total, 1))
    if progress.phase.startswith("epoch"):
        text.append(f"{progress.phase.partition(':')[0]} ")
    text.append(f"{'█' * filled}{'░' * (cells - filled)} {done}/{total}")
    if check is not None:
        text.append(
            f" calls  coverage ±{check.coverage.half_width:.3f}, wanted ±{check.goal.within:g}"
        )
    traffic = state.traffic or Traffic()
    if traffic.held:
        text.append("  ⏸ paused", "bold $text-warning")
    elif traffic.paused >= 1:
        text.append(f"  waits {traffic.paused:.0f} s, as asked", "$text-warning")
    elif traffic.rate > 0 and check is None:
        left = (progress.total - progress.done) / traffic.rate
        text.append(f"  {traffic.rate:.0f}/s  {duration_text(left)} left")
    told = [(f"in flight {traffic.in_flight}", "")] if wide else []
    if progress.known:
        told.append((f"known {progress.known}", ""))
    if traffic.retries and wide:
        told.append((f"retries {traffic.retries}", ""))
    if traffic.refused:
        told.append((f"429s {traffic.refused}", "$text-warning"))
    if traffic.used is not None and check is None:  # a round would tell its own only
        used = traffic.used
        told.append((f"tokens {used.input_tokens + used.output_tokens}", ""))
        if used.cost:
            told.append((f"cost {used.cost:.4g}", ""))
    told.append((f"errors {progress.errors}", "bold $text-error" if progress.errors else ""))
    for words, style in told:
        text.append(f"  {words}", style)
    return text
