"""The page with all advice on the definition; a remedy is previewed, and may be taken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.text import Text

from guardtui.advice.lint_advice import Advice
from guardtui.app.services import Services
from guardtui.domain.figures import bracketed
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.topic import violations
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.advice.edit_preview import preview_edit
from guardtui.tui.editor.lint_text import advice_text, brief_line
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_NOTHING = (
    "Nothing is doubtful by these rules: wording that excludes, length, examples that are nearly "
    "equal, test prompts or nearer to prompts that do not belong, weight of the description, "
    "languages."
)


class LintPage(EditList[Advice]):
    """Returns the advice whose remedy to preview, or None."""

    TITLE_TEXT = "Advice on the definition"
    KEYS_TEXT = "Enter previews · Esc closes"

    help_pane = "lint"

    def __init__(self, texts: Sequence[tuple[Advice, Text]], measured: str) -> None:
        """`texts` are the advice with its full texts, `measured` says how."""
        notes = [measured] if texts else [_NOTHING, measured]
        super().__init__([(item, brief_line(item)) for item, _ in texts], notes)
        self._texts = [text for _, text in texts]

    def described(self, index: int) -> Text:
        return self._texts[index]


class LintFeature:
    """Shows all advice; the editor shows its first line."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_lint": window.action(self.show_lint)}

    async def show_lint(self) -> None:
        """Show all advice, measured, until a remedy is taken or the page is closed."""
        services = self._services
        await services.editing.finish_typing()
        state = services.state
        if state.evaluation is None or state.evaluated is None:
            self._window.notify("Nothing is evaluated yet.")
            return
        advice = await services.lint.measured()
        scanner, count = services.engine.scanner, len(state.evaluated)
        fitted = scanner.settings_for(state.evaluated).has_fitted_threshold

        def texts() -> list[tuple[Advice, Text]]:
            found = []
            for item in advice:
                before = after = ""
                if item.removal is not None:
                    before, after = (
                        bracketed(coverage_interval(side, fitted=fitted))
                        for side in (item.removal.before, item.removal.after)
                    )
                found.append((item, advice_text(item, before, after)))
            return found

        shown = await asyncio.to_thread(texts)
        measured = (
            f"Measured by the engine ({scanner.encoder_name}) on all {count} labelled prompts, "
            "each cause removed by itself. Your guardrail may answer otherwise."
        )
        while (item := await self._window.show(LintPage(shown, measured))) is not None:
            if item.remedy is None:
                self._window.notify("No edit removes this cause: change the words yourself.")
            elif problems := violations(item.remedy):
                self._window.notify(f"Without it the definition is invalid: {problems[0].message}.")
            elif await preview_edit(services, self._window, item.remedy):
                return
