"""The footer: keys that work here, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

LEFT_OUT = (
    *("export", "show_history", "discard", "keep", "search", "next_pane"),
    *("export_scores", "score_groups", "run_scorer", "pin_scorer", "filter_scores"),
    "next_score_pane",
)
"""Actions in the order in which a narrow screen leaves them out; the others always stay."""


class FittingFooter(Footer):
    """A compact footer in which no key is cut: those without room are left out whole."""

    def compose(self) -> ComposeResult:
        yield from fitting(list(super().compose()), self.app.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.recompose)


def fitting(keys: Sequence[Widget], room: int) -> list[Widget]:
    """The keys that fit into so many cells, in their order."""
    left = [(key, _cells(key)) for key in keys]
    for action in LEFT_OUT:
        if sum(cells for _, cells in left) - 1 <= room:
            break
        left = [one for one in left if getattr(one[0], "action", "") != action]
    return [key for key, _ in left]


def _cells(key: Widget) -> int:
    """Cells of a key in the compact footer, with the blank behind it."""
    if not isinstance(key, FooterKey):
        return 0
    return cell_len(f"{key.key_display} {key.description} ")
