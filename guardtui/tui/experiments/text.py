"""An experiment in text: the line of its progress, and a line for each candidate."""

from __future__ import annotations

from rich.text import Text

from guardtui.advice.experiment import Ending, Standing
from guardtui.app.experiments.session_experiments import ended_text, made_text
from guardtui.app.experiments.status import CandidateStatus, ExperimentStatus
from guardtui.domain.figures import change_text
from guardtui.domain.guardrail import ScannerSettings, badge, guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.base import Traffic
from guardtui.tui.kit.block_chart import progress_bar

_SHOWN = 300  # characters of a name
_NAME = 30

ABOUT_ANOTHER = "of the definition before your edits"


def experiment_text(status: ExperimentStatus, width: int, *, edited: bool = False) -> Text:
    """Return the line of an experiment for a screen of so many columns.

    `edited` says that the definition is another one now.
    """
    line = Text(f"{name_of(status.settings)} ", "bold")
    if status.held:  # first: a narrow screen cuts the end
        line.append("⏸ paused ", "bold $text-warning")
    about = f", {ABOUT_ANOTHER}" if edited else ""
    if status.ending is not None or status.stopped:
        return line.append(f"experiment{about}: {ended_text(status)}")
    cells = max(8, min(24, width // 6))
    line.append(f"experiment{about}: {progress_bar(status.calls, status.expected, cells)} ")
    line.append(made_text(status))
    line.append(f"  {display_text(status.step)}")
    if best := best_text(status):
        line.append(f"  {best}")
    return line.append_text(traffic_text(status.traffic or Traffic()))


def name_of(settings: ScannerSettings) -> str:
    """Return the shortest name of a guardrail, inert: its title, profile or model."""
    known = settings.guardrail
    name = known.title or known.profile or known.model
    return display_start(name, _NAME) if name else badge(settings)[0]


def best_text(status: ExperimentStatus) -> str:
    """Return the greatest gain so far in words, or "" in the first round."""
    gains = [
        candidate.standing.gain
        for candidate in alive(status.candidates)
        if candidate.standing.gain is not None
    ]
    return f"best so far {change_text(max(gains))}, not shown yet" if gains else ""


def alive(candidates: tuple[CandidateStatus, ...]) -> list[CandidateStatus]:
    """Return the candidates that were not dropped."""
    return [candidate for candidate in candidates if candidate.standing.dropped is None]


def traffic_text(traffic: Traffic) -> Text:
    """Return rate, retries and refusals."""
    text = Text()
    if traffic.paused >= 1 and not traffic.held:
        text.append(f"  waits {traffic.paused:.0f} s, as asked", "$text-warning")
    elif traffic.rate > 0 and not traffic.held:
        text.append(f"  {traffic.rate:.0f}/s")
    if traffic.refused:
        text.append(f"  refused {traffic.refused}", "$text-warning")
    return text


def ranked(status: ExperimentStatus) -> list[int]:
    """Return the indices of the candidates, best first: dropped ones last."""

    def key(index: int) -> tuple[bool, bool, float]:
        known = status.candidates[index].standing
        gain = known.gain
        return not known.is_better, known.dropped is not None, -(-1.0 if gain is None else gain)

    return sorted(range(len(status.candidates)), key=key)


def candidate_lines(status: ExperimentStatus) -> list[Text]:
    """Return each candidate in one line: its state, gain with lower bound, verdicts and name."""
    named = zip(status.candidates, status.names, strict=True)
    return [_candidate_line(status, candidate.standing, name) for candidate, name in named]


def _candidate_line(status: ExperimentStatus, known: Standing, name: str) -> Text:
    line = Text()
    if known.is_better:
        line.append("✓ better   ", "bold $text-success")
    elif known.dropped is not None:
        line.append("✗ dropped  ", "$text-muted")
    elif status.ending is not None:
        line.append("  not shown", "$text-muted")
    else:
        line.append("  …        ")
    if known.gain is None or known.low is None:
        line.append(" " * 21)
    else:
        line.append(f" {change_text(known.gain)} (from {change_text(known.low)})".ljust(21))
    line.append(f" {known.answers:>5} ", "$text-muted")
    return line.append(display_start(name, _SHOWN))


def head_text(status: ExperimentStatus, *, edited: bool = False) -> Text:
    """Return what an experiment is about, how far it is, and what follows."""
    text = Text(guardrail_text(status.settings), "bold")
    if edited:
        text.append(f", {ABOUT_ANOTHER}", "$text-warning")
    if status.ending is None and not status.stopped:
        text.append(f" · round {status.round} of {status.rounds} · {made_text(status)}")
        if status.held:
            text.append(" · ⏸ paused", "bold $text-warning")
        text.append_text(traffic_text(status.traffic or Traffic()))
        text.append(f"\n{display_text(status.step)}", "$text-muted")
        return text.append(
            f"; {best_text(status) or 'no gain is known before the end of a round'}", "$text-muted"
        )
    text.append(f": {ended_text(status)}\n")
    if status.ending is Ending.BETTER:
        hint = "The bound in brackets holds with 95 % for all edits together; only the best is kept"
    elif status.ending is not None:
        found = alive(status.candidates)
        hint = (
            f"{len(found)} of {len(status.candidates)} were not worse so far, none is shown to be "
            "better; the verdicts teach the forecast"
        )
    else:
        hint = "What was answered is stored"
    return text.append(hint, "$text-muted")
