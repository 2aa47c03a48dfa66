"""Text of the lint: the line below the definition, and a piece of advice in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from guardtui.advice.lint_advice import NO_EFFECT
from guardtui.domain.figures import rate_text
from guardtui.domain.text import display_text
from guardtui.tui.metrics.pane import delta
from guardtui.tui.prompts.check_text import lines_text

if TYPE_CHECKING:
    from guardtui.advice.lint_advice import Advice


def lint_line(advice: Sequence[Advice], keys: str, cells: int) -> Text:
    """Return the first advice, the number of the others, and the keys of all, in so many cells.

    Empty without advice.

    What to do next, and with which effect, is said by the line Next alone.
    """
    if not advice:
        return Text()
    first = advice[0]
    grave = first.code == NO_EFFECT
    others = f"  and {len(advice) - 1} more" if len(advice) > 1 else ""
    end = Text(f"{others} · {keys}" if keys else others, "$text-muted")
    line = Text(f"{'⚠' if grave else '•'} {first.brief}", "bold $text-warning" if grave else "")
    if cells < 1:
        return Text()
    if end.cell_len + 8 > cells:
        end = Text()
    line.truncate(cells - end.cell_len, overflow="ellipsis")
    return line.append_text(end)


def brief_line(item: Advice) -> Text:
    """Return a piece of advice in a line: the change without its cause, and its text."""
    sign, style = delta(None if item.removal is None else item.removal.change, "no change")
    return Text().append(f"{sign or 'n/a':<10} ", style or "$text-muted").append(item.brief)


def advice_text(item: Advice, before: str, after: str) -> Text:
    """Return a piece of advice in full, with its measured effect.

    `before` and `after` are the intervals of both coverages, or "".
    """
    text = Text(f"{display_text(item.message)}\n")
    if item.action:
        text.append(f"{display_text(item.action)}\n", "$text-muted")
    if item.code == NO_EFFECT:
        return text
    text.append("without it: ")
    removal = item.removal
    if removal is None:
        text.append("n/a", "$text-muted").append("  (could not be measured)\n")
    else:
        sign, style = delta(removal.change, "no change")
        text.append(f"coverage {rate_text(removal.before.coverage)} {before} → ")
        text.append(f"{rate_text(removal.after.coverage)} {after}  ").append(sign or "n/a", style)
        if removal.worth is not None:
            text.append(f"\n{removal.worth.sentence}", "$text-muted")
        text.append("\n")
    if item.lines:
        text.append(f"{lines_text(item.lines)}\n", "$text-muted")
    return text
