"""What is said in words of several scanners: how well they agree, and each one's reason."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.scanners.local.explanation import Explanation
from guardtui.session.panel import Sight, Voice
from guardtui.tui.listing import RowsView
from guardtui.tui.panel_rows import GROUPS, SIGNS, group_sizes
from guardtui.tui.results import part_name
from guardtui.tui.widgets.detail import SHOWN_CHARACTERS, history_strip

_LONGEST = 60
_REASON_CHARACTERS = 2000
_PAIRS = 15
"""Pairs that are told one by one: all of six scanners."""
_WORDS = 6
_ITERATIONS = 40


def named(voice: Voice) -> str:
    """A scanner and where its verdicts are from, inert."""
    when = "now" if voice.number is None else f"#{voice.number}"
    return f"{display_start(voice.name, _LONGEST)} {when}"


def number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def figures(sight: Sight, scan_keys: str) -> Text:
    """How well the scanners agree; with fewer than two what to do."""
    panel, text = sight.panel, Text()
    if len(sight.voices) < 2:
        only = ", ".join(map(named, sight.voices)) or "no scanner"
        text.append("Two scanners are needed. ", "bold $text-warning")
        text.append(
            f"Of this definition there are verdicts of {only}. Scan it with AIRS ({scan_keys}) or "
            "with a judge first; then both stand here side by side."
        )
        if sight.elsewhere:
            others = ", ".join(
                f"{display_start(name, _LONGEST)} (#{place})" for name, place in sight.elsewhere
            )
            text.append(f" Of other definitions there are some of {others}.", "$text-muted")
        return text
    text.append(", ".join(map(named, sight.voices)))
    compared = int(np.count_nonzero(panel.compared))
    same = compared - int(np.count_nonzero(panel.differ))
    text.append(f"  same verdict on {same} of {compared}", "bold")
    text.append(f"  alpha {number(panel.alpha)}", "bold")
    text.append(" (1 always agree, 0 by chance)\n", "$text-muted")
    told = []
    for (first, second), found in list(panel.pairs.items())[:_PAIRS]:
        names = " – ".join(display_start(panel.names[one], _LONGEST) for one in (first, second))
        share = "n/a" if found.observed is None else f"{found.observed:.0%}"
        told.append(f"{names} {share} κ {number(found.kappa)}")
    left = len(panel.pairs) - len(told)
    text.append("; ".join(told) + (f"; and {left} pairs more" if left else ""), "$text-muted")
    return text


def groups_line(sight: Sight, view: RowsView) -> Text:
    """The groups with their sizes, brackets around the one that is shown, and the words sought."""
    text = Text()
    for name, count in group_sizes(sight).items():
        chosen = name == view.group
        told = f"{GROUPS[name]} {count}"
        text.append(f"[{told}]" if chosen else f" {told} ", "bold reverse" if chosen else "")
        text.append(" ")
    if view.text.strip():
        text.append(f" with “{display_start(view.text.strip(), _LONGEST)}”", "bold")
    return text


def empty_rows(sight: Sight, view: RowsView) -> str:
    """Why no row is shown, and which key helps."""
    if len(sight.voices) < 2:
        return "Nothing to compare yet."
    if view.text.strip():
        return "No prompt here has these words: Esc takes them away, f looks in the next group."
    if view.group == "differ":
        return "No two scanners differ on any prompt. f shows others."
    if view.group == "against":
        return "Nowhere does the majority contradict the label. f shows others."
    return "There are no prompts."


# --- one prompt ---------------------------------------------------------------------------------


def reasons_text(sight: Sight, key: int, explanation: Explanation | None, width: int = 100) -> Text:
    """A prompt whole, and what each scanner said of it and why; `width` cells for its history."""
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
    for voice in sight.voices:
        text.append("\n")
        text.append_text(_said(voice, key, explanation))
    history = [
        (one.number, outcome_then(one.evaluation, key, expected))
        for one in sight.iterations[-_ITERATIONS:]
    ]
    if history:
        text.append("\n")
        text.append_text(history_strip(history, width))
    return text


def outcome_then(evaluation: Evaluation, key: int, expected: bool) -> Outcome | None:
    """What an evaluation made of a prompt, by the label of now; None when it did not have it."""
    found = np.flatnonzero(evaluation.keys == np.uint64(key))
    if not len(found):
        return None
    said = int(evaluation.verdicts.triggered[found[0]])
    if said < Triggered.NO:
        return Outcome.OPEN if said == Triggered.NOT_ASKED else Outcome.ERROR
    if expected == (evaluation.topic.intent is Intent.BLOCK):
        return Outcome.TP if said else Outcome.FN
    return Outcome.FP if said else Outcome.TN


_DOES = {
    Triggered.YES: "triggers",
    Triggered.NO: "passes",
    Triggered.NO_VERDICT: "no verdict",
    Triggered.NOT_ASKED: "not asked",
}


def _does(said: int) -> str:
    return _DOES[Triggered(said)]


def _said(voice: Voice, key: int, explanation: Explanation | None) -> Text:
    """One scanner's verdict on a prompt, and its reasons as far as they are known."""
    evaluation, row = voice.evaluation, voice.row_of(key)
    verdicts, settings = evaluation.verdicts, evaluation.settings
    said = Triggered.NOT_ASKED if row is None else Triggered(int(verdicts.triggered[row]))
    text = Text()
    text.append(f"{SIGNS[said]} {named(voice)}: {_does(said)}", "bold")
    text.append(f"  {display_start(settings.identity, _LONGEST)}\n", "$text-muted")
    if row is None:
        text.append("  It was not asked for this prompt.\n", "$text-muted")
        return text
    facts = []
    score = float(verdicts.score[row])
    if not np.isnan(score):
        threshold = "" if settings.threshold is None else f", threshold {settings.threshold:.2f}"
        facts.append(f"score {score:.2f}{threshold}")
    if part := part_name(int(verdicts.matched[row])):
        facts.append(f"nearest: {part}")
    if names := verdicts.stopped_by.get(row, ()):
        facts.append("stopped by: " + ", ".join(display_start(one, _LONGEST) for one in names))
    if facts:
        text.append(f"  {'; '.join(facts)}\n")
    for told in (verdicts.errors.get(row), verdicts.notes.get(row), verdicts.reasons.get(row)):
        for line in display_text((told or "")[:_REASON_CHARACTERS], newlines=True).splitlines():
            text.append(f"  {line}\n")
    if voice.number is None and explanation is not None and explanation.words:
        words = sorted(explanation.words, key=lambda word: -abs(word.z))[:_WORDS]
        told = "  ".join(f"{display_text(word.word)} {word.z:+.2f}" for word in words)
        text.append(f"  words: {told}\n")
    return text
