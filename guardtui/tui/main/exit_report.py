"""The text that stays in the terminal after the app has closed."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from guardtui.app.state import AppState
from guardtui.domain.figures import bracketed, count_text, rate_text
from guardtui.domain.metrics import missing_counts
from guardtui.domain.text import display_text
from guardtui.session.workspace import Workspace
from guardtui.tui.main.prompt_count import prompt_count_text

_RATES = (
    ("coverage", "coverage"),
    ("TPR", "true_positive_rate"),
    ("TNR", "true_negative_rate"),
)


def exit_report(workspace: Workspace, state: AppState) -> Text:
    """Return the last metrics, and the paths of files and session."""
    file = workspace.topic_file.path
    lines = [f"guardtui  {file} × {workspace.prompts_path} ({prompt_count_text(workspace)})"]
    evaluation = state.evaluation
    if evaluation is not None and evaluation.topic == state.topic:
        metrics = evaluation.metrics
        intervals = evaluation.intervals
        shown = []
        for title, name in _RATES:
            rate = rate_text(getattr(metrics, name))
            shown.append(f"{title} {rate} {bracketed(intervals[name])}".rstrip())
        shown.append(f"FP {metrics.fp}  FN {metrics.fn}  {missing_counts(metrics)}")
        if evaluation.is_of_a_part:
            shown.append(f"(partial: {metrics.total} of {metrics.prompts} prompts)")
        lines.append("  ".join(shown))
    if workspace.store.path.exists():
        count = count_text(len(workspace.session.iterations), "iteration")
        lines.append(f"{count} in {workspace.store.path}")
    if workspace.unsaved and workspace.draft_is_safe:
        lines.append(edits_kept(file))
    return Text("\n".join(map(display_text, lines)))


def edits_kept(file: Path) -> str:
    """Return the sentence on edits that are kept, but not in the topic file."""
    return display_text(f"{file.name} is as it was: your edits come back when you open it again")
