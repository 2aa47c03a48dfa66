"""One prompt in full: its verdict, the reasons for it, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from guardtui.advice.word_effects import strongest_words
from guardtui.domain.profile import only_others
from guardtui.domain.text import display_start, display_text, hidden_characters
from guardtui.domain.verdicts import Outcome
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.messages import CloseDetail
from guardtui.tui.registry.actions import DETAIL, bindings

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.scanners.local.explanation import Contribution, Explanation

SHOWN_CHARACTERS = 20_000
"""Longer prompts are cut on the screen; exports contain them in full."""

RAISES, LOWERS = "bold underline on $success-muted", "italic on $error-muted"

_SHORT = 150
_RUNS = 3
"""Most runs of iterations with the same verdict, of each guardrail."""

_SIGNS = {
    Outcome.TP: "✓",
    Outcome.TN: "✓",
    Outcome.FP: "✗",
    Outcome.FN: "✗",
    Outcome.ERROR: "?",
    Outcome.OPEN: "…",
    None: "·",
}
_STYLES = {
    Outcome.FP: "bold $text-error",
    Outcome.FN: "bold $text-warning",
    Outcome.ERROR: "bold $text-error",
    Outcome.OPEN: "$text-muted",
}

_WORDS = {
    Outcome.TP: "rightly stopped",
    Outcome.TN: "rightly let through",
    Outcome.FP: "wrongly stopped",
    Outcome.FN: "missed",
    Outcome.ERROR: "no verdict",
    Outcome.OPEN: "not scanned",
    None: "not in the set",
}

_NAMES = 5
_NAME_CHARACTERS = 60
_NOTE_CHARACTERS = 300
_REASON_CHARACTERS = 4_000

_NOT_EVALUATED = (
    "Nothing is evaluated yet: that happens by itself in a moment, and after every edit.\n"
    "Then choose a prompt in the results to see here why it was judged so."
)
_NOT_SELECTED = (
    "No prompt is selected. Go to the results (F5) and move with the arrows; Enter comes back\n"
    "here. Where the results are empty, 7 shows all prompts."
)


@dataclass(frozen=True, slots=True)
class OtherVerdict:
    """Latest verdict of a guardrail that is not shown, from the iteration `number`.

    `current`: it is on the definition that is shown.
    """

    guardrail: str
    number: int
    outcome: Outcome
    current: bool
    score: float | None = None
    stopped_by: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class PromptDetail:
    """Everything the pane shows of a prompt; `history` has (guardrail, iteration, outcome or None).

    `others` are verdicts of other guardrails. `note` is a doubt about the verdict, `stopped_by` the
    topics that stopped the prompt, `reason` that of a judge. Unless the verdict is `by_engine`, the
    nearest part and the words of the explanation are the engine's view. With `forecast` the score
    is the probability that the guardrail triggers; `with_others`: other topics of the profile may
    be the reason.
    """

    prompt: str
    line: int
    expected: bool
    outcome: Outcome
    score: float | None
    threshold: float | None
    matched: int
    error: str
    topic: Topic
    history: Sequence[tuple[str, int, Outcome | None]]
    explanation: Explanation | None = None
    note: str = ""
    stopped_by: Sequence[str] = ()
    reason: str = ""
    by_engine: bool = True
    forecast: bool = False
    with_others: bool = False
    others: Sequence[OtherVerdict] = ()


class DetailPane(VerticalScroll):
    """Draws a `PromptDetail`."""

    BORDER_TITLE = "Detail"
    BINDINGS = bindings(DETAIL)

    def __init__(self) -> None:
        super().__init__(id="detail")
        self._text = Static("")
        self._detail: PromptDetail | None = None
        self._evaluated = False
        self._fitted_for = 0

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, detail: PromptDetail | None, *, evaluated: bool | None = None) -> None:
        """Show a prompt; None if nothing is selected.

        `evaluated` tells whether there is anything to select; None keeps what was known.
        """
        self._evaluated = self._evaluated or detail is not None if evaluated is None else evaluated
        self._detail = detail
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        width = self.scrollable_content_region.width
        if width != self._fitted_for:
            self._fitted_for = width
            self.styles.min_height = None
        elif self.styles.height is not None and self.styles.height.is_auto:
            # A shorter prompt must not move the panes.
            self.styles.min_height = self.outer_size.height

    def _draw(self) -> None:
        if self._detail is None:
            hint = _NOT_SELECTED if self._evaluated else _NOT_EVALUATED
            text = Text(hint.replace("\n", " "), "$text-muted")
        else:
            text = detail_text(self._detail)
        self._text.update(themed(text))

    def action_leave_detail(self) -> None:
        self.post_message(CloseDetail())

    def action_copy_shown(self) -> None:
        if self._detail is None:
            self.notify("Select a prompt first.")
            return
        # Inert on the clipboard too: a terminal acts on pasted text.
        self.app.copy_to_clipboard(display_text(self._detail.prompt, newlines=True))
        hidden = hidden_characters(self._detail.prompt)
        note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
        self.notify(f"Copied{note}.")


def detail_text(detail: PromptDetail) -> Text:
    """Return everything known of a prompt."""
    shaded = strongest_words(detail.explanation.words) if detail.explanation else []
    prompt = _prompt(detail.prompt, shaded)
    lines = [_verdict(detail), *_notes(detail)]
    # A short prompt comes first: it leaves room for the reason on a small screen.
    first = len(detail.prompt) <= _SHORT and "\n" not in detail.prompt
    if first:
        lines.append(prompt)
    if reason := _reason(detail, shaded):
        lines.append(reason)
    if detail.history:
        lines.append(history_text(detail.history))
    lines += map(_other, detail.others)
    if not first:
        lines.append(prompt)
    return Text("\n").join(lines)


def outcome_text(outcome: Outcome | None) -> Text:
    """Return an outcome with its sign, in words; None if the prompt was not in the set."""
    style = "$text-muted" if outcome is None else _STYLES.get(outcome, "")
    return Text().append(f"{_SIGNS[outcome]} {_WORDS[outcome]}", style)


def _verdict(detail: PromptDetail) -> Text:
    line = outcome_text(detail.outcome)
    if detail.outcome is Outcome.OPEN:
        line.append(f": {display_text(detail.error)}" if detail.error else "", "$text-muted")
    elif detail.error:
        line.append(f": {display_text(detail.error)}", "$text-error")
    else:
        line.append(f" ({detail.outcome.name})", "$text-muted")
    belongs = "belongs to the topic" if detail.expected else "does not belong to the topic"
    line.append(f"  label: {belongs}")
    if detail.outcome is Outcome.OPEN or detail.error or detail.score is None:
        pass
    elif detail.threshold is not None:
        sign = "≥" if detail.score >= detail.threshold else "<"
        line.append(f"  score {detail.score:.3f} {sign} threshold {detail.threshold:.3f}")
    elif detail.forecast:
        line.append(f"  forecast: triggers with probability {detail.score:.2f}")
        if detail.with_others:
            line.append(" (by whichever topic of the profile)", "$text-muted")
    if detail.explanation is not None and detail.explanation.unknown_language:
        language = detail.explanation.unknown_language
        line.append(f"  ? {language}, which the engine has not learnt", "bold $text-warning")
    hidden = hidden_characters(detail.prompt)
    if hidden:
        line.append(f"  {hidden} hidden characters", "bold $text-accent")
    return line.append(f"  line {detail.line}", "$text-muted")


def _notes(detail: PromptDetail) -> list[Text]:
    """Return the topics that stopped the prompt, doubts about the verdict, and a judge's reason."""
    lines = []
    if detail.stopped_by:
        line = Text("stopped by: ", "$text-muted").append(_names(detail.stopped_by), "$foreground")
        if only_others(detail.topic, detail.stopped_by):
            line.append("  (not by this topic)", "$text-warning")
        lines.append(line)
    if detail.note:
        lines.append(Text(f"! {display_start(detail.note, _NOTE_CHARACTERS)}", "$text-warning"))
    if detail.reason:
        line = Text()
        line.append("judge: ", "$text-muted")
        line.append(display_start(detail.reason, _REASON_CHARACTERS, newlines=True))
        lines.append(line)
    return lines


def _other(verdict: OtherVerdict) -> Text:
    """Return the verdict of another guardrail in a line."""
    line = Text()
    line.append(f"{display_start(verdict.guardrail, _NAME_CHARACTERS)} ", "$text-muted")
    line.append_text(outcome_text(verdict.outcome))
    definition = "" if verdict.current else ", another definition"
    line.append(f"  in #{verdict.number}{definition}", "$text-muted")
    if verdict.stopped_by:
        line.append(f"  stopped by: {_names(verdict.stopped_by)}")
    if verdict.reason:
        line.append(f"  {display_start(verdict.reason, _NOTE_CHARACTERS)}")
    return line


def _names(topics: Sequence[str]) -> str:
    names = ", ".join(display_start(name, _NAME_CHARACTERS) for name in topics[:_NAMES])
    left = len(topics) - _NAMES
    return f"{names} and {left} more" if left > 0 else names


def _reason(detail: PromptDetail, shaded: Sequence[Contribution]) -> Text | None:
    """Return the part that the engine finds nearest and the meaning of the shades, or None."""
    line = Text()
    if detail.matched == 0:
        line.append(f"nearest: the {detail.topic.main_field}")
    elif detail.matched > 0:
        examples = detail.topic.examples[detail.matched - 1 : detail.matched]
        quoted = "".join(f" “{display_start(example, 80)}”" for example in examples)
        line.append(f"nearest: example {detail.matched}{quoted}")
    for raises, words, style in ((True, "raises", RAISES), (False, "lowers", LOWERS)):
        if any((word.z > 0) is raises for word in shaded):
            line.append("  " if line else "").append(words, style).append(" the score")
    if not line:
        return None
    return (
        line if detail.by_engine else Text().append("the engine's view: ", "$text-warning") + line
    )


# --- verdicts of the iterations -------------------------------------------------------------


def history_text(history: Sequence[tuple[str, int, Outcome | None]]) -> Text:
    """Return the last runs of iterations with the same verdict, by the guardrail that gave it.

    For example "history  engine: #0 to #2 missed, #4 … · AIRS prod: #3 …".
    """
    lines = []
    for guardrail in dict.fromkeys(name for name, _, _ in history):
        own = [(number, outcome) for name, number, outcome in history if name == guardrail]
        runs = [(outcome, list(run)) for outcome, run in groupby(own, itemgetter(1))]
        start = f"{display_start(guardrail, _NAME_CHARACTERS)}: "
        text = Text().append(f"{start}… " if len(runs) > _RUNS else start, "$text-muted")
        for index, (outcome, run) in enumerate(runs[-_RUNS:]):
            first, last = run[0][0], run[-1][0]
            numbers = f"#{first}" if first == last else f"#{first} to #{last}"
            text.append(", " if index else "").append(f"{numbers} ", "$text-muted")
            text.append_text(outcome_text(outcome))
        lines.append(text)
    return Text().append("history  ", "$text-muted").append_text(Text(" · ").join(lines))


# --- the prompt -----------------------------------------------------------------------------


def _prompt(prompt: str, shaded: Sequence[Contribution]) -> Text:
    """Return the prompt with its shaded words."""
    shown = prompt[:SHOWN_CHARACTERS]
    text, offset = Text(), 0
    for word in shaded:
        if offset <= word.start < word.end <= len(shown):
            text.append(display_text(shown[offset : word.start], newlines=True))
            style = RAISES if word.z > 0 else LOWERS
            text.append(display_text(shown[word.start : word.end], newlines=True), style)
            offset = word.end
    text.append(display_text(shown[offset:], newlines=True))
    if len(prompt) > SHOWN_CHARACTERS:
        text.append(f" … {len(prompt) - SHOWN_CHARACTERS} characters more", "$text-muted")
    return text
