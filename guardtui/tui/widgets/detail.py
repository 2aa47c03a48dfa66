"""One prompt whole: its reason, the words that drove it, and its verdict in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from guardtui.domain.text import display_text, hidden_characters
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.scanners.local.explanation import Explanation
from guardtui.tui.content import themed

SHOWN_CHARACTERS = 20_000
"""Longer prompts are cut here on the screen; exports hold them whole."""

_MARKED_WORDS = 3
_SHORT = 150


@dataclass(frozen=True, eq=False)
class PromptDetail:
    """Everything the pane shows of a prompt; `history` has (iteration, outcome or None)."""

    prompt: str
    line: int
    expected: bool
    outcome: Outcome
    score: float | None
    threshold: float | None
    matched: int
    error: str
    topic: Topic
    history: Sequence[tuple[int, Outcome | None]]
    explanation: Explanation | None = None


class DetailPane(VerticalScroll):
    """Draws a `PromptDetail`, inert."""

    BORDER_TITLE = "Detail"

    def __init__(self) -> None:
        super().__init__(id="detail")
        self._text = Static("", markup=False)

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, detail: PromptDetail | None) -> None:
        """Show a prompt; None when none is selected."""
        if detail is None:
            self._text.update(
                themed(Text("Select a prompt to see why it was judged so.", "$text-muted"))
            )
        else:
            self._text.update(themed(Text("\n").join(_lines(detail))))


def _lines(detail: PromptDetail) -> list[Text]:
    lines = [_verdict(detail)]
    # The prompt comes first where it leaves room for the reason on a small screen.
    first = len(detail.prompt) <= _SHORT and "\n" not in detail.prompt
    if first:
        lines.append(_prompt(detail))
    if reason := _reason(detail):
        lines.append(reason)
    if detail.history:
        lines.append(_history(detail))
    if not first:
        lines.append(_prompt(detail))
    return lines


def _verdict(detail: PromptDetail) -> Text:
    line = Text(f"line {detail.line}  ", "$text-muted")
    style = {Outcome.FP: "bold $text-error", Outcome.FN: "bold $text-warning"}.get(
        detail.outcome, "bold"
    )
    line.append(detail.outcome.name, style)
    belongs = "belongs to the topic" if detail.expected else "does not belong to the topic"
    line.append(f"  label: {belongs}")
    if detail.error:
        line.append(f"  no verdict: {display_text(detail.error)}", "$text-error")
    elif detail.score is not None and detail.threshold is not None:
        sign = "≥" if detail.score >= detail.threshold else "<"
        line.append(f"  score {detail.score:.3f} {sign} threshold {detail.threshold:.3f}")
    hidden = hidden_characters(detail.prompt)
    if hidden:
        line.append(f"  {hidden} hidden characters", "bold $text-accent")
    return line


def _reason(detail: PromptDetail) -> Text | None:
    if detail.matched < 0:
        return None
    if detail.matched == 0:
        nearest = "the description"
    elif detail.matched <= len(detail.topic.examples):
        example = display_text(detail.topic.examples[detail.matched - 1][:80])
        nearest = f"example {detail.matched} “{example}”"
    else:
        nearest = f"example {detail.matched}"
    line = Text(f"nearest: {nearest}")
    explanation = detail.explanation
    if explanation is not None:
        words = sorted(explanation.words, key=lambda word: -abs(word.z))[:6]
        if words:
            how = "words" if explanation.exact else "words (by leaving them out)"
            line.append(f"\n{how}: ", "$text-muted")
            line.append("  ".join(f"{display_text(word.word)} {word.z:+.2f}" for word in words))
    return line


def _history(detail: PromptDetail) -> Text:
    line = Text("verdicts: ", "$text-muted")
    for number, outcome in detail.history:
        name = outcome.name if outcome is not None else "–"
        wrong = outcome in (Outcome.FP, Outcome.FN)
        line.append(f"#{number} {name}  ", "bold" if wrong else "$text-muted")
    return line


def _prompt(detail: PromptDetail) -> Text:
    """The prompt's text; the words that raised its score most are underlined."""
    shown = detail.prompt[:SHOWN_CHARACTERS]
    marks: list[tuple[int, int]] = []
    if detail.explanation is not None:
        raising = [word for word in detail.explanation.words if word.z > 0]
        raising.sort(key=lambda word: -word.z)
        marks = sorted((word.start, word.end) for word in raising[:_MARKED_WORDS])
    text = Text()
    at = 0
    for start, end in marks:
        if at <= start < end <= len(shown):
            text.append(display_text(shown[at:start], newlines=True))
            text.append(display_text(shown[start:end], newlines=True), "bold underline")
            at = end
    text.append(display_text(shown[at:], newlines=True))
    if len(detail.prompt) > SHOWN_CHARACTERS:
        text.append(f" … {len(detail.prompt) - SHOWN_CHARACTERS} characters more", "$text-muted")
    return text
