"""Texts about several scanners: their agreement, and their reasons for one prompt."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import rate_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.scanners.local.explanation import Explanation
from guardtui.session.scanner_comparison import ScannerAnswers, ScannerVerdicts
from guardtui.tui.detail.pane import SHOWN_CHARACTERS, history_strip
from guardtui.tui.kit.table_dialog import NO_WORDS, PromptTableView
from guardtui.tui.results.model import part_name
from guardtui.tui.scanner_comparison.rows import SIGNS

_LONGEST = 60
_REASON_CHARACTERS = 2000
_PAIRS = 15
"""Most pairs that are listed: all of six scanners."""
_WORDS = 6
_ITERATIONS = 40


def named(voice: ScannerAnswers) -> str:
    """Return a scanner and the iteration of its verdicts, inert."""
    when = "now" if voice.number is None else f"#{voice.number}"
    return f"{display_start(voice.name, _LONGEST)} {when}"


def figures(sight: ScannerVerdicts, scan_keys: str) -> Text:
    """Return the agreement of the scanners, or what to do with fewer than two."""
    panel, text = sight.panel, Text()
    if len(sight.scanners) < 2:
        only = ", ".join(map(named, sight.scanners)) or "no scanner"
        text.append("Two scanners are needed. ", "bold $text-warning")
        text.append(
            f"Of this definition there are verdicts of {only}. Scan it with AIRS ({scan_keys}) or "
            "with a judge first; then both stand here side by side."
        )
        if sight.elsewhere:
            others = ", ".join(
                f"{display_start(name, _LONGEST)} (#{index})" for name, index in sight.elsewhere
            )
            text.append(f" Of other definitions there are some of {others}.", "$text-muted")
        return text
    text.append(", ".join(map(named, sight.scanners)))
    compared = int(np.count_nonzero(panel.compared))
    same = compared - int(np.count_nonzero(panel.differ))
    text.append(f"  same verdict on {same} of {compared}", "bold")
    text.append(f"  alpha {rate_text(panel.alpha, 2)}", "bold")
    text.append(" (1 always agree, 0 by chance)\n", "$text-muted")
    parts = []
    for (first, second), rows in list(panel.pairs.items())[:_PAIRS]:
        names = " – ".join(display_start(panel.names[index], _LONGEST) for index in (first, second))
        share = "n/a" if rows.observed is None else f"{rows.observed:.0%}"
        parts.append(f"{names} {share} κ {rate_text(rows.kappa, 2)}")
    left = len(panel.pairs) - len(parts)
    text.append("; ".join(parts) + (f"; and {left} pairs more" if left else ""), "$text-muted")
    return text


def empty_rows(sight: ScannerVerdicts, view: PromptTableView) -> str:
    """Return why no row is shown, and which key helps."""
    if len(sight.scanners) < 2:
        return "Nothing to compare yet."
    if view.text.strip():
        return NO_WORDS
    if view.group == "differ":
        return "No two scanners differ on any prompt. f shows others."
    if view.group == "against":
        return "The majority contradicts no label. f shows others."
    return "There are no prompts."


# --- one prompt ---------------------------------------------------------------------------------


def reasons_text(
    sight: ScannerVerdicts, key: int, explanation: Explanation | None, width: int = 100
) -> Text:
    """Return a prompt with each scanner's verdict and reason; `width` cells for its history."""
    row = sight.prompts.row_of(key)
    if row is None:
        return Text("This prompt is gone: the prompt set was changed.")
    text = Text()
    prompt = str(sight.prompts.prompts[row])
    text.append(display_text(prompt[:SHOWN_CHARACTERS], newlines=True))
    if len(prompt) > SHOWN_CHARACTERS:
        text.append(f" … {len(prompt) - SHOWN_CHARACTERS} characters more", "$text-muted")
    panel, expected = sight.panel, bool(sight.prompts.expected[row])
    duty = "should trigger" if panel.should_trigger[row] else "should pass"
    line = int(sight.prompts.frame["line"][row])
    text.append(f"\n\nline {line}, label {str(expected).lower()}: {duty}", "bold")
    most = int(panel.majority[row])
    if most != Triggered.NO_VERDICT:
        text.append(f"; most say that it {_does(most)}")
    if panel.against[row]:
        text.append(", against the label", "bold $text-error")
    text.append("\n")
    for voice in sight.scanners:
        text.append("\n")
        text.append_text(_verdict_text(voice, key, explanation))
    history = [
        (iteration.number, outcome_then(iteration.evaluation, key, expected))
        for iteration in sight.iterations[-_ITERATIONS:]
    ]
    if history:
        text.append("\n")
        text.append_text(history_strip(history, width))
    return text


def outcome_then(evaluation: Evaluation, key: int, expected: bool) -> Outcome | None:
    """Return the outcome of a prompt in an evaluation by the current label; None if absent."""
    rows = np.flatnonzero(evaluation.keys == np.uint64(key))
    if not len(rows):
        return None
    answer = int(evaluation.verdicts.triggered[rows[0]])
    if answer < Triggered.NO:
        return Outcome.OPEN if answer == Triggered.NOT_ASKED else Outcome.ERROR
    if expected == (evaluation.topic.intent is Intent.BLOCK):
        return Outcome.TP if answer else Outcome.FN
    return Outcome.FP if answer else Outcome.TN


_DOES = {
    Triggered.YES: "triggers",
    Triggered.NO: "passes",
    Triggered.NO_VERDICT: "no verdict",
    Triggered.NOT_ASKED: "not asked",
}


def _does(answer: int) -> str:
    return _DOES[Triggered(answer)]


def _verdict_text(voice: ScannerAnswers, key: int, explanation: Explanation | None) -> Text:
    """Return a scanner's verdict on a prompt, and its known reasons."""
    evaluation, row = voice.evaluation, voice.row_of(key)
    verdicts, settings = evaluation.verdicts, evaluation.settings
    answer = Triggered.NOT_ASKED if row is None else Triggered(int(verdicts.triggered[row]))
    text = Text()
    text.append(f"{SIGNS[answer]} {named(voice)}: {_does(answer)}", "bold")
    text.append(f"  {display_start(settings.guardrail.text(), _LONGEST)}\n", "$text-muted")
    if row is None:
        text.append("  It has not scanned this prompt.\n", "$text-muted")
        return text
    facts = []
    score = float(verdicts.score[row])
    if not np.isnan(score):
        threshold = "" if settings.threshold is None else f", threshold {settings.threshold:.2f}"
        facts.append(f"score {score:.2f}{threshold}")
    if part := part_name(int(verdicts.matched[row])):
        facts.append(f"nearest: {part}")
    if names := verdicts.stopped_by.get(row, ()):
        facts.append("stopped by: " + ", ".join(display_start(name, _LONGEST) for name in names))
    if facts:
        text.append(f"  {'; '.join(facts)}\n")
    for parts in (verdicts.errors.get(row), verdicts.notes.get(row), verdicts.reasons.get(row)):
        for line in display_start(parts or "", _REASON_CHARACTERS, newlines=True).splitlines():
            text.append(f"  {line}\n")
    if voice.number is None and explanation is not None and explanation.words:
        words = sorted(explanation.words, key=lambda word: -abs(word.z))[:_WORDS]
        parts = "  ".join(f"{display_text(word.word)} {word.z:+.2f}" for word in words)
        text.append(f"  words: {parts}\n")
    return text
