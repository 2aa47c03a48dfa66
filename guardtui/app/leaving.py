"""What an author is told at the end: files, the last metrics, and edits that are in no file."""

from __future__ import annotations

from pathlib import Path

from guardtui.app.shown_rates import shown_mistakes, shown_rates
from guardtui.app.state import AppState
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import bracketed, count_text
from guardtui.domain.guardrail import badge
from guardtui.domain.metrics import missing_counts
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, definition_lines
from guardtui.session.workspace import Workspace

_RATES = (
    ("coverage", "coverage"),
    ("TPR", "true_positive_rate"),
    ("TNR", "true_negative_rate"),
)


class UnsavedError(GuardtuiError):
    """A definition that is not saved anywhere at the end; the message contains it."""

    def __init__(self, path: Path, topic: Topic) -> None:
        shown = "\n".join(f"  {display_text(line)}" for line in definition_lines(topic))
        super().__init__(f"{path}: your unsaved edits could not be kept; this is them:\n{shown}")


_ROOM = 80
"""Least columns for the full text on a sample."""


def prompt_count_text(workspace: Workspace, width: int = _ROOM) -> str:
    """Return the number of prompts, and of a sample that of all; shorter on small screens."""
    sample = workspace.sample
    if sample is None:
        return count_text(len(workspace.prompts), "prompt")
    return sample.text if width >= _ROOM else f"sample {len(sample.prompts)}/{sample.of}"


def files_text(workspace: Workspace) -> str:
    """Return the topic file, the prompt file and the number of its prompts, display-safe."""
    file, prompts = workspace.topic_file.path, workspace.prompts_path
    return display_text(f"guardtui  {file} × {prompts} ({prompt_count_text(workspace)})")


def exit_report(workspace: Workspace, state: AppState) -> str:
    """Return the last metrics, and the paths of files and session, as display-safe lines."""
    lines = [files_text(workspace)]
    evaluation = state.evaluation
    if evaluation is not None and evaluation.topic == state.topic:
        metrics, rates = evaluation.metrics, shown_rates(state, evaluation)
        shown = []
        for title, name in _RATES:
            rate = rates[name]
            shown.append(f"{title} {rate.text} {bracketed(rate.interval, rate.note)}".rstrip())
        missed, stopped = shown_mistakes(state, evaluation)
        about = "≈" if state.forecast is not None else ""
        shown.append(f"FP {about}{stopped}  FN {about}{missed}  {missing_counts(metrics)}")
        if evaluation.is_of_a_part:
            shown.append(f"(partial: {metrics.total} of {metrics.prompts} prompts)")
        lines.append(f"{badge(evaluation.settings)} {'  '.join(shown)}")
    if workspace.store.path.exists():
        count = count_text(len(workspace.session.iterations), "iteration")
        lines.append(f"{count} in {workspace.store.path}")
    if workspace.unsaved and workspace.draft_is_safe:
        lines.append(edits_kept(workspace.topic_file.path))
    return "\n".join(map(display_text, lines))


def edits_kept(file: Path) -> str:
    """Return the sentence on edits that are kept, but not in the topic file."""
    return display_text(f"{file.name} is as it was: your edits come back when you open it again")
