"""Texts of the check of the data: findings, and a table of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from guardtui.domain.figures import rate_text
from guardtui.domain.prompts import Finding, Severity
from guardtui.domain.text import display_start, display_text

if TYPE_CHECKING:
    from guardtui.domain.metrics import Metrics
    from guardtui.domain.topic import Violation

_NAME_CELLS = 18


def check_text(violations: Sequence[Violation], findings: Sequence[Finding]) -> Text:
    """Return all violations of the definition and all findings about the prompt set."""
    text = Text()
    for violation in violations:
        text.append("limit    ", "bold $text-error")
        text.append(f"{violation.message}\n")
    for finding in findings:
        bad = finding.severity is Severity.ERROR
        text.append(
            f"{finding.severity.value:<9}", "bold $text-error" if bad else "bold $text-warning"
        )
        text.append(display_text(finding.message))
        if finding.lines:
            text.append(f"  ({lines_text(finding.lines)})", "$text-muted")
        text.append("\n")
    if not text:
        text.append(
            "Nothing to report: no duplicates, no contradictory labels, no leakage, no imbalance."
        )
    return text


def lines_text(lines: Sequence[int]) -> str:
    """Return lines of a file with their noun: `line 3`, `lines 3, 5`."""
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"


def category_table(categories: Mapping[str, Metrics]) -> tuple[Text, list[Text]]:
    """Return the titles, and a line with rates and mistakes for each category."""
    most = max((max(rates.fn, rates.fp) for rates in categories.values()), default=0)
    wide = max(5, len(str(most)) + 2)
    some_open = any(rates.open for rates in categories.values())
    head = f"{'':<{_NAME_CELLS}}{'TPR':>7}{'TNR':>7}{'FN':>{wide}}{'FP':>{wide}}"
    head += f"{'  open' * some_open}{'errors':>8}"
    lines = []
    for name, metrics in categories.items():
        line = Text(_in_cells(display_start(name, _NAME_CELLS), _NAME_CELLS))
        line.append(f"{rate_text(metrics.true_positive_rate):>7}")
        line.append(f"{rate_text(metrics.true_negative_rate):>7}")
        line.append(f"{metrics.fn:>{wide}}{metrics.fp:>{wide}}")
        lines.append(line.append(f"{f'{metrics.open:>6}' * some_open}{metrics.errors:>8}"))
    return Text(head, "$text-muted"), lines


def _in_cells(text: str, cells: int) -> str:
    """Return the text in exactly so many cells, the last one a blank; "…" marks a cut."""
    if cell_len(text) < cells:
        return set_cell_size(text, cells)
    return f"{set_cell_size(text, cells - 2)}… "
