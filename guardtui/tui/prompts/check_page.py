"""The check of the data: findings, and categories to show in the table."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from guardtui.app.engine_findings import engine_findings
from guardtui.app.services import Services
from guardtui.domain.metrics import Metrics, metrics_by_group
from guardtui.domain.prompts import Finding, check_prompt_set
from guardtui.domain.topic import violations
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.sample_text import sample_text
from guardtui.tui.main.window import Window
from guardtui.tui.prompts.category_list import CategoryList
from guardtui.tui.prompts.check_text import check_text


class CheckPage(Modal[str | None]):
    """Returns the category to show in the table, or None."""

    BINDINGS = [("escape,q,enter,f6", "close", "Close")]

    help_pane = "check"

    def __init__(self, title: str, findings: Text, categories: Mapping[str, Metrics]) -> None:
        """`categories` is empty for a prompt set without categories."""
        super().__init__()
        self._title, self._findings, self._categories = title, findings, categories
        self._list = CategoryList()

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = Text(self._title).plain
            page.border_subtitle = "Esc closes"
            with VerticalScroll(classes="findings"):
                yield Static(themed(self._findings), markup=False)
            if self._categories:
                page.border_subtitle = "Enter shows the category in the table · Tab · Esc"
                yield self._list

    def on_mount(self) -> None:
        if self._categories:
            self._list.show(self._categories)
            self._list.focus_list()
        else:
            self.query_one(VerticalScroll).focus()

    @on(CategoryList.Chosen)
    def chosen(self, event: CategoryList.Chosen) -> None:
        self.dismiss(event.name)


class CheckFeature:
    """Checks the definition and the prompts."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"show_check": window.action(self.show_check)}

    async def show_check(self) -> None:
        """Show problems of the definition and the prompts, and the rates by category."""
        state, workspace = self._services.state, self._services.workspace
        prompts = state.evaluated or state.prompts
        scanner = self._services.engine.scanner

        waiting = self._services.engine.waiting(prompts)

        def look() -> tuple[Finding, ...]:
            findings = check_prompt_set(prompts, state.topic)
            if waiting:
                return findings
            try:
                return (*findings, *engine_findings(scanner, prompts))
            except ScannerError:
                return findings  # the engine itself reports why it cannot be loaded

        findings = await asyncio.to_thread(look)
        body = check_text(violations(state.topic), findings)
        if waiting:
            body.append(f"\nWithout the engine's findings: {waiting}.\n", "bold $text-warning")
        categories: dict[str, Metrics] = {}
        column = prompts.category_column
        if column is not None and state.evaluation is not None:
            categories = metrics_by_group(state.evaluation.codes, *prompts.groups(column))
        subject = f"the {sample_text(workspace)}" if sample_text(workspace) else "the prompts"
        body.rstrip()
        page = CheckPage(f"Check of the definition and {subject}", body, categories)
        category = await self._window.show(page)
        if category is not None:
            self._window.panes.show("results")
            self._window.panes.results.show_category(category)
