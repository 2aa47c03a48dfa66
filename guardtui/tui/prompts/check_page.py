"""The check of the data: findings, and categories; Enter shows their prompts in the table."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

import numpy as np
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets.option_list import Option

from guardtui.app.advice.engine_findings import engine_findings
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.metrics import Metrics, metrics_by_group
from guardtui.domain.prompts import PromptSet, check_prompt_set
from guardtui.domain.topic import violations
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.inert import OptionList
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.prompts.category_list import CategoryList
from guardtui.tui.prompts.check_text import (
    CheckEntry,
    definition_entries,
    prompt_entries,
    survey_entries,
)
from guardtui.tui.results.model import PromptSelection

_NOTHING = "Nothing to report: no duplicates, no contradictory labels, no leakage, no imbalance."


class CheckPage(Modal[CheckEntry | str | None]):
    """Returns the finding or the category whose prompts to show in the table, or None."""

    BINDINGS = [("escape,q,f6", "close", "Close")]

    help_pane = "check"

    def __init__(
        self, title: str, entries: Sequence[CheckEntry], categories: Mapping[str, Metrics]
    ) -> None:
        """`categories` is empty for a prompt set without categories."""
        super().__init__()
        self._title, self._categories = title, categories
        self._entries = entries or [CheckEntry(Text(_NOTHING))]
        self._findings = OptionList(
            *(Option(themed(entry.text)) for entry in self._entries),
            compact=True,
            classes="findings",
        )
        self._list = CategoryList()

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = Content(self._title)
            page.border_subtitle = self._keys()
            yield self._findings
            if self._categories:
                yield self._list

    def _keys(self) -> str:
        """Return what the keys do here; Enter does nothing if no entry has prompts."""
        acts = self._categories or any(entry.rows for entry in self._entries)
        keys = ["Enter shows these prompts in the table"] if acts else []
        return " · ".join([*keys, *(["Tab"] if self._categories else []), "Esc"])

    def on_mount(self) -> None:
        if self._categories:
            self._list.show(self._categories)
        self._findings.highlighted = 0
        self._findings.focus()

    @on(OptionList.OptionSelected, ".findings")
    def finding_chosen(self, event: OptionList.OptionSelected) -> None:
        entry = self._entries[event.option_index]
        self.dismiss(entry if entry.rows else None)

    @on(CategoryList.Chosen)
    def category_chosen(self, event: CategoryList.Chosen) -> None:
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
        entries = definition_entries(violations(state.topic))
        entries += await self._prompt_entries(state, prompts)
        categories: dict[str, Metrics] = {}
        column = prompts.category_column
        if column is not None and state.evaluation is not None:
            categories = metrics_by_group(state.evaluation.codes, *prompts.groups(column))
        sample = workspace.sample
        subject = "the prompts" if sample is None else f"the {sample.text}"
        page = CheckPage(f"Check of the definition and {subject}", entries, categories)
        chosen = await self._window.show(page)
        if chosen is None:
            return
        results = self._window.panes.results
        self._window.panes.show("results")
        if isinstance(chosen, str):
            results.show_category(chosen)
        else:
            results.pick(PromptSelection(chosen.name, prompts.keys[np.array(chosen.rows)]))

    async def _prompt_entries(self, state: AppState, prompts: PromptSet) -> list[CheckEntry]:
        """Return the findings about the prompts; without the engine's if it is not ready."""
        engine = self._services.engine
        findings = await asyncio.to_thread(check_prompt_set, prompts, state.topic)
        entries = prompt_entries(findings, prompts)
        if waiting := engine.waiting(prompts):
            note = Text(f"Without the engine's findings: {waiting}.", "bold $text-warning")
            return [*entries, CheckEntry(note)]
        # The engine itself reports why it cannot be loaded.
        with contextlib.suppress(ScannerError):
            findings = await asyncio.to_thread(engine_findings, engine.scanner, prompts)
            entries += prompt_entries(findings, prompts)
            if state.evaluation is not None:
                quiet = self._services.scans.under_way  # the progress of the scan stays visible
                survey = await self._services.surveys.survey(state.evaluation, prompts, quiet=quiet)
                entries += [] if survey is None else survey_entries(survey)
        return entries
