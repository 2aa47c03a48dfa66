"""The panes of the main screen: which is in sight, which has the focus, where they lie."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from guardtui.domain.topic import Topic
from guardtui.tui.widgets.detail import DetailPane
from guardtui.tui.widgets.editor import Field, TopicEditor
from guardtui.tui.widgets.footer import FittingFooter
from guardtui.tui.widgets.metrics_panel import MetricsPanel
from guardtui.tui.widgets.results_pane import ResultsPane
from guardtui.tui.widgets.scan_pane import ScanPane
from guardtui.tui.widgets.too_small import too_small

STACKED = ("editor", "metrics", "results")
"""Panes of which a small screen shows one; the detail lies below the results."""


class Panes:
    """All widgets of the main screen, and the one that keys go to."""

    def __init__(self, screen: Screen[None], topic: Topic) -> None:
        self._screen = screen
        self.editor = TopicEditor(topic)
        self.metrics = MetricsPanel()
        self.results = ResultsPane()
        self.detail = DetailPane()
        self.scan = ScanPane()
        self.header = Static("", id="header", markup=False)
        self.summary = Static("", id="summary", markup=False)
        self.progress = Static("", id="progress", markup=False)

    def compose(self) -> ComposeResult:
        """Lay them out."""
        yield self.header
        yield self.summary
        with Horizontal(id="top"):
            yield self.editor
            yield self.metrics
        yield self.progress
        yield self.scan
        with Vertical(id="bottom"):
            yield self.results
            yield self.detail
        yield FittingFooter(compact=True, show_command_palette=False)
        yield too_small("guardtui needs")

    async def mount_before_footer(self, widget: Widget) -> None:
        """Add a widget above the footer."""
        await self._screen.mount(widget, before=self._screen.query_one(FittingFooter))

    def set_classes(self, *, touring: bool, alone: bool) -> None:
        """Leave room for the tour's box between the panes, and the detail's room to the results."""
        self._screen.set_class(touring, "-touring")
        self._screen.set_class(alone, "-touring-alone")

    def named(self, name: str) -> Widget:
        """Return the pane of this name."""
        pane: Widget = getattr(self, name)
        return pane

    @property
    def side_by_side(self) -> bool:
        """Whether there is room for all panes."""
        return self._screen.has_class("-wide") and self._screen.has_class("-tall")

    @property
    def shown(self) -> str:
        """The pane that a small screen shows."""
        return next((name for name in STACKED if self._screen.has_class(f"-pane-{name}")), "editor")

    def mark_focus(self) -> None:
        """Mark the title of the pane that keys go to; colour alone says too little."""
        for pane in map(self.named, (*STACKED, "detail")):
            focused = pane in self._focused
            if pane.has_class("-focused") != focused:
                pane.set_class(focused, "-focused", update=False)
                pane.app.stylesheet.apply(pane)  # this widget only, and none inside it
            title = pane.heading if pane is self.metrics else type(pane).BORDER_TITLE
            # Names of profiles and models may be anybody's: no markup is read.
            pane.border_title = Content(f"▸ {title}" if focused else title)

    @property
    def _focused(self) -> Iterable[Widget]:
        focused = self._screen.focused
        return [] if focused is None else list(focused.ancestors_with_self)  # type: ignore[arg-type]

    def show_next(self) -> None:
        """Go to the next pane; where there is room for all, the detail is one of them."""
        names, shown = self._round
        self.show(names[(names.index(shown) + 1) % len(names)])

    def steps_to(self, name: str) -> int:
        """How often one goes to the next pane until this one is reached; 0 where never."""
        names, shown = self._round
        return (names.index(name) - names.index(shown)) % len(names) if name in names else 0

    @property
    def _round(self) -> tuple[tuple[str, ...], str]:
        """The panes that follow each other, and which of them it is now."""
        if not (self._focused and self.side_by_side):
            return STACKED, self.shown
        names, within = (*STACKED, "detail"), self._focused
        return names, next((name for name in names if self.named(name) in within), "editor")

    def show(self, name: str, *, keep_focus: bool = False) -> None:
        """Show a pane and focus it; with `keep_focus` only where the focus is elsewhere."""
        in_sight = "results" if name == "detail" else name
        for stacked in STACKED:
            self._screen.set_class(stacked == in_sight, f"-pane-{stacked}")
        pane = self.named(name)
        if keep_focus and pane in self._focused:
            return
        if name == "editor":
            self.editor.query(Field).first().focus()
        elif name == "results":
            self.results.table.focus()
        else:
            pane.focus()
