"""Advice on the definition as text: a line each below the fields, and the page with all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from guardtui.advice.lint_advice import NO_EFFECT
from guardtui.domain.figures import rate_text
from guardtui.domain.text import display_text
from guardtui.tui.metrics.pane import delta
from guardtui.tui.prompts.check_text import lines_text

if TYPE_CHECKING:
    from guardtui.advice.lint_advice import Advice


def lint_line(advice: Advice, cells: int, *, pending: bool = False) -> Text:
    """Return advice and the coverage without its cause, in at most so many cells."""
    removal = advice.removal
    lines = []
    if advice.code == NO_EFFECT:
        return _cut(Text(f"⚠ {advice.brief}", "bold $text-warning"), cells)
    known = removal is not None and removal.change is not None
    if not known and not pending:
        return _cut(Text(f"• {advice.brief}"), cells)
    sign, style = "…", "$text-muted"
    if removal is not None and known:
        sign, style = delta(removal.change, "no change")
        full = Text("• ", "$text-warning").append(f"{advice.brief} · ", "$foreground")
        full.append(
            f"without: coverage {rate_text(removal.before.coverage)} → "
            f"{rate_text(removal.after.coverage)} ",
            "$foreground",
        ).append(sign, style)
        if advice.remedy is not None:
            effect = f", {removal.fixes} fixed, {removal.regressions} broken"
            chance = " (may be chance)" if removal.could_be_chance else ""
            lines.append(full.copy().append(f"{effect}{chance}", "$text-muted"))
        lines.append(full)
    short = Text("• ", "$text-warning").append(f"{advice.brief} · without: ", "$foreground")
    lines.append(short.append(sign, style))
    for line in lines:
        if cell_len(line.plain) <= cells:
            return line
    # The words are cut, never the effect.
    room = cells - cell_len(sign) - 14
    if room < 8:
        return _cut(Text(f"• {advice.brief}"), cells)
    cut = Text("• ", "$text-warning").append(f"{set_cell_size(advice.brief, room)}", "$foreground")
    return cut.append("… without: ", "$foreground").append(sign, style)


def _cut(line: Text, cells: int) -> Text:
    if cells <= 0:
        return Text()
    line.truncate(cells, overflow="ellipsis")
    return line


def advice_text(
    advice: Sequence[Advice], coverage_range: Sequence[tuple[str, str]], prompts: int, engine: str
) -> Text:
    """Return all advice in full, with its measured effects.

    `coverage_range` has the intervals of coverage before and after for each, "" without item.
    """
    text = Text()
    for index, (item, (before, after)) in enumerate(zip(advice, coverage_range, strict=True), 1):
        text.append(f"{index:>2}  ", "bold").append(f"{display_text(item.message)}\n")
        removal = item.removal
        if item.action:
            text.append(f"    {display_text(item.action)}\n", "$text-muted")
        if item.code == NO_EFFECT:
            text.append("\n")
            continue
        text.append("    without it: ")
        if removal is None:
            text.append("n/a", "$text-muted").append("  (could not be measured)\n")
        else:
            sign, style = delta(removal.change, "no change")
            text.append(f"coverage {rate_text(removal.before.coverage)} {before} → ")
            text.append(f"{rate_text(removal.after.coverage)} {after}  ")
            text.append(sign or "n/a", style)
            if removal.worth is not None:
                text.append(f"\n    {removal.worth.sentence}", "$text-muted")
            text.append("\n")
        if item.lines:
            text.append(f"    {lines_text(item.lines)}\n", "$text-muted")
        text.append("\n")
    if not advice:
        text.append(
            "Nothing is doubtful by these rules: wording that excludes, length, examples that are "
            "nearly equal, test prompts or nearer to prompts that do not belong, weight of the "
            "description, languages.\n\n"
        )
    measured = f"Measured by the engine ({engine}) on all {prompts} labelled prompts, "
    text.append(
        f"{measured}each cause removed by itself. It is a stand-in: your guardrail may answer "
        "otherwise.",
        "$text-muted",
    )
    return text
