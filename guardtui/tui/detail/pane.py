"""One prompt in full: its verdict, the reasons for it, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.selection import Selection

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

RAISES, LOWERS = "▴", "▾"
_MARKED_WORDS = 6
_LEAST_SHARE = 0.15
"""Least share of the strongest word's effect for a word to get a sign."""

_SHORT = 150
_NARROWEST = 20

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
    """Everything the pane shows of a prompt; `history` has (iteration, outcome or None).

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
    history: Sequence[tuple[int, Outcome | None]]
    explanation: Explanation | None = None
    note: str = ""
    stopped_by: Sequence[str] = ()
    reason: str = ""
    by_engine: bool = True
    forecast: bool = False
    with_others: bool = False
    others: Sequence[OtherVerdict] = ()


class MarkedText(Static):
    """Text with added signs, which a copied selection leaves out."""

    def __init__(self) -> None:
        super().__init__("")
        self._plain = ""

    def show(self, text: Text, signs: Sequence[tuple[int, int]] = ()) -> None:
        """Show a text; `signs` are start and end of the parts that are not copied."""
        masked = list(text.plain)
        for start, end in signs:
            # No text on the screen contains a NUL: `display_text` replaces it.
            masked[start:end] = "\0" * (end - start)
        self._plain = "".join(masked)
        self.update(themed(text))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract(self._plain).replace("\0", ""), "\n"


class DetailPane(VerticalScroll):
    """Draws a `PromptDetail`."""

    BORDER_TITLE = "Detail"
    BINDINGS = bindings(DETAIL)

    def __init__(self) -> None:
        super().__init__(id="detail")
        self._text = MarkedText()
        self._detail: PromptDetail | None = None
        self._evaluated = False
        self._marked = True
        self._drawn_for = 0

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
        if self._width != self._drawn_for:
            self.styles.min_height = None
            self._draw()
        elif self.styles.height is not None and self.styles.height.is_auto:
            # A shorter prompt must not move the panes.
            self.styles.min_height = self.outer_size.height

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _draw(self) -> None:
        self._drawn_for = self._width
        if self._detail is None:
            hint = _NOT_SELECTED if self._evaluated else _NOT_EVALUATED
            self._text.show(Text(hint.replace("\n", " "), "$text-muted"))
            return
        text, signs = detail_text(self._detail, self._width or 80, marked=self._marked)
        self._text.show(text, signs)

    def action_toggle_marks(self) -> None:
        self._marked = not self._marked
        self._draw()
        self.notify(f"Signs after the words: {'on' if self._marked else 'off'}.", timeout=2)

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


def detail_text(
    detail: PromptDetail, width: int, *, marked: bool
) -> tuple[Text, list[tuple[int, int]]]:
    """Return the text of a prompt for so many cells, and start and end of each sign."""
    prompt, signs = _prompt(detail, marked)
    lines = [_verdict(detail), *_notes(detail)]
    # A short prompt comes first: it leaves room for the reason on a small screen.
    first = len(detail.prompt) <= _SHORT and "\n" not in detail.prompt
    if first:
        lines.append(prompt)
    if reason := _reason(detail, marked):
        lines.append(reason)
    if detail.history:
        lines.append(history_strip(detail.history, width))
    lines += map(_other, detail.others)
    if not first:
        lines.append(prompt)
    start = sum(len(line.plain) + 1 for line in lines[: lines.index(prompt)])
    return Text("\n").join(lines), [
        (start + sign_start, start + sign_end) for sign_start, sign_end in signs
    ]


def _verdict(detail: PromptDetail) -> Text:
    line = Text()
    line.append(f"line {detail.line}  ", "$text-muted")
    line.append(
        f"{_SIGNS[detail.outcome]} {detail.outcome.name}", _STYLES.get(detail.outcome, "bold")
    )
    belongs = "belongs to the topic" if detail.expected else "does not belong to the topic"
    line.append(f"  label: {belongs}")
    if detail.outcome is Outcome.OPEN:
        reason = f": {display_text(detail.error)}" if detail.error else ""
        line.append(f"  not asked{reason}", "$text-muted")
    elif detail.error:
        line.append(f"  no verdict: {display_text(detail.error)}", "$text-error")
    elif detail.score is not None and detail.threshold is not None:
        sign = "≥" if detail.score >= detail.threshold else "<"
        line.append(f"  score {detail.score:.3f} {sign} threshold {detail.threshold:.3f}")
    elif detail.score is not None and detail.forecast:
        line.append(f"  forecast: triggers with probability {detail.score:.2f}")
        if detail.with_others:
            line.append(" (by whichever topic of the profile)", "$text-muted")
    if detail.explanation is not None and detail.explanation.unknown_language:
        language = detail.explanation.unknown_language
        line.append(f"  ? {language}, which the engine has not learnt", "bold $text-warning")
    hidden = hidden_characters(detail.prompt)
    if hidden:
        line.append(f"  {hidden} hidden characters", "bold $text-accent")
    return line


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
    line.append(
        f"{_SIGNS[verdict.outcome]} {verdict.outcome.name}", _STYLES.get(verdict.outcome, "")
    )
    definition = "" if verdict.current else ", another definition"
    line.append(f"  #{verdict.number}{definition}", "$text-muted")
    if verdict.score is not None:
        line.append(f"  score {verdict.score:.2f}")
    if verdict.stopped_by:
        line.append(f"  stopped by: {_names(verdict.stopped_by)}")
    if verdict.reason:
        line.append(f"  {display_start(verdict.reason, _NOTE_CHARACTERS)}")
    return line


def _names(topics: Sequence[str]) -> str:
    names = ", ".join(display_start(name, _NAME_CHARACTERS) for name in topics[:_NAMES])
    left = len(topics) - _NAMES
    return f"{names} and {left} more" if left > 0 else names


def _reason(detail: PromptDetail, marked: bool) -> Text | None:
    """Return the part that the engine finds nearest and the meaning of the signs, or None."""
    parts = []
    if detail.matched == 0:
        parts.append("nearest: the description")
    elif detail.matched > 0:
        examples = detail.topic.examples[detail.matched - 1 : detail.matched]
        quoted = "".join(f" “{display_start(example, 80)}”" for example in examples)
        parts.append(f"nearest: example {detail.matched}{quoted}")
    if marked and detail.explanation is not None and detail.explanation.words:
        parts.append(f"{RAISES} raises {LOWERS} lowers")
    if not parts:
        return None
    line = Text("" if detail.by_engine else "the engine's view: ", "$text-warning")
    return line.append("  ".join(parts), "$text-muted" if parts[0][0] == RAISES else "$foreground")


# --- verdicts of the iterations -------------------------------------------------------------


def history_strip(history: Sequence[tuple[int, Outcome | None]], width: int) -> Text:
    """Return a sign for each iteration, a bar at each change, and the last change in words.

    ✓ right, ✗ wrong, ? no verdict, … not scanned, · not in the prompt set. Cut at the left to
    `width` cells, to keep the newest: "verdicts #0 ✗✗┃✓✓✓ #4 TP  (before #2: FN)".
    """
    last, outcome = history[-1]
    head, tail = "verdicts ", f" #{last} {_name(outcome)}"
    if len(history) == 1:
        tail = f" {_name(outcome)}"
    indices = range(len(history) - 1, 0, -1)
    change = next((index for index in indices if history[index][1] != history[index - 1][1]), None)
    change_note = "  (always)" if len(history) > 1 else ""
    if change is not None:
        change_note = f"  (before #{history[change][0]}: {_name(history[change - 1][1])})"
    room = max(_NARROWEST, width) - len(head) - len(tail)
    if len(change_note) > room // 2:
        change_note = ""
    first = f"#{history[0][0]} "
    signs = _signs(history)
    if len(first) + len(signs) > room - len(change_note):
        first = "… "
        signs = signs[-max(1, room - len(change_note) - len(first)) :]
    line = Text()
    line.append(head, "$text-muted")
    line.append(first, "$text-muted")
    for sign, style in signs:
        line.append(sign, style)
    line.append(tail, _STYLES.get(outcome, "bold") if outcome is not None else "$text-muted")
    line.append(change_note, "$text-muted")
    return line


def _signs(history: Sequence[tuple[int, Outcome | None]]) -> list[tuple[str, str]]:
    """Return each sign with its style."""
    signs = []
    before = history[0][1]
    for _, now in history:
        if before != now:
            signs.append(("┃", "bold"))
        style = "$text-muted" if now is None else _STYLES.get(now, "$text-success")
        signs.append((_SIGNS[now], style))
        before = now
    return signs


def _name(outcome: Outcome | None) -> str:
    return "not in the set" if outcome is None else outcome.name


# --- the prompt -----------------------------------------------------------------------------


def strengths(words: Sequence[Contribution]) -> list[tuple[Contribution, str]]:
    """Return the words with the largest effects, in the order of the text, with their signs.

    One to three signs, by thirds of the strongest word's effect.
    """
    strongest = max((abs(word.z) for word in words), default=0.0)
    if not strongest:
        return []
    ranked = sorted(words, key=lambda word: -abs(word.z))[:_MARKED_WORDS]
    change_note = []
    for word in sorted(ranked, key=lambda word: word.start):
        share = abs(word.z) / strongest
        if share >= _LEAST_SHARE:
            count = 3 if share > 2 / 3 else 2 if share > 1 / 3 else 1
            change_note.append((word, (RAISES if word.z > 0 else LOWERS) * count))
    return change_note


def _prompt(detail: PromptDetail, marked: bool) -> tuple[Text, list[tuple[int, int]]]:
    """Return the prompt with signs after the words that drove its score, and their offsets."""
    shown = detail.prompt[:SHOWN_CHARACTERS]
    marks = strengths(detail.explanation.words) if marked and detail.explanation else []
    text, sign_spans, offset = Text(), [], 0
    for word, signs in marks:
        if offset <= word.start < word.end <= len(shown):
            raises = signs[0] == RAISES
            text.append(display_text(shown[offset : word.start], newlines=True))
            text.append(
                display_text(shown[word.start : word.end], newlines=True),
                "bold underline" if raises else "italic",
            )
            sign_spans.append((len(text.plain), len(text.plain) + len(signs)))
            text.append(signs, "$text-success" if raises else "$text-error")
            offset = word.end
    text.append(display_text(shown[offset:], newlines=True))
    if len(detail.prompt) > SHOWN_CHARACTERS:
        text.append(f" … {len(detail.prompt) - SHOWN_CHARACTERS} characters more", "$text-muted")
    return text, sign_spans
