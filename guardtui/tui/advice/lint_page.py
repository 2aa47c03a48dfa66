"""The page with all advice on the definition."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rich.text import Text

from guardtui.app.services import Services
from guardtui.domain.figures import bracketed
from guardtui.domain.statistics import coverage_interval
from guardtui.tui.editor.lint_text import advice_text
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class LintFeature:
    """Shows all advice; the editor shows its first lines."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_lint": window.action(self.show_lint)}

    async def show_lint(self) -> None:
        """Show all advice, measured."""
        services = self._services
        await services.editing.finish_typing()
        state = services.state
        if state.evaluation is None or state.evaluated is None:
            self._window.notify("Nothing is evaluated yet.")
            return
        advice = await services.lint.measured()
        scanner, count = services.engine.scanner, len(state.evaluated)
        fitted = scanner.settings_for(state.evaluated).has_fitted_threshold

        def body() -> Text:
            ranges = [
                ("", "")
                if item.removal is None
                else (
                    bracketed(coverage_interval(item.removal.before, fitted=fitted)),
                    bracketed(coverage_interval(item.removal.after, fitted=fitted)),
                )
                for item in advice
            ]
            return advice_text(advice, ranges, count, scanner.encoder_name)

        text = await asyncio.to_thread(body)
        await self._window.show(TextPage("Advice on the definition", text, help_pane="lint"))
