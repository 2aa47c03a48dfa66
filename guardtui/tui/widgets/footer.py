"""The footer: keys that work here, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Footer

from guardtui.tui.actions import call_of
from guardtui.tui.textual_compat import FooterKey

LEFT_OUT = (
    *("export", "show_history", "discard", "keep", "search", "next_pane"),
    *("export_scores", "score_groups", "run_scorer", "pin_scorer", "filter_scores"),
    "next_score_pane",
)
"""Actions in the order in which a narrow screen leaves them out; the others always stay."""


class FittingFooter(Footer):
    """A compact footer in which no key is cut: those without room are left out whole."""

    _composed: tuple[object, ...] = ()

    async def recompose(self) -> None:
        """Rebuild the keys only when they changed; Textual asks at every change of focus."""
        keys = (
            self.app.size.width,
            *(
                (binding, self.app.get_key_display(binding), enabled, tooltip)
                for _, binding, enabled, tooltip in self.screen.active_bindings.values()
            ),
        )
        if keys != self._composed:
            self._composed = keys
            await super().recompose()

    def compose(self) -> ComposeResult:
        yield from fitting(list(super().compose()), self.app.size.width)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.recompose)


def fitting(keys: Sequence[Widget], room: int) -> list[Widget]:
    """The keys that fit into so many cells, in their order."""
    left = [(key, _cells(key)) for key in keys]
    for name in LEFT_OUT:
        if sum(cells for _, cells in left) - 1 <= room:
            break
        # Keys of the main screen call its features.
        calls = (name, call_of(name))
        left = [(key, cells) for key, cells in left if getattr(key, "action", "") not in calls]
    return [key for key, _ in left]


def _cells(key: Widget) -> int:
    """Cells of a key in the compact footer, with the blank behind it."""
    if not isinstance(key, FooterKey):
        return 0
    return cell_len(f"{key.key_display} {key.description} ")
