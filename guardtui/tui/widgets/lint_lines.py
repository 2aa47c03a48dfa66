"""Advice on the definition below its limits, one short line each, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from guardtui.advice.lint import Advice
from guardtui.advice.lint_advice import NO_EFFECT
from guardtui.domain.figures import rate_text
from guardtui.domain.text import display_text
from guardtui.tui.content import themed
from guardtui.tui.widgets.metrics_panel import delta

ROOMY = (100, 30)
"""Columns and lines of the terminal from which on there is room for `MOST` lines."""
MOST = 3
LEAST = 1


class LintLines(Widget, can_focus=False):
    """Draws advice; it changes its height only when the number of lines does."""

    DEFAULT_CSS = "LintLines { width: 1fr; height: auto; }"

    def __init__(self) -> None:
        super().__init__(id="lint")
        self._advice: tuple[Advice, ...] = ()
        self._pending = False
        self._rows = 0

    def show(self, advice: Sequence[Advice], *, pending: bool = False) -> None:
        """Show this advice; while `pending` what is not measured yet says so."""
        new, rows = tuple(advice), self._rows_of(len(advice))
        if (new, pending, rows) == (self._advice, self._pending, self._rows):
            return
        resized = rows != self._rows
        self._advice, self._pending, self._rows = new, pending, rows
        self.refresh(layout=resized)

    def fit(self) -> None:
        """Show as many lines as there is room for now."""
        if self.is_attached:
            self.show(self._advice, pending=self._pending)

    def _rows_of(self, count: int) -> int:
        """How many lines there is room for, without scrolling where the fields leave any."""
        columns, lines = self.app.size
        if columns < ROOMY[0] or lines < ROOMY[1] or not isinstance(self.parent, Widget):
            return min(count, LEAST)
        above = [one for one in self.parent.children if one is not self and one.display]
        used = max((one.virtual_region.bottom for one in above), default=0)
        return min(count, max(LEAST, min(MOST, self.parent.size.height - used)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._rows

    def render(self) -> Content:
        shown = self._rows
        left = len(self._advice) - shown
        text = Text()
        for place, one in enumerate(self._advice[:shown]):
            last = place == shown - 1
            more = f"  and {left} more" if left and last else ""
            line = lint_line(one, self.size.width - len(more), pending=self._pending)
            text.append_text(line.append(more, "$text-muted"))
            text.append("" if last else "\n")
        return themed(text)


def lint_line(one: Advice, cells: int, *, pending: bool = False) -> Text:
    """What is doubtful, and what coverage does without it, in so many cells at most."""
    removal = one.removal
    lines = []
    if one.code == NO_EFFECT:
        return Text(set_cell_size(f"⚠ {one.brief}", max(cells, 0)), "bold $text-warning")
    sign, style = ("…" if pending else "n/a", "$text-muted")
    if removal is not None:
        sign, style = delta(removal.change)
        sign = sign or "n/a"
        full = Text("• ", "$text-warning").append(f"{one.brief} · ", "$foreground")
        full.append(
            f"without: coverage {rate_text(removal.before.coverage)} → "
            f"{rate_text(removal.after.coverage)} ",
            "$foreground",
        ).append(sign, style)
        if one.remedy is not None:
            told = f", {removal.fixes} fixed, {removal.regressions} broken"
            chance = " (could be chance)" if removal.could_be_chance else ""
            lines.append(full.copy().append(f"{told}{chance}", "$text-muted"))
        lines.append(full)
    short = Text("• ", "$text-warning").append(f"{one.brief} · without: ", "$foreground")
    lines.append(short.append(sign, style))
    for line in lines:
        if cell_len(line.plain) <= cells:
            return line
    # The effect stays in sight, and the words are cut.
    room = cells - cell_len(sign) - 14
    if room < 8:
        return Text(set_cell_size(f"• {one.brief}", max(cells, 0)))
    cut = Text("• ", "$text-warning").append(f"{set_cell_size(one.brief, room)}", "$foreground")
    return cut.append("… without: ", "$foreground").append(sign, style)


def advice_text(
    advice: Sequence[Advice], coverage_range: Sequence[tuple[str, str]], prompts: int, engine: str
) -> Text:
    """All advice in words, with what was measured.

    `coverage_range` has the intervals of coverage before and after for each, "" without one.
    """
    text = Text()
    for place, (one, (before, after)) in enumerate(zip(advice, coverage_range, strict=True), 1):
        text.append(f"{place:>2}  ", "bold").append(f"{display_text(one.message)}\n")
        removal = one.removal
        if one.action:
            text.append(f"    {display_text(one.action)}\n", "$text-muted")
        if one.code == NO_EFFECT:
            text.append("\n")
            continue
        text.append("    without it: ")
        if removal is None:
            text.append("n/a", "$text-muted").append("  (could not be measured)\n")
        else:
            sign, style = delta(removal.change)
            text.append(f"coverage {rate_text(removal.before.coverage)} {before} → ")
            text.append(f"{rate_text(removal.after.coverage)} {after}  ")
            text.append(sign or "n/a", style)
            if removal.worth is not None:
                text.append(f"\n    {removal.worth.sentence}", "$text-muted")
            text.append("\n")
        if one.lines:
            lines = ", ".join(map(str, one.lines))
            text.append(f"    line{'s' * (len(one.lines) > 1)} {lines}\n", "$text-muted")
        text.append("\n")
    if not advice:
        text.append(
            "Nothing is doubtful by these rules: wording that excludes, length, examples that are "
            "nearly equal, test prompts or nearer to the negatives, weight of the description, "
            "languages.\n\n"
        )
    measured = f"Measured by the embedded engine ({engine}) on all {prompts} labelled prompts, "
    text.append(
        f"{measured}each cause removed by itself. It is a proxy: a remote guardrail may answer "
        "otherwise.",
        "$text-muted",
    )
    return text
