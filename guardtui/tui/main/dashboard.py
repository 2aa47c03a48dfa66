"""The header, the metrics and the one-line summary of the main screen."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from guardtui.app.recording import is_recorded
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.text import display_text
from guardtui.session.session import PLATEAU
from guardtui.tui.content import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.sample_text import prompts_told, sample_told
from guardtui.tui.widgets.metrics_panel import Dashboard, summary


class Header:
    """The line with the files, the guardrail, and what is unsaved."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Draw it again."""
        if new.topic is not old.topic or new.files != old.files or new.connection != old.connection:
            self.draw()

    def draw(self) -> None:
        """Draw the line for the width of now."""
        workspace, connection = self._services.workspace, self._services.state.connection
        file = display_text(workspace.topic_file.path.name)
        prompts = display_text(workspace.prompts_path.name)
        count = prompts_told(workspace, self._window.size.width)
        text = Text(f"guardtui  {file} × {prompts} ({count})")
        if workspace.unsaved:
            text.append("  ● unsaved", "bold $text-warning")
        known = workspace.prompts
        if known.intent_given and workspace.session.topic.intent is not known.intent:
            text.append(f"  ⚠ the prompt set says {known.intent.value}", "bold $text-error")
        if connection is not None:
            text.append(f"  {connection.who} ", "bold $text-success")
            text.append(display_text(connection.place))
            if connection.revision is not None:
                text.append(f" r{connection.revision}")
        self._window.panes.header.update(themed(text), layout=False)


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
        of_others = evaluation.settings.threshold is None  # the engine may not even be loaded
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
            fit=state.fit,
            fits_later=self._services.operating_point.pending,
            held_out=state.held_out,
            shipped=None if of_others else self._services.engine.scanner.shipped_threshold,
            better=state.better,
            partial=state.partial,
            forecast=state.forecast,
            figures=state.figures,
            sample=sample_told(workspace),
            proportional=workspace.large is None or workspace.large[1].proportional,
        )
