"""The page with all advice on the definition."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rich.text import Text

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import coverage_interval
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.widgets.lint_lines import advice_text


class LintFeature:
    """Shows all advice; the editor shows its first lines."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_lint": window.action(self.show_lint)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """The editor shows the advice."""

    async def show_lint(self) -> None:
        """Show all advice, measured."""
        services = self._services
        await services.editing.finish_typing()
        state = services.state
        if state.evaluation is None or state.evaluated is None:
            self._window.notify("Nothing is evaluated yet.")
            return
        advice = await services.lint.measured()
        count, encoder = len(state.evaluated), services.engine.scanner.encoder_name

        def body() -> Text:
            ranges = [
                ("", "")
                if item.removal is None
                else (_interval(item.removal.before), _interval(item.removal.after))
                for item in advice
            ]
            return advice_text(advice, ranges, count, encoder)

        text = await asyncio.to_thread(body)
        await self._window.show(TextPage("Advice on the definition", text, help_pane="lint"))


def _interval(metrics: Metrics) -> str:
    interval = coverage_interval(metrics)
    return "" if interval is None else f"[{interval.low:.2f} – {interval.high:.2f}]"
