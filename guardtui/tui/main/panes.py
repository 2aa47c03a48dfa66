"""The panes of the main screen: layout, visibility, focus and zoom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, ItemGrid, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.tui.editor.next_line import NextLine
from guardtui.tui.editor.pane import TopicEditor, TopicField
from guardtui.tui.kit.inert import Static
from guardtui.tui.registry.footer import FittingFooter

if TYPE_CHECKING:
    from guardtui.tui.detail.pane import DetailPane
    from guardtui.tui.metrics.pane import MetricsPane
    from guardtui.tui.results.pane import ResultsPane
    from guardtui.tui.scan.pane import ScanPane
    from guardtui.tui.side.panes import CategoriesPane, HistoryPane

SMALLEST = (40, 15)
"""Columns and lines of the smallest usable screen."""

LAYOUTS = (
    ((160, 30), "-broad"),
    ((120, 36), "-full"),
    ((100, 36), "-half"),
    ((SMALLEST[0], 24), "-low"),
    (SMALLEST, "-small"),
    ((0, 0), "-tiny"),
)
"""The least columns and lines of each layout, the best first, and its class of the screen.

Broad: Topic and Metrics side by side above the results, and beside these detail, history and
categories. Full: without history and categories, the detail below the results. Half: Topic or
Metrics above the results and the detail, over the whole width. Low: the results and the detail
alone, or below Topic or Metrics as many results as fit. Small: one pane at a time. Tiny: a hint.
"""

STACKED = ("editor", "metrics", "results")
"""Panes of which a small screen shows one whole; the detail lies below the results."""

SIDE = ("detail", "history", "categories")
"""Panes beside the results of a broad screen; a smaller one has the detail below them."""

_OF_RESULTS = ("metrics", "scan", "results", *SIDE)
"""Panes that show results; `Panes.make` makes them."""


class _Outline(Static):
    """The place of a pane that is not there yet, with its frame and title."""

    def __init__(self, name: str) -> None:
        super().__init__("", id=name)
        self.border_title = self.heading = name.capitalize()


def layout_for(size: Size) -> str:
    """Return the class of the layout for a screen of this size."""
    return next(
        name for (columns, lines), name in LAYOUTS if size.width >= columns and size.height >= lines
    )


class Panes:
    """All widgets of the main screen.

    Those that show results are outlines at first: they are imported with most of the program, after
    the first frame. The definition can be typed in from the start.
    """

    metrics: MetricsPane
    scan: ScanPane
    results: ResultsPane
    detail: DetailPane
    history: HistoryPane
    categories: CategoriesPane

    def __init__(self, screen: Screen[None], path: Path, topic: Topic) -> None:
        """`topic` is the definition to draw, `path` its file."""
        self._screen = screen
        self._outlines: dict[str, _Outline] = {}
        self.editor = TopicEditor(topic)
        self.header = Static(f"guardtui  {display_text(path.name)}", id="header")
        self.summary = Static("", id="summary")
        self.next_line = NextLine()
        self.progress = Static("", id="progress")

    def make(self) -> None:
        """Make the panes of results."""
        from guardtui.tui.detail.pane import DetailPane
        from guardtui.tui.metrics.pane import MetricsPane
        from guardtui.tui.results.pane import ResultsPane
        from guardtui.tui.scan.pane import ScanPane
        from guardtui.tui.side.panes import CategoriesPane, HistoryPane

        self.metrics, self.scan, self.results = MetricsPane(), ScanPane(), ResultsPane()
        self.detail, self.history, self.categories = DetailPane(), HistoryPane(), CategoriesPane()

    async def mount(self) -> None:
        """Put the panes of results in the places of their outlines, one after the other.

        Each is drawn at once, in the place of its outline, and keys are handled between.
        """
        for name, outline in self._outlines.items():
            parent = outline.parent
            assert isinstance(parent, Widget)  # noqa: S101 - all of them are mounted
            following = parent.children[parent.children.index(outline) + 1 :]
            with self._screen.app.batch_update():
                await outline.remove()
                await parent.mount(getattr(self, name), before=next(iter(following), None))
        self.mark_focus()

    def compose(self) -> ComposeResult:
        """Yield the widgets in their layout."""
        yield self.header
        with ItemGrid(id="top"):
            yield self.editor
            yield self.named("metrics")
        yield self.next_line
        yield self.progress
        yield self.named("scan")
        with Container(id="bottom"):
            yield self.named("results")
            with Vertical(id="side"):
                yield from map(self.named, SIDE)
        yield self.summary  # below: a message of two lines covers the second line
        yield FittingFooter(compact=True, show_command_palette=False)
        yield Static(
            f"guardtui needs {SMALLEST[0]} columns, {SMALLEST[1]} lines.\n"
            "Nothing is lost: make the window larger.",
            id="too-small",
        )

    async def mount_before_footer(self, widget: Widget) -> None:
        """Add a widget above the footer."""
        await self._screen.mount(widget, before=self._screen.query_one(FittingFooter))

    def fit(self) -> None:
        """Lay the panes out for the size of the app, before they are drawn in it.

        A focused pane that becomes hidden would lose the focus: it is brought forward first.
        """
        if focused := self._pane_in_focus:
            self._bring_forward("results" if focused in SIDE else focused)
        layout = layout_for(self._screen.app.size)
        classes = {name: name == layout for _, name in LAYOUTS}
        self._screen.update_classes(classes, animate=False)

    def set_touring(self, touring: bool) -> None:
        """Make room for the tour's box, or no longer."""
        self._screen.set_class(touring, "-touring")

    def named(self, name: str) -> Widget:
        """Return the pane of this name, or its outline."""
        pane: Widget | None = getattr(self, name, None)
        if pane is None:
            pane = self._outlines[name] = self._outlines.get(name) or _Outline(name)
        return pane

    def _has(self, *classes: str) -> bool:
        return any(map(self._screen.has_class, classes))

    @property
    def side_by_side(self) -> bool:
        """Return whether there is room for all panes."""
        return self._has("-full", "-broad")

    @property
    def broad(self) -> bool:
        """Return whether there is room for history and categories beside the results."""
        return self._has("-broad")

    @property
    def stacked(self) -> bool:
        """Return whether the detail is shown with the results only, without a pane above."""
        return self._has("-low", "-small", "-tiny")

    @property
    def shown(self) -> str:
        """Name of the pane that a small screen shows."""
        return next((name for name in STACKED if self._screen.has_class(f"-pane-{name}")), "editor")

    def mark_focus(self) -> None:
        """Mark the title of the focused pane; colour alone is not enough.

        A small screen shows it whole, even if Tab or a click went there.
        """
        if self.stacked and self._pane_in_focus in STACKED:
            self._bring_forward(self._pane_in_focus)
        if self.zoomed and self._pane_in_focus not in ("", self.zoomed):
            self._zoom(self._pane_in_focus)
        for pane in map(self.named, (*STACKED, *SIDE)):
            focused = pane in self._focused
            if pane.has_class("-focused") != focused:
                pane.set_class(focused, "-focused", update=False)
                pane.app.stylesheet.apply(pane)  # this widget only, not its children
            title = getattr(pane, "heading", type(pane).BORDER_TITLE)
            # Names of profiles and models may be anybody's: no markup is read.
            pane.border_title = Content(f"▸ {title}" if focused else title)

    @property
    def _focused(self) -> Iterable[Widget]:
        focused = self._screen.focused
        return [] if focused is None else list(focused.ancestors_with_self)  # type: ignore[arg-type]

    @property
    def _pane_in_focus(self) -> str:
        """Name of the focused pane, or ""."""
        return self._pane_of(self._focused)

    def _pane_of(self, within: Iterable[object]) -> str:
        return next((name for name in (*STACKED, *SIDE) if self.named(name) in within), "")

    def focus(self, widget: Widget) -> None:
        """Show the pane that a widget is in, and focus the widget."""
        if pane := self._pane_of(list(widget.ancestors_with_self)):
            self.show(pane)
        widget.focus()

    def show_next(self) -> None:
        """Go to the next pane; on a large screen the detail is one of them."""
        names, shown = self._round
        self.show(names[(names.index(shown) + 1) % len(names)])

    def steps_to(self, name: str) -> int:
        """Return how many times `show_next` must run to reach a pane; 0 if it never does."""
        names, shown = self._round
        return (names.index(name) - names.index(shown)) % len(names) if name in names else 0

    @property
    def _round(self) -> tuple[tuple[str, ...], str]:
        """The panes in the order of `show_next`, and the current one."""
        names = (*STACKED, *SIDE) if self.broad else (*STACKED, "detail")
        if self._focused and (self.zoomed or not self.stacked):
            pane = self.zoomed or self._pane_in_focus  # the focus follows a moment later
            return names, pane if pane in names else "editor"
        return STACKED, self.shown

    # --- zoom -----------------------------------------------------------------------------

    @property
    def zoomed(self) -> str:
        """Name of the zoomed pane, or ""."""
        names = (*STACKED, *SIDE)
        return next((name for name in names if self._screen.has_class(f"-zoom-{name}")), "")

    def zoom(self) -> None:
        """Zoom the focused pane, or end the zoom."""
        self._zoom("" if self.zoomed else self._pane_in_focus or self.shown)

    def unzoom(self) -> bool:
        """End the zoom; return whether a pane was zoomed."""
        was_zoomed = bool(self.zoomed)
        self._zoom("")
        return was_zoomed

    def _zoom(self, name: str) -> None:
        for pane in (*STACKED, *SIDE):
            self._screen.set_class(pane == name, f"-zoom-{pane}")
        self._screen.set_class(bool(name), "-zoomed")

    def _bring_forward(self, name: str) -> None:
        for stacked in STACKED:
            self._screen.set_class(stacked == name, f"-pane-{stacked}")

    def show(self, name: str, *, keep_focus: bool = False) -> None:
        """Show a pane and focus it; with `keep_focus` only if it does not have the focus."""
        self._bring_forward("results" if name in SIDE else name)
        if self.zoomed:
            self._zoom(name)
        pane = self.named(name)
        if keep_focus and pane in self._focused:
            return
        if name == "editor":
            self.editor.query(TopicField).first().focus()
        elif name == "results":
            self.results.table.focus()
        elif name == "categories":
            self.categories.focus_list()
        else:
            pane.focus()
