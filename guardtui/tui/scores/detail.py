"""One scored row in full: values, marked answer, explanations, metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from rich.text import Text

from guardtui.domain.text import display_text, hidden_characters
from guardtui.scorer.types import Score
from guardtui.tui.detail.pane import SHOWN_CHARACTERS
from guardtui.tui.scoring.rows import ScoreColumn, ScoreTable
from guardtui.tui.scoring.scorer_run import FAILED, NOT_YET, value_text

BEGINS, ENDS = "▸", "◂"
STYLES = {"C": "bold $text-success", "I": "bold $text-error", FAILED: "bold $text-error"}


@dataclass(frozen=True)
class RowDetail:
    """A scored row; equal while the results of its scorers are the same."""

    table: ScoreTable = field(compare=False)
    row: int
    source: int
    said: tuple[tuple[str, str, int, bool], ...]

    signs_name: ClassVar[str] = "Signs around the answer"

    @classmethod
    def of(cls, table: ScoreTable, row: int) -> RowDetail:
        """Return the detail of a row of the file."""
        values = (
            (column.name, column.texts[row], id(column.run), column.final)
            for column in table.columns
        )
        return cls(table, row, id(table.outputs), tuple(values))

    @property
    def copied(self) -> str:
        return self.table.outputs.outputs[self.row]

    def drawn(self, width: int, *, marked: bool) -> tuple[Text, list[tuple[int, int]]]:
        return score_text(self.table, self.row, marked=marked)


def score_text(
    table: ScoreTable, row: int, *, marked: bool = True
) -> tuple[Text, list[tuple[int, int]]]:
    """Return the text of a row, and start and end of the added signs."""
    outputs = table.outputs
    text = Text()
    text.append(f"line {outputs.lines[row]}  ", "$text-muted")
    text.append(f"id {_inert(outputs.ids[row])}")
    if outputs.epochs[row] != 1:
        text.append(f"  epoch {outputs.epochs[row]}")
    for scorer in table.columns:
        value = scorer.texts[row]
        text.append(f"  {scorer.name} ")
        text.append(_inert(value, 60), STYLES.get(value, "bold"))
    hidden = hidden_characters(outputs.outputs[row][:SHOWN_CHARACTERS])
    if hidden:
        text.append(f"  {hidden} hidden characters in the output", "bold $text-accent")
    _label(text, "output")
    answer = table.answer(row) if marked else ""
    signs = _output(text, outputs.outputs[row], answer)
    several = outputs.targets[row]
    _label(text, "target" if len(several) == 1 else f"{len(several)} targets")
    text.append(" | ".join(_inert(target) or "(empty)" for target in several))
    _label(text, "input")
    text.append(_inert(outputs.inputs[row]))
    for index, choice in enumerate(outputs.choices[row]):
        text.append(f"\n  {chr(65 + index) if index < 26 else index + 1} {_inert(choice)}")
    for column in table.columns:
        _append_score(text, column, row, outputs.outputs[row])
    for name, values in outputs.metadata.items():
        if values[row] not in (None, ""):
            _label(text, _inert(name, 60))
            text.append(_inert(str(values[row]), 2000))
    return text, signs


def _label(text: Text, name: str) -> None:
    text.append(f"\n{name}  ", "$text-muted")


def _inert(text: str, most: int = SHOWN_CHARACTERS) -> str:
    shown = display_text(text[:most], newlines=True)
    return shown if len(text) <= most else f"{shown} … {len(text) - most} characters more"


def _append_score(text: Text, column: ScoreColumn, row: int, output: str) -> None:
    """Append the result of a scorer, in lines of its own."""
    error = column.run.result.errors.get(row)
    score: Score | None = column.run.result.scores[row]
    _label(text, column.name)
    if error is not None:
        text.append(f"no score: {_inert(error)}", "$text-error")
        return
    if score is None:
        waits = column.texts[row] == NOT_YET
        text.append("not scored yet" if waits else "the scorer left this row out")
        return
    value = value_text(score)
    text.append(_inert(value, 200), STYLES.get(value, "bold"))
    if score.reason:
        text.append(f"  reason {_inert(score.reason, 200)}")
    if score.answer is not None:
        text.append("  answer ", "$text-muted")
        text.append(_inert(score.answer) if score.answer else "(empty)")
    if score.explanation is not None:
        text.append("\n  explanation ", "$text-muted")
        same = score.explanation.strip() == output.strip()
        text.append("the output as in the file" if same else _inert(score.explanation))
    if score.metadata:
        for name, value_of in score.metadata.items():
            text.append(f"\n  {_inert(str(name), 60)} ", "$text-muted")
            text.append(_inert(str(value_of), 2000))


def _output(text: Text, output: str, answer: str) -> list[tuple[int, int]]:
    """Append the output with signs around the last occurrence of the answer; return their spans."""
    shown = output[:SHOWN_CHARACTERS]
    index = _span_of(shown, answer)
    if index is None:
        text.append(_inert(output) if output else "(empty)")
        if answer and answer.strip().lower() != output.strip().lower():
            text.append("  (the answer does not stand in it as it is)", "$text-muted")
        return []
    start, end = index
    signs = []
    text.append(display_text(shown[:start], newlines=True))
    for part, style in ((BEGINS, "bold $text-accent"), (shown[start:end], "bold underline")):
        part_start = len(text.plain)
        text.append(display_text(part, newlines=True), style)
        if part is BEGINS:
            signs.append((part_start, len(text.plain)))
    signs.append((len(text.plain), len(text.plain) + 1))
    text.append(ENDS, "bold $text-accent")
    text.append(display_text(shown[end:], newlines=True))
    if len(output) > SHOWN_CHARACTERS:
        text.append(f" … {len(output) - SHOWN_CHARACTERS} characters more", "$text-muted")
    return signs


def _span_of(output: str, answer: str) -> tuple[int, int] | None:
    """Return the last occurrence of the answer; None if absent, or if it is the whole output."""
    wanted = answer.strip()
    if not wanted or wanted.lower() == output.strip().lower():
        return None
    start = output.rfind(wanted)
    if start >= 0:
        return start, start + len(wanted)
    matches = [match.span() for match in re.finditer(re.escape(wanted), output, re.IGNORECASE)]
    return matches[-1] if matches else None
