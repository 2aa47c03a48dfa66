"""What the prompt set covers: its clusters, near-duplicates, and where to label next."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from guardtui.advice.prompt_set import Survey, survey
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import ScannerError
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.prompt_set_text import (
    PAGES,
    cluster_line,
    cluster_text,
    clusters_head,
    empty,
    pages_line,
    pair_line,
    spot_line,
    spot_text,
    told,
)
from guardtui.tui.results import Picked
from guardtui.tui.screens.scanning import ScanningScreen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

_EDGES = 4  # cells that border and padding of the page take


class PromptSetDialog(Modal[Picked | None]):
    """Three pages; gives the prompts that the author wants to see in the table, or None."""

    BINDINGS = [
        ("1", "page('clusters')", "Clusters"),
        ("2", "page('duplicates')", "Near-duplicates"),
        ("3", "page('next')", "Label next"),
        ("tab,right", "turn(1)", "Next page"),
        ("shift+tab,left", "turn(-1)", "Page before"),
        ("escape,q", "close", "Leave"),
    ]
    help_pane = "prompt_set"

    def __init__(self, survey: Survey, before: PromptSetDialog | None = None) -> None:
        """Where `before` showed the same survey, this begins on its page and line."""
        super().__init__()
        self._survey = survey
        self.page = "clusters"
        self._places = dict.fromkeys(PAGES, 0)
        if before is not None and before._survey is survey:
            self.page, self._places = before.page, before._places
        self._tabs = Static("", id="set-pages", markup=False)
        self._told = Static("", id="set-told", markup=False)
        self._head = Static("", id="set-head", markup=False)
        self._list = OptionList(markup=False, compact=True)
        self._detail = Static("", id="set-detail", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"The prompt set: {len(self._survey.prompts)} prompts"
            page.border_subtitle = "Enter shows these prompts in the table · Tab · Esc"
            yield self._tabs
            yield self._told
            yield self._head
            yield self._list
            with VerticalScroll(classes="set-detail", can_focus=False):
                yield self._detail

    def on_mount(self) -> None:
        self._list.focus()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """Show the page that was chosen, with the cursor where it was."""
        page, survey = self.page, self._survey
        place = self._places[page]
        width = max(20, self._list.size.width or self.size.width - _EDGES)
        self._tabs.update(themed(pages_line(page, survey)))
        self._told.update(told(page, survey))
        self._head.display = page == "clusters"
        self._head.update(clusters_head(width))
        if page == "clusters":
            lines = [cluster_line(one, width) for one in survey.clusters]
        elif page == "duplicates":
            lines = [pair_line(one, survey) for one in range(len(survey.duplicates.pairs))]
        else:
            lines = [spot_line(one, survey, width) for one in survey.spots]
        self._list.clear_options()
        self._list.add_options(Option(themed(line)) for line in lines)
        self._list.highlighted = min(place, len(lines) - 1) if lines else None
        self._show_detail()

    def _show_detail(self) -> None:
        place, survey = self._list.highlighted, self._survey
        text = Text(empty(self.page), "$text-muted")
        if place is not None:
            text = Text()
            if self.page == "clusters":
                text = cluster_text(survey.clusters[place], survey)
            elif self.page == "next":
                text = spot_text(survey.spots[place], survey)
        detail = self._detail.parent
        if not isinstance(detail, VerticalScroll):
            return  # the page is being left
        detail.display = bool(text.plain)
        self._detail.update(themed(text))

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        # One that was on its way when the page was turned says nothing of the page here.
        if event.option_index == self._list.highlighted:
            self._places[self.page] = event.option_index
            self._show_detail()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        place, survey = event.option_index, self._survey
        if self.page == "clusters":
            cluster = survey.clusters[place]
            self._pick(f"cluster #{cluster.name}", cluster.rows)
        elif self.page == "duplicates":
            pair = survey.duplicates.pairs[place]
            self._pick("near-duplicates", np.array([pair.first, pair.second]))
        else:
            spot = survey.spots[place]
            self._pick(f"to label near #{spot.cluster}", np.array(spot.rows))

    def _pick(self, name: str, rows: NDArray[np.intp]) -> None:
        self.dismiss(Picked(name, self._survey.prompts.keys[rows]))

    def action_page(self, name: str) -> None:
        """Show a page by its name."""
        self.page = name
        self._draw()

    def action_turn(self, step: int) -> None:
        """Show the page after this one, or before it."""
        names = list(PAGES)
        self.action_page(names[(names.index(self.page) + step) % len(names)])

    def action_close(self) -> None:
        self.dismiss(None)


class PromptSetScreen(ScanningScreen):
    """The action that looks through the prompt set."""

    _survey: Survey | None = None
    """The last one: it holds as long as evaluation and prompts are the same."""
    _survey_dialog: PromptSetDialog | None = None

    def _show_pane(self, following: str, *, keep_focus: bool = False) -> None:
        raise NotImplementedError

    @work(exclusive=True, group="prompt-set")
    async def action_show_prompt_set(self) -> None:
        await self._take_typed()
        evaluation, prompts = self.evaluation, self.prompts
        if evaluation is None:
            self.notify("The prompts are not evaluated yet.")
            return
        found = self._survey
        if found is None or found.evaluation is not evaluation or found.prompts is not prompts:
            told = not self._under_way  # a scan's own progress stays in sight
            if told:
                self._tell_scan("the prompt set is looked through …", who="Engine")
            try:
                found = await self._surveyed(evaluation, prompts)
            except ScannerError as error:
                self.notify(str(error), severity="error", markup=False)
                return
            finally:
                if told:
                    self._tell_scan("")
            self._survey = found
        if found is None:
            return
        dialog = self._survey_dialog = PromptSetDialog(found, self._survey_dialog)
        picked = await self.app.push_screen_wait(dialog)
        if picked is not None:
            self._show_pane("results")
            self._results.pick(picked)

    async def _surveyed(self, evaluation: Evaluation, prompts: PromptSet) -> Survey | None:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(survey, self.scanner, prompts, evaluation, stop.is_set)
        finally:
            stop.set()  # who opens it anew, or leaves, waits for nothing
