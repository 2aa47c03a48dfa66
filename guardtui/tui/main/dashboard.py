"""The header, the metrics and the one-line summary of the main screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.cells import cell_len
from rich.text import Text

from guardtui.app.recording import is_recorded
from guardtui.app.services import Services
from guardtui.app.state import AppState, ScanStatus
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import DECISION, badge
from guardtui.domain.text import display_start, display_text
from guardtui.scanners.decision.scanner import THRESHOLD
from guardtui.session.session import PLATEAU
from guardtui.tui.content import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.sample_text import prompts_told, sample_told
from guardtui.tui.widgets.metrics_panel import Dashboard, summary

_PADDING = 2
"""Cells at the ends of the line."""


_BADGE_STYLES = {"ENGINE": "bold $text-warning", "FORECAST": "bold $text-accent"}


class Header:
    """The line with the files, the guardrail, and what is unsaved."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Draw it again."""
        if (
            new.topic is not old.topic
            or new.files != old.files
            or new.connection != old.connection
            or _scan_text(new.scan) != _scan_text(old.scan)
            or (new.evaluation is not old.evaluation and _badge(new) != _badge(old))
        ):
            self.draw()

    def draw(self) -> None:
        """Draw the line for the width of now: states first, then as much of the names as fits."""
        state = self._services.state
        room = max(1, self._window.size.width - _PADDING)
        right = Text().append(_badge(state), _badge_style(state))
        states = self._states(state)
        right.truncate(max(0, room - states.cell_len), overflow="ellipsis")
        room -= right.cell_len + states.cell_len + 1
        line = next((one for one in self._names() if cell_len(one) <= room), "")
        text = Text(line).append_text(states)
        target = _target(state)
        if target and cell_len(target) <= room - cell_len(line):
            text.append(target, "$text-muted")
        text.append(
            " " * max(1, self._window.size.width - _PADDING - text.cell_len - right.cell_len)
        )
        self._window.panes.header.update(themed(text.append_text(right)), layout=False)

    def _names(self) -> Iterator[str]:
        """The files, from the longest way to name them to the shortest."""
        workspace, width = self._services.workspace, self._window.size.width
        file = display_text(workspace.topic_file.path.name)
        prompts = display_text(workspace.prompts_path.name)
        count = prompts_told(workspace, width)
        yield f"guardtui  {file} × {prompts} ({count})"
        yield f"{file} × {prompts} ({count})"
        yield f"{file} ({count})"
        yield from (display_start(file, cells) for cells in range(len(file), 0, -1))

    def _states(self, state: AppState) -> Text:
        """What stays in sight: whether it is saved, what a scan does, labels of another intent."""
        workspace, text = self._services.workspace, Text()
        if workspace.unsaved:
            text.append("  ● unsaved", "bold $text-warning")
        else:
            text.append("  saved", "$text-muted")
        text.append(*_scan_text(state.scan))
        known = workspace.prompts
        if known.intent_given and workspace.session.topic.intent is not known.intent:
            text.append(f"  ⚠ the prompt set says {known.intent.value}", "bold $text-error")
        return text


def _scan_text(scan: ScanStatus | None) -> tuple[str, str]:
    """Whether a scan runs, is paused or was stopped, and the style of that."""
    if scan is None:
        return "", ""
    if scan.stopped is not None:
        return "  ✗ scan stopped", "bold $text-error"
    if scan.progress is None or scan.progress.done >= scan.progress.total:
        return "", ""
    if scan.traffic is not None and scan.traffic.held:
        return "  ⏸ scan paused", "bold $text-warning"
    return "  ▶ scanning", "bold $text-accent"


def _badge(state: AppState) -> str:
    """Which guardrail the figures that are shown are of."""
    if state.evaluation is None:
        return ""
    return " ".join(filter(None, badge(state.evaluation.settings)))


def _badge_style(state: AppState) -> str:
    """A colour of its own for the stand-in, for a forecast, and for the guardrail itself."""
    kind = _badge(state).partition(" ")[0]
    return _BADGE_STYLES.get(kind, "bold $text-success")


def _target(state: AppState) -> str:
    """What a scan would ask, where the figures shown are of something else."""
    connection = state.connection
    if connection is None:
        return ""
    revision = "" if connection.revision is None else f" r{connection.revision}"
    place = f"{connection.who} {display_text(connection.place)}{revision}"
    return "" if _badge(state).lower() == place.lower() else f"  scans ask {place}"


class Metrics:
    """The dashboard, from the evaluation that is shown and the session's iterations."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show the newest figures."""
        evaluation = new.evaluation
        if evaluation is None or (
            evaluation is old.evaluation
            and new.comparison is old.comparison
            and new.figures is old.figures
            and new.iterations is old.iterations
            and new.fit is old.fit
            and new.decision_fit is old.decision_fit
            and new.better is old.better
        ):
            return
        dashboard = self._dashboard(new, evaluation)
        self._window.panes.metrics.dashboard = dashboard
        self._window.panes.mark_focus()
        self._window.panes.summary.update(themed(summary(dashboard)), layout=False)

    def _dashboard(self, state: AppState, evaluation: Evaluation) -> Dashboard:
        workspace, session = self._services.workspace, self._services.session
        best, baseline = session.best, session.baseline
        return Dashboard(
            evaluation=evaluation,
            comparison=state.comparison,
            baseline=baseline.number if baseline else None,
            pinned=session.pinned is not None,
            history=[iteration.evaluation.metrics.coverage for iteration in session.comparable],
            numbers=[iteration.number for iteration in session.comparable],
            best=best.number if best else None,
            best_coverage=session.best_coverage,
            best_recorded=best.evaluation.metrics.coverage if best else None,
            discards=session.discards_in_a_row,
            plateau=PLATEAU,
            changes=workspace.changes,
            recorded=is_recorded(session, evaluation),
            fit=state.fit_for(evaluation.settings),
            fits_later=self._services.operating_point.pending,
            held_out=state.held_out,
            shipped=self._shipped(evaluation),
            better=state.better,
            partial=state.partial,
            forecast=state.forecast,
            figures=state.figures,
            sample=sample_told(workspace),
            proportional=workspace.large is None or workspace.large[1].proportional,
        )

    def _shipped(self, evaluation: Evaluation) -> float | None:
        """The threshold that the scanner has unless the author chooses; None without one."""
        settings = evaluation.settings
        if settings.threshold is None:
            return None  # the engine may not even be loaded
        if settings.name == DECISION:
            return THRESHOLD
        return self._services.engine.scanner.shipped_threshold
