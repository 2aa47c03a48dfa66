"""Decisions, files and settings of the workspace on the main screen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np

from guardtui.app.engine_findings import engine_findings
from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.metrics import Metrics, metrics_by_group
from guardtui.domain.operating_point import FITTED, SHIPPED
from guardtui.domain.prompt_edit import Add, PromptEdit, Rewrite
from guardtui.domain.prompts import Finding, check_prompt_set
from guardtui.domain.topic import violations
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.views import VIEWS, with_view, without_view
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.messages import ViewRemoved, ViewSaved
from guardtui.tui.pages import check_text
from guardtui.tui.sample_text import sample_told
from guardtui.tui.screens.checking import CheckPage
from guardtui.tui.screens.dialogs import ScannerChoice, ScannerDialog

DRAFT_EVERY = 2.0
WATCH_EVERY = 2.0


class WorkspaceFiles:
    """Saving, drafts, edits of the prompts, other programs, and what the session remembers."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._looking = False
        self.actions: Mapping[str, ActionMethod] = {
            "save": window.action(services.sync.save, group="decide"),
            "keep": window.action(services.decisions.keep, group="decide"),
            "discard": window.action(services.decisions.discard, group="decide"),
            "pin_baseline": services.decisions.turn_pin,
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is drawn here."""

    def mounted(self) -> None:
        """Restore what the session remembers, and begin to keep drafts and to watch files."""
        self._window.panes.results.refusal = self._services.workspace.prompts_refusal
        with problems_shown(self._window):
            settings = self._services.workspace.store.settings()
            self._window.panes.results.restore(settings)
        self._services.companions.restore()
        self._window.every(DRAFT_EVERY, self._services.sync.save_draft)
        self._window.every(WATCH_EVERY, self._watch)

    def _watch(self) -> None:
        # Not while a question is open, nor while the last look is under way: cancelled, it would
        # have seen the change and shown nothing.
        if self._window.in_front and not self._looking:
            self._looking = True
            self._window.start(self._look(), group="watch")

    async def _look(self) -> None:
        try:
            await self._services.sync.look()
        finally:
            self._looking = False

    # --- the prompts and what is remembered -----------------------------------------------

    def edit_prompts(self, edit: PromptEdit | None) -> None:
        """Edit the prompts, or undo the last edit (None)."""
        self._window.start(self._edit_prompts(edit), group="prompts")

    async def _edit_prompts(self, edit: PromptEdit | None) -> None:
        """Edit the prompts; one that was added or rewritten, or has come back, is selected."""
        workspace = self._services.workspace
        before = workspace.prompts
        await self._services.sync.edit_prompts(edit)
        now = workspace.prompts
        if now is before and isinstance(edit, Add | Rewrite):  # it could not be saved
            self._window.panes.results.write_again(edit)
        if now is before or not (edit is None or isinstance(edit, Add | Rewrite)):
            return
        new = now.keys[~np.isin(now.keys, before.keys)]
        if len(new):
            self._window.panes.results.select_when_shown(int(new[0]), now)
        elif isinstance(edit, Rewrite):  # with the text of before
            self._window.panes.results.select_when_shown(edit.key, now)

    def save_view(self, event: ViewSaved) -> None:
        """Save a view in the session: another window may have saved one meanwhile."""
        with problems_shown(self._window):
            self._services.workspace.store.change_setting(
                VIEWS, lambda saved: with_view(saved, event.view)
            )

    def remove_view(self, event: ViewRemoved) -> None:
        """Remove a saved view."""
        with problems_shown(self._window):
            self._services.workspace.store.change_setting(
                VIEWS, lambda saved: without_view(saved, event.view_name)
            )


class EngineSettings:
    """The check of the data, and the settings of the embedded scanner."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_check": window.action(self.show_check),
            "scanner_settings": window.action(self.scanner_settings),
            "fit_threshold": window.action(services.operating_point.fit_again),
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def show_check(self) -> None:
        """Show the problems of the definition and of the prompts, and the rates by category."""
        state, workspace = self._services.state, self._services.workspace
        prompts = state.evaluated or state.prompts
        scanner = self._services.engine.scanner

        waiting = self._services.engine.waiting(prompts)

        def look() -> tuple[Finding, ...]:
            findings = check_prompt_set(prompts, state.topic)
            if waiting:
                return findings
            try:
                return (*findings, *engine_findings(scanner, state.topic, prompts))
            except ScannerError:
                return findings  # the engine's own message says why it cannot be loaded

        findings = await asyncio.to_thread(look)
        body = check_text(violations(state.topic), findings)
        if waiting:
            body.append(f"\nWithout the engine's findings: {waiting}.\n", "bold $text-warning")
        categories: dict[str, Metrics] = {}
        column = prompts.category_column
        if column is not None and state.evaluation is not None:
            categories = metrics_by_group(state.evaluation.codes, *prompts.groups(column))
        of = f"the {sample_told(workspace)}" if sample_told(workspace) else "the prompts"
        body.rstrip()
        page = CheckPage(f"Check of the definition and {of}", body, categories)
        category = await self._window.show(page)
        if category is not None:
            self._window.panes.show("results")
            self._window.panes.results.show_category(category)

    async def scanner_settings(self) -> None:
        """Ask for the threshold and the encoder, and use them."""
        services, engine = self._services, self._services.engine
        settings = engine.scanner.settings
        current = ScannerChoice(
            engine.scanner.encoder_name,
            None if settings.threshold_source == SHIPPED else settings.threshold,
            settings.threshold_source,
        )
        fit = await asyncio.to_thread(
            engine.fitted, services.session.topic, services.workspace.prompts
        )
        choice = await self._window.show(ScannerDialog(current, settings.threshold, fit))
        if choice is None:
            return
        if choice.source == FITTED and not isinstance(fit, str):
            await services.operating_point.use(fit)
            return
        other = choice.encoder != engine.scanner.encoder_name
        if other:
            engine.use(LocalScanner(choice.encoder))
        else:
            services.operating_point.set(choice.threshold, choice.source)
        services.sync.remember(
            {
                "encoder": choice.encoder,
                "threshold": choice.threshold,
                "threshold_source": choice.source,
            }
        )
        # Its scores mean something else, and so does a threshold; an opening settles that itself.
        if other and services.preview.begun:
            # Many prompts take long to embed: another dialog must not end that.
            self._window.start(self._settle(), group="settle", exclusive=True)
        else:
            services.preview.request()

    async def _settle(self) -> None:
        await self._services.operating_point.settle()
        self._services.preview.request()
