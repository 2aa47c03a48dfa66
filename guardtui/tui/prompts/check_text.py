"""Texts of the check of the data: its findings, and a table of categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start, display_text

if TYPE_CHECKING:
    from guardtui.advice.duplicates import PromptPair
    from guardtui.advice.prompt_set import LabelSuggestion, Survey
    from guardtui.domain.metrics import Metrics
    from guardtui.domain.topic import Violation

_NAME_CELLS = 18
_KIND_CELLS = 9
_PROMPT_CHARACTERS = 400

PAIRS = 50
"""Pairs of near-duplicates that are listed; all are counted."""


@dataclass(frozen=True, slots=True)
class CheckEntry:
    """A finding: its text, and the rows of the prompts that it is about, called `name`."""

    text: Text
    name: str = ""
    rows: tuple[int, ...] = ()


def definition_entries(violations: Sequence[Violation]) -> list[CheckEntry]:
    """Return the violated limits of the definition."""
    return [
        CheckEntry(_kind("limit", "$text-error").append(violation.message))
        for violation in violations
    ]


def prompt_entries(findings: Sequence[Finding], prompts: PromptSet) -> list[CheckEntry]:
    """Return the findings about the prompts, with the rows of the lines that they list."""
    lines = prompts.frame["line"].to_numpy()
    entries = []
    for finding in findings:
        bad = finding.severity is Severity.ERROR
        text = _kind(finding.severity.value, "$text-error" if bad else "$text-warning")
        text.append(display_text(finding.message))
        if finding.lines:
            text.append(f"  ({lines_text(finding.lines)})", "$text-muted")
        rows = tuple(np.flatnonzero(np.isin(lines, finding.lines)).tolist())
        entries.append(CheckEntry(text, finding.code.replace("-", " "), rows))
    return entries


def survey_entries(survey: Survey) -> Iterator[CheckEntry]:
    """Return the near-duplicates, contradicting ones first, and where to label next."""
    duplicates, prompts = survey.duplicates, survey.prompts
    pairs = duplicates.pairs[:PAIRS]
    if pairs:
        text = _kind("alike", "$text-warning")
        text.append(
            f"{count_text(duplicates.total, 'pair')} of near-duplicates (similarity "
            f"{duplicates.near} or more); ! the labels contradict: {duplicates.contradicting}"
        )
        if duplicates.among < len(prompts):
            text.append(f"; compared: {duplicates.among} of {len(prompts)} prompts")
        elif not duplicates.exact:
            text.append("; of so many prompts some pairs may be missed")
        listed = dict.fromkeys(row for pair in pairs for row in (pair.first, pair.second))
        yield CheckEntry(text, "near-duplicates", tuple(listed))
    for pair in pairs:
        yield CheckEntry(_pair_text(pair, prompts), "near-duplicates", (pair.first, pair.second))
    for suggestion in survey.spots:
        yield CheckEntry(_spot_text(suggestion, prompts), "to label near", suggestion.rows)


def _kind(word: str, style: str) -> Text:
    return Text().append(f"{word:<{_KIND_CELLS}}", f"bold {style}")


def _pair_text(pair: PromptPair, prompts: PromptSet) -> Text:
    text = Text(" " * _KIND_CELLS)
    text.append("! " if pair.contradicts else "  ", "bold $text-error")
    text.append(f"{pair.cosine:.3f}", "bold")
    return _with_prompts(text, (pair.first, pair.second), prompts)


def _spot_text(suggestion: LabelSuggestion, prompts: PromptSet) -> Text:
    text = _kind("label", "$text-accent")
    text.append(f"{suggestion.score:.3f} ", "bold")
    text.append(f"prompts like these: few labels here are {_label(suggestion.wanted)} (by nearness")
    text.append(f" true {suggestion.belong:.1f}, false {suggestion.others:.1f})")
    return _with_prompts(text, suggestion.rows, prompts)


def _with_prompts(text: Text, rows: Sequence[int], prompts: PromptSet) -> Text:
    """Add a line for each of these prompts, with its label."""
    for row in rows:
        text.append(f"\n{'':<{_KIND_CELLS + 2}}")
        text.append(f"{_label(bool(prompts.expected[row])):<7}", "$text-muted")
        text.append(display_start(str(prompts.prompts[row]), _PROMPT_CHARACTERS))
    return text


def _label(expected: bool) -> str:
    return "true" if expected else "false"


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
