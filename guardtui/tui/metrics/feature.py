"""The header, the metrics and the one-line summary of the main screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.cells import cell_len
from rich.text import Text

from guardtui.app.leaving import prompt_count_text
from guardtui.app.scan.record import recorded_as
from guardtui.app.services import Services
from guardtui.app.state import AppState, ScanStatus
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.text import display_start, display_text
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import Dashboard, badge_style, badge_text, summary

_PADDING = 2
"""Cells of padding of the line."""


class HeaderFeature:
    """The header: files, saved or not, the scan, and the guardrail of the figures."""

    follows = ("topic", "files", "connection", "scan", "evaluation")
    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._unsaved = False
        """True if the header says that edits are unsaved."""

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Draw the header if its content changed."""
        if (
            (new.topic is not old.topic and self._services.workspace.unsaved != self._unsaved)
            or new.topic.intent is not old.topic.intent
            or new.files != old.files
            or new.connection != old.connection
            or (new.scan is not old.scan and _scan_text(new.scan) != _scan_text(old.scan))
            or (new.evaluation is not old.evaluation and badge_text(new) != badge_text(old))
        ):
            self.draw()

    def draw(self) -> None:
        """Draw the header for the current width: states first, then names as far as they fit."""
        state = self._services.state
        room = max(1, self._window.size.width - _PADDING)
        shown = state.evaluation
        style = "" if shown is None else badge_style(shown.settings)
        right = Text().append(badge_text(state), style)
        states = self._states(state)
        right.truncate(max(0, room - states.cell_len), overflow="ellipsis")
        room -= right.cell_len + states.cell_len + 1
        line = next((name for name in self._names() if cell_len(name) <= room), "")
        text = Text(line).append_text(states)
        target = _target(state)
        if target and cell_len(target) <= room - cell_len(line):
            text.append(target, "$text-muted")
        text.append(
            " " * max(1, self._window.size.width - _PADDING - text.cell_len - right.cell_len)
        )
        self._window.panes.header.update(themed(text.append_text(right)), layout=False)

    def _names(self) -> Iterator[str]:
        """Yield texts that name the files, from the longest to the shortest."""
        workspace, width = self._services.workspace, self._window.size.width
        file = display_text(workspace.topic_file.path.name)
        prompts = display_text(workspace.prompts_path.name)
        count = prompt_count_text(workspace, width)
        yield f"guardtui  {file} × {prompts} ({count})"
        yield f"{file} × {prompts} ({count})"
        yield f"{file} ({count})"
        yield from (display_start(file, cells) for cells in range(len(file), 0, -1))

    def _states(self, state: AppState) -> Text:
        """Return the states that are never cut: saved, the scan, labels of another intent."""
        workspace, text = self._services.workspace, Text()
        self._unsaved = workspace.unsaved
        if self._unsaved:
            text.append("  ● unsaved", "bold $text-warning")
        else:
            text.append("  saved", "$text-muted")
        text.append(*_scan_text(state.scan))
        known = workspace.prompts
        if known.intent_given and workspace.session.topic.intent is not known.intent:
            text.append(f"  ⚠ the prompt set says {known.intent.value}", "bold $text-error")
        return text


def _scan_text(scan: ScanStatus | None) -> tuple[str, str]:
    """Return whether a scan is running, paused or stopped, and the style."""
    if scan is None:
        return "", ""
    if scan.stopped is not None:
        return "  ✗ scan stopped", "bold $text-error"
    if scan.progress is None or scan.progress.done >= scan.progress.total:
        return "", ""
    if scan.traffic is not None and scan.traffic.held:
        return "  ⏸ scan paused", "bold $text-warning"
    return "  ▶ scanning", "bold $text-accent"


def _target(state: AppState) -> str:
    """Return what a scan would use, if the figures are of something else."""
    connection = state.connection
    if connection is None:
        return ""
    revision = "" if connection.revision is None else f" r{connection.revision}"
    index = f"{connection.who} {display_text(connection.title)}{revision}"
    return "" if badge_text(state).lower() == index.lower() else f"  scans ask {index}"


class MetricsFeature:
    """The dashboard, made of the shown evaluation and the session's iterations."""

    follows = ("evaluation", "comparison", "figures", "iterations", "fit", "connection", "audit")
    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show the newest figures."""
        evaluation = new.evaluation
        if evaluation is None:
            return
        dashboard = self._dashboard(new, evaluation)
        pane = self._window.panes.metrics
        heading = pane.heading
        pane.dashboard = dashboard
        if pane.heading != heading:
            self._window.panes.mark_focus()
        self.draw_summary()

    def draw_summary(self) -> None:
        """Draw the figures of a small screen for its width."""
        panes = self._window.panes
        if panes.metrics.dashboard is not None:
            text = summary(panes.metrics.dashboard, self._window.size.width - _PADDING)
            panes.summary.update(themed(text), layout=False)

    def _dashboard(self, state: AppState, evaluation: Evaluation) -> Dashboard:
        workspace, session = self._services.workspace, self._services.session
        best, baseline = session.best, session.baseline
        number = None if baseline is None else baseline.number
        return Dashboard(
            state,
            evaluation,
            self._services.judgement(state, evaluation),
            baseline=number,
            history=[iteration.evaluation.rate("coverage") for iteration in session.comparable],
            best=None if best is None else best.number,
            best_coverage=session.best_coverage,
            best_recorded=None if best is None else best.evaluation.metrics.coverage,
            discards=session.discards_in_a_row,
            changes=workspace.changes,
            recorded=recorded_as(session, evaluation) is not None,
            sample="" if workspace.sample is None else workspace.sample.text,
            proportional=workspace.sample is None or workspace.sample.proportional,
        )
