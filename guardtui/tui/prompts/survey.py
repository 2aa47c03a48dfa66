"""The survey of the prompt set: its clusters, near-duplicates, and where to label next."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from guardtui.advice.prompt_set import Survey
from guardtui.app.services import Services
from guardtui.scanners.base import ScannerError
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.prompts.survey_text import (
    PAGES,
    cluster_line,
    cluster_text,
    clusters_head,
    empty,
    page_summary,
    pages_line,
    pair_line,
    spot_line,
    spot_text,
)
from guardtui.tui.results.model import PromptSelection

_EDGES = 4  # cells of border and padding of the page


class PromptSetDialog(Modal[PromptSelection | None]):
    """Three pages; returns the prompts to show in the table, or None."""

    BINDINGS = [
        ("1", "page('clusters')", "Clusters"),
        ("2", "page('duplicates')", "Near-duplicates"),
        ("3", "page('next')", "Label next"),
        ("tab,right", "turn(1)", "Next page"),
        ("shift+tab,left", "turn(-1)", "Previous page"),
    ]
    help_pane = "prompt_set"

    def __init__(self, survey: Survey, before: PromptSetDialog | None = None) -> None:
        """Starts on the page and line of `before` if that showed the same survey."""
        super().__init__()
        self.survey = survey
        self.page = "clusters"
        self._indices = dict.fromkeys(PAGES, 0)
        if before is not None and before.survey is survey:
            self.page, self._indices = before.page, before._indices
        self._tabs = Static("", id="set-pages", markup=False)
        self._summary = Static("", id="set-page_summary", markup=False)
        self._head = Static("", id="set-head", markup=False)
        self._list = OptionList(markup=False, compact=True)
        self._detail = Static("", id="set-detail", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"The prompt set: {len(self.survey.prompts)} prompts"
            page.border_subtitle = "Enter shows these prompts in the table · Tab · Esc"
            yield self._tabs
            yield self._summary
            yield self._head
            yield self._list
            with VerticalScroll(classes="set-detail", can_focus=False):
                yield self._detail

    def on_mount(self) -> None:
        self._list.focus()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """Draw the chosen page with its last cursor position."""
        page, survey = self.page, self.survey
        index = self._indices[page]
        width = max(20, self._list.size.width or self.size.width - _EDGES)
        self._tabs.update(themed(pages_line(page, survey)))
        self._summary.update(page_summary(page, survey))
        self._head.display = page == "clusters"
        self._head.update(clusters_head(width))
        if page == "clusters":
            lines = [cluster_line(cluster, width) for cluster in survey.clusters]
        elif page == "duplicates":
            lines = [pair_line(index, survey) for index in range(len(survey.duplicates.pairs))]
        else:
            lines = [spot_line(suggestion, survey, width) for suggestion in survey.spots]
        self._list.clear_options()
        self._list.add_options(Option(themed(line)) for line in lines)
        self._list.highlighted = min(index, len(lines) - 1) if lines else None
        self._show_detail()

    def _show_detail(self) -> None:
        index, survey = self._list.highlighted, self.survey
        text = Text(empty(self.page), "$text-muted")
        if index is not None:
            text = Text()
            if self.page == "clusters":
                text = cluster_text(survey.clusters[index], survey)
            elif self.page == "next":
                text = spot_text(survey.spots[index], survey)
        detail = self._detail.parent
        if not isinstance(detail, VerticalScroll):
            return  # the page is closing
        detail.display = bool(text.plain)
        self._detail.update(themed(text))

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        # An event of the previous page may arrive late.
        if event.option_index == self._list.highlighted:
            self._indices[self.page] = event.option_index
            self._show_detail()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        index, survey = event.option_index, self.survey
        if self.page == "clusters":
            cluster = survey.clusters[index]
            self._pick(f"cluster #{cluster.name}", cluster.rows)
        elif self.page == "duplicates":
            pair = survey.duplicates.pairs[index]
            self._pick("near-duplicates", np.array([pair.first, pair.second]))
        else:
            suggestion = survey.spots[index]
            self._pick(f"to label near #{suggestion.cluster}", np.array(suggestion.rows))

    def _pick(self, name: str, rows: NDArray[np.intp]) -> None:
        self.dismiss(PromptSelection(name, self.survey.prompts.keys[rows]))

    def action_page(self, name: str) -> None:
        """Show a page by its name."""
        self.page = name
        self._draw()

    def action_turn(self, step: int) -> None:
        """Show the next page (1) or the previous one (-1)."""
        names = list(PAGES)
        self.action_page(names[(names.index(self.page) + step) % len(names)])


class PromptSetFeature:
    """Shows the survey of the prompt set."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._dialog: PromptSetDialog | None = None
        self.actions: Mapping[str, ActionMethod] = {
            "show_prompt_set": window.action(self.show_prompt_set, group="prompt-set")
        }

    async def show_prompt_set(self) -> None:
        """Show the survey, then the prompts that the author chooses in the table."""
        services, panes = self._services, self._window.panes
        await services.editing.finish_typing()
        state = services.state
        if state.evaluation is None or state.evaluated is None:
            self._window.notify("The prompts are not evaluated yet.")
            return
        quiet = services.scans.under_way  # the progress of the scan stays visible
        try:
            survey = await services.surveys.survey(state.evaluation, state.evaluated, quiet=quiet)
        except ScannerError as error:
            self._window.notify(str(error), severity="error")
            return
        if survey is None:
            return
        dialog = self._dialog = PromptSetDialog(survey, self._dialog)
        picked = await self._window.show(dialog)
        if picked is not None:
            panes.show("results")
            panes.results.pick(picked)
